"""Three tenants with more work than their shares get these, and each figure beyond its bound is seen: see `tenants`."""

from collections.abc import Callable, Mapping

import pytest

from tests.capacityscheduling.tenant_clusters import simulated
from tests.capacityscheduling.tenants import Seen, Tenants, Verdict, plan

SHORT = plan(scale=1, seconds=50.0, longest=20.0)


def test_the_shares_of_three_tenants_become_what_they_are_entitled_to() -> None:
    with simulated() as cluster:
        tenants = Tenants(cluster, SHORT)
        tenants.play()
    verdict = Verdict(SHORT, tenants.seen)
    assert [*verdict.faults()] == []
    assert "0 of those that evicted did not start" in "\n".join(verdict.lines())


def seen(used: Callable[[int, str, float, float], float] = lambda phase, name, at, share: share) -> Seen:
    """What is seen when each tenant uses what `used` says of its share, and 3 pods were evicted."""
    looks: list[Mapping[str, list[tuple[float, int]]]] = [
        {name: [(at, round(used(phase, name, at, share))) for at in range(50)] for name, share in shares.items()}
        for phase, shares in ((phase, SHORT.shares(phase)) for phase in range(len(SHORT.phases)))
    ]
    return Seen(used=looks, evictions=3)


def test_everybody_at_the_entitled_share_is_no_fault() -> None:
    assert [*Verdict(SHORT, seen()).faults()] == []


def test_a_share_that_becomes_near_in_time_is_no_fault() -> None:
    found = seen(lambda phase, name, at, share: share if at >= SHORT.settled_after - 5 else 0)
    assert [*Verdict(SHORT, found).faults()] == []


def test_a_share_that_is_never_near_is_a_fault_and_so_is_one_that_leaves_again() -> None:
    found = seen(lambda phase, name, at, share: 0 if (phase, name) == (1, "training") else share)
    assert [*Verdict(SHORT, found).faults()] == ["phase 2: the share of training is not near after 50 s"]
    found = seen(lambda phase, name, at, share: share / 2 if (phase, name, at // 10) == (0, "serving", 4) else share)
    assert [*Verdict(SHORT, found).faults()] == ["phase 1: the share of serving is not near after 50 s"]


@pytest.mark.parametrize(
    ("fault", "field", "value"),
    [
        ("training-7 evicted others and did not start", "left", ["training-7"]),
        ("serving used more than its max", "over", {"serving"}),
        ("a start 15.5 s after the eviction for it", "longest", 15.5),
        ("nobody was evicted", "evictions", 0),
    ],
)
def test_each_figure_beyond_its_bound_is_a_fault(fault: str, field: str, value: object) -> None:
    found = seen()
    setattr(found, field, value)
    assert [*Verdict(SHORT, found).faults()] == [fault]
