"""The condition `PodGroupInitiallyScheduled` as it should be now: kube-scheduler's `updatePodGroupCondition`.

Pure: the controller hands in the object and the last word on it, and writes what comes out.
"""

from __future__ import annotations

from muster.framework.model.times import rfc3339

from .api import INITIALLY_SCHEDULED, Condition, PodGroup
from .groups import Reason, Said


def next_condition(group: PodGroup, said: Said, *, now: float) -> Condition | None:
    """The condition that is to be written; None when there is nothing to write.

    Once True it stays as it is. Its transition time is `now`, in seconds since the epoch, unless its status stays.
    """
    before = group.condition()
    status = "True" if said.reason is Reason.SCHEDULED else "False"
    if before is not None and before.status == "True" != status:
        return None
    same = before is not None and before.status == status
    since = before.last_transition_time if before is not None and same else None
    after = Condition(
        type=INITIALLY_SCHEDULED,
        status=status,
        reason=said.reason.value,
        message=said.message,
        last_transition_time=since or rfc3339(now),
        observed_generation=said.generation,
    )
    return None if after == before else after
