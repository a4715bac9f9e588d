"""Which pods go together is worked out once in a decision, however many of them are asked about."""

import pytest

from muster.framework.contract import DisruptionUnit, EvictionRule, Placed, PodInfo
from muster.plugins.defaultpreemption.units import Units
from tests.builders import make_pod
from tests.coscheduling.objects import typed_pod

PODS = [typed_pod(make_pod(f"pod-{number}")) for number in range(4)]
ALONE = typed_pod(make_pod("alone"))


class Asked:
    """A gang that can spare `spare` of its pods, and how often somebody asked about it."""

    def __init__(self, spare: int) -> None:
        self.unit = DisruptionUnit("gang", [Placed(pod, "node") for pod in PODS], 0, spare)
        self.times = 0

    def of(self, pod: PodInfo) -> DisruptionUnit | None:
        self.times += 1
        return None if pod is ALONE else self.unit


def test_a_group_is_asked_about_once() -> None:
    asked = Asked(0)
    units = Units(asked.of, (), 0.0)
    assert [units.of(pod) for pod in PODS] == [asked.unit] * 4
    assert units.of(ALONE) is None
    assert asked.times == 2
    [first], [second] = (units.victims_among([Placed(pod, "node")], EvictionRule(1)) for pod in PODS[:2])
    assert first is second
    assert first.pods == tuple(asked.unit.pods)


def test_a_group_of_which_some_pods_may_not_be_evicted_is_no_victim_as_a_whole() -> None:
    rule = EvictionRule(0, claimable={PODS[2].uid, PODS[3].uid})
    placed = [Placed(pod, "node") for pod in PODS]
    spared = Units(Asked(2).of, (), 0.0).victims_among(placed, rule)
    assert [victim.members for victim in spared] == [(PODS[2],), (PODS[3],)]
    assert Units(Asked(2).of, {PODS[0].uid}, 0.0).victims_among(placed, rule) == []


@pytest.mark.parametrize(("spare", "left"), [(2, 1), (1, 0), (0, 0)])
def test_pods_that_are_being_evicted_cannot_be_spared_again(spare: int, left: int) -> None:
    units = Units(Asked(spare).of, {PODS[0].uid}, 0.0)
    found = [units.of(pod) for pod in PODS]
    assert found[0] is None
    for unit in found[1:]:
        assert unit is not None
        assert ([placed.pod for placed in unit.pods], unit.spare) == (PODS[1:], left)
