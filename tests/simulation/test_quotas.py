"""The judge sees who waits for quota without need, who starts without quota, and a status that is wrong."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from muster.framework.contract import Hint
from muster.plugins.capacityscheduling.plugin import CapacityScheduling
from muster.plugins.capacityscheduling.statuses import QuotaStatuses
from muster.sandbox.kinds import NODES, PODS
from muster.testing.simulation import Act, standard
from muster.testing.simulation.claimants import Capacity, claimants
from muster.testing.simulation.passing import AT_ONCE
from muster.testing.simulation.rest import is_no_victim
from muster.testing.simulation.stage import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Two nodes of four cores, and a quota of two cores."""
    stage = Stage("quota", 1, standard())
    for number in range(2):
        happens(stage, "node_comes", f"node-{number}", "east")
    happens(stage, "quota_is_set", 2000)
    yield stage
    stage.end()


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that wake no pod for quota."""
    monkeypatch.setattr(CapacityScheduling, "_is_let_in", lambda self, pod, old, new: Hint.SKIP)


def happens(stage: Stage, what: str, *given: object) -> None:
    stage.world.carry_out(Act(0.0, what, given))


def pods(stage: Stage, name: str, many: int, *, urgent: bool = False) -> None:
    """Pods of one core each."""
    happens(stage, "pods_come", name, many, 1000, "", urgent)


def gang(stage: Stage, many: int) -> None:
    """A gang of members of one core each."""
    happens(stage, "group_comes", "gang", many, False)
    for number in range(many):
        happens(stage, "member_comes", "gang", number, 1000, False)


def test_a_waiting_pod_over_its_quota_is_not_a_fault(stage: Stage) -> None:
    pods(stage, "pod", 3)
    stage.go_on(30.0)
    gang(stage, 2)
    stage.go_on(30.0)
    assert len(stage.judge.bound) == 2
    assert [Capacity(stage.server).takes(each) for each in claimants(stage.server)] == [False, False]
    stage.judge.at_rest()
    assert stage.judge.wrong == []


def test_a_gang_that_the_quota_takes_as_a_whole(stage: Stage) -> None:
    gang(stage, 2)
    [claimant] = claimants(stage.server)
    assert Capacity(stage.server).takes(claimant)
    happens(stage, "quota_is_set", 1000)
    assert not Capacity(stage.server).takes(claimant)


def test_a_quota_that_is_set_and_goes_is_obeyed(stage: Stage) -> None:
    pods(stage, "pod", 5)
    stage.go_on(20.0)
    happens(stage, "quota_is_set", 3000)
    stage.go_on(20.0)
    assert len(stage.judge.bound) == 3
    happens(stage, "quota_goes")
    stage.go_on(20.0)
    assert len(stage.judge.bound) == 5
    stage.judge.at_rest()
    assert stage.judge.wrong == []


def test_evictions_free_quota_on_one_node_for_a_pod_and_on_all_nodes_for_a_gang(stage: Stage) -> None:
    pods(stage, "pod", 2)
    stage.go_on(20.0)
    pods(stage, "urgent", 1, urgent=True)
    [claimant] = claimants(stage.server)
    assert not Capacity(stage.server).takes(claimant)
    assert Capacity(stage.server, counts=lambda pod: is_no_victim(1000, pod)).takes(claimant)
    stage.go_on(60.0)
    assert stage.judge.tally.events["pods evicted"] == 1
    stage.judge.at_rest()
    assert stage.judge.wrong == []


def test_evictions_free_quota_on_one_node_for_a_later_member_of_a_gang(stage: Stage) -> None:
    happens(stage, "pods_come", "pod", 2, 500, "", False)
    happens(stage, "group_comes", "gang", 1, False)
    for number in range(2):
        happens(stage, "member_comes", "gang", number, 1000, False, True)
    for pod, node in (("pod-0", "node-0"), ("pod-1", "node-1"), ("gang-0", "node-0")):
        stage.world.pods.bind(pod, node)
    [later] = claimants(stage.server)
    evicting = Capacity(stage.server, counts=lambda pod: is_no_victim(1000, pod))
    assert [evicting.takes(each) for each in (later, replace(later, started=False))] == [False, True]


def test_no_eviction_frees_the_quota_of_a_pod_whose_node_is_gone(stage: Stage) -> None:
    pods(stage, "pod", 2)
    stage.go_on(20.0)
    for node in {pod["spec"]["nodeName"] for pod in stage.server.objects(PODS)}:
        stage.server.store.delete(NODES, node, options=AT_ONCE)
    happens(stage, "node_comes", "node-2", "east")
    stage.go_on(5.0)
    happens(stage, "group_comes", "gang", 2, False)
    for number in range(2):
        happens(stage, "member_comes", "gang", number, 1000, False, True)
    stage.go_on(30.0)
    stage.judge.at_rest()
    assert stage.judge.wrong == []


def test_a_pod_that_starts_without_quota(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.plugins.capacityscheduling.plugin.rejection_of", lambda *_, **__: None)
    pods(stage, "pod", 3)
    stage.go_on(30.0)
    assert any("our pods now use 3000m of a quota of 2000m" in wrong for wrong in stage.judge.wrong)


@pytest.mark.usefixtures("deaf")
def test_a_pod_that_nothing_wakes(stage: Stage) -> None:
    pods(stage, "pod", 3)
    stage.go_on(30.0)
    happens(stage, "quota_is_set", 3000)
    stage.go_on(30.0)
    stage.judge.at_rest()
    assert any(wrong.endswith("waits in unschedulable, and would fit") for wrong in stage.judge.wrong)


def test_a_status_that_is_not_written(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuotaStatuses, "changed", lambda self: None)
    pods(stage, "pod", 1)
    stage.go_on(30.0)
    stage.judge.at_rest()
    assert any("the quota says that 0 of cpu is used, and it is 1000m" in wrong for wrong in stage.judge.wrong)
