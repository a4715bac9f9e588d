"""Groups in numbers, as the tests of phases, conditions and statuses need them."""

from hypothesis import strategies as st

from muster.framework.groups.record import Announcement, MemberCounts
from muster.plugins.coscheduling.api import SCHEDULED, Phase, PodGroupCondition, PodGroupStatus
from muster.plugins.coscheduling.record import PodGroupReason
from muster.plugins.coscheduling.status import Observation

NOW = 1_800_000_000.0


def members(
    waiting: int = 0, starting: int = 0, running: int = 0, succeeded: int = 0, failed: int = 0, gated: int = 0
) -> MemberCounts:
    """Members by what they do; `waiting` ones have no node, `starting` ones have one and do not run yet."""
    return MemberCounts(
        pods=waiting + starting + running + succeeded + failed + gated,
        gated=gated,
        scheduled=starting + running + succeeded,
        running=running,
        succeeded=succeeded,
        failed=failed,
    )


few = st.integers(0, 5)
counts = st.builds(members, few, few, few, few, few, few)
times = st.sampled_from(["2026-11-21T10:00:00Z", "2026-11-22T10:00:00Z"])
announcements = st.builds(
    Announcement, st.sampled_from(PodGroupReason), st.sampled_from(["one thing", "another"]), st.just(NOW)
)
conditions = st.builds(
    PodGroupCondition,
    type=st.just(SCHEDULED),
    status=st.sampled_from(["True", "False", "Unknown", ""]),
    reason=st.sampled_from([*(reason.value for reason in PodGroupReason), "Strange", None]),
    message=st.sampled_from(["something", None]),
    last_transition_time=times | st.none(),
    observed_generation=st.integers(1, 3) | st.none(),
)
others = st.builds(PodGroupCondition, type=st.just("Other"), status=st.just("True"))
statuses = st.builds(
    PodGroupStatus,
    phase=st.sampled_from([*(phase.value for phase in Phase), "PreScheduling", "", None]),
    occupied_by=st.sampled_from(["ns/job", None]),
    scheduled=few | st.none(),
    running=few | st.none(),
    succeeded=few | st.none(),
    failed=few | st.none(),
    schedule_start_time=times | st.none(),
    conditions=st.sampled_from([(), None])
    | st.tuples(conditions)
    | st.tuples(others)
    | st.tuples(others, conditions)
    | st.tuples(conditions, others),
    observed_generation=st.integers(1, 3) | st.none(),
)
observations = st.builds(
    Observation,
    min_member=st.integers(0, 5),
    generation=st.integers(1, 3),
    counts=counts,
    owners=st.sampled_from(["", "ns/job", "ns/a,ns/b"]),
    announcement=announcements | st.none(),
    held=st.sampled_from(["", "pod group ns/g is held"]),
)
