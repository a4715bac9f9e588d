"""The judge sees evictions that need not be, and pods that wait for one, and accepts those that keep to the rules."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import pytest
from msgspec.structs import replace

from muster.framework.contract import Placed, PodInfo
from muster.plugins.defaultpreemption.executor import Executor
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.sandbox.kinds import PODS
from muster.testing.simulation import Act, standard
from muster.testing.simulation.evictions import EvictionDecision
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.timing import EvictionTimes

NODES = ("node-0", "node-1")
LONG_AGO = "2020-01-01T00:00:00Z"


class Young(EvictionTimes):
    """Pods of these names have not run for their minimum."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def faults(self, waiting: Sequence[PodInfo], missing: int, victims: Iterable[PodInfo]) -> Iterator[str]:
        return iter(())

    def may_go(self, pod: PodInfo) -> bool:
        return pod.name not in self._names


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A node with two pods of one core, of which one has a budget, and a gang of two; one more node with a pod."""
    stage = Stage("evictions", 1, standard())
    for name, cores in zip(NODES, (4, 2), strict=True):
        stage.world.carry_out(Act(0.0, "node_comes", (name, "east")))
        stage.world.carry_out(Act(0.0, "node_grows", (0.99, 1000 * cores - 4000)))
    stage.world.carry_out(Act(0.0, "pods_come", ("free", 1, 1000, "", False)))
    stage.world.carry_out(Act(0.0, "pods_come", ("kept", 1, 1000, "", False)))
    stage.world.carry_out(Act(0.0, "pods_come", ("other", 1, 2000, "", False)))
    stage.world.carry_out(Act(0.0, "budget_comes", ("kept", None, 0)))
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, False)))
    for number in range(2):
        stage.world.carry_out(Act(0.0, "member_comes", ("gang", number, 1000, False)))
        stage.world.pods.bind(f"gang-{number}", "node-0")
    for name, node in (("free", "node-0"), ("kept", "node-0"), ("other", "node-1")):
        stage.world.pods.bind(f"{name}-0", node)
    stage.go_on(10.0)
    stage.world.carry_out(Act(0.0, "pods_come", ("urgent", 1, 1000, "", True)))
    yield stage
    stage.end()


def faults(
    stage: Stage,
    victims: Sequence[str],
    priority: int = 1000,
    *,
    alternatives: Collection[str] = NODES,
    besides: Sequence[str] = (),
    leaving: Sequence[str] = (),
    times: EvictionTimes | None = None,
) -> list[str]:
    """What is wrong with evicting these for a pod of one core, while the pods `besides` of its group wait too.

    Victims that are `leaving` are being deleted already.
    """
    process = stage.replicas[0].process
    assert process is not None
    engine = process.engine
    plugin = engine.algorithms["muster"].framework.plugins.plugins["DefaultPreemption"]
    assert isinstance(plugin, DefaultPreemption)
    running = {info.name: Placed(info, where) for info, where in engine.cache.placements()}
    preemptor = running["free-0"].pod
    for name in leaving:
        pod, node = running[name].pod.pod, running[name].node_name
        running[name] = Placed(PodInfo(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=LONG_AGO))), node)
    decision = EvictionDecision(
        engine,
        plugin,
        [Placed(preemptor, "node-0")],
        priority,
        victims=[running[name] for name in victims],
        waiting=[preemptor, *(running[name].pod for name in besides)],
        alternatives=alternatives,
        times=times,
    )
    return [*decision.faults()]


def test_necessary_victims_are_no_fault(stage: Stage) -> None:
    assert faults(stage, ["free-0"]) == []


def test_more_than_it_takes(stage: Stage) -> None:
    assert faults(stage, ["free-0", "gang-0", "gang-1"]) == [
        "default/free-0 is to go and could stay",
        "default/gang is to go and could stay",
    ]


def test_victims_that_free_too_little_are_a_fault(stage: Stage) -> None:
    assert faults(stage, []) == ["node-0 lacks 1000m even so"]


def test_a_victim_of_the_preemptors_own_priority_is_a_fault(stage: Stage) -> None:
    assert faults(stage, ["free-0"], 0) == ["default/free-0 of priority 0 is to go for priority 0"]


def test_a_victim_without_the_rest_of_its_gang_is_a_fault(stage: Stage) -> None:
    assert faults(stage, ["gang-0"]) == ["1 members of default/gang are to stay, which needs 2"]


def test_a_victim_of_a_gang_that_goes_anyway_is_no_fault(stage: Stage) -> None:
    assert faults(stage, ["gang-0"], leaving=["gang-0"]) == []


def test_one_with_a_budget_while_others_are_enough(stage: Stage) -> None:
    reported = [f"budget kept forbids to evict default/kept-0, and on {node} others are enough" for node in NODES]
    assert faults(stage, ["kept-0"]) == reported


def test_one_with_a_budget_where_the_pod_may_have_no_node_that_others_are_enough_on(stage: Stage) -> None:
    [reported] = faults(stage, ["kept-0"], alternatives=["node-0"])
    assert reported == "budget kept forbids to evict default/kept-0, and on node-0 others are enough"
    assert faults(stage, ["kept-0"], alternatives=()) == []


def test_one_with_a_budget_while_the_others_may_not_go_yet(stage: Stage) -> None:
    assert faults(stage, ["kept-0"], times=Young({"free-0", "other-0"})) == []


def test_a_nomination_takes_capacity_unless_its_pod_is_gated(stage: Stage) -> None:
    process = stage.replicas[0].process
    assert process is not None
    nominator = process.engine.nominator
    nominee = next(info for info, _ in process.engine.cache.placements() if info.name == "other-0")
    nominator.learn(nominee, "node-0", gated=True)
    assert faults(stage, ["free-0"]) == []
    nominator.ungate(nominee.uid)
    assert faults(stage, ["free-0"]) == ["node-0 lacks 2000m even so"]
    assert faults(stage, ["free-0"], besides=["other-0"]) == []


def test_a_pod_that_waits_for_an_eviction_is_seen_at_rest(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Executor, "start", lambda self, preemptor, victims, **counts: None)
    stage.go_on(60.0)
    stage.judge.at_rest()
    assert any("would fit without pods of lower priority" in wrong for wrong in stage.judge.wrong)


def test_evictions_by_the_rules(stage: Stage) -> None:
    stage.go_on(60.0)
    stage.judge.at_rest()
    assert stage.judge.wrong == []
    assert stage.judge.tally.events["pods evicted"] == 1
    assert stage.server.store.find(PODS, "kept-0", namespace="default") is not None


def test_a_pod_that_is_deleted_without_a_decision(stage: Stage) -> None:
    async def send() -> None:
        path = "/api/v1/namespaces/default/pods/free-0"
        await stage.replicas[0].transport.request("DELETE", path, body=b"{}", within=5.0)

    owner = stage.loop.owner("somebody")
    stage.loop.call_soon(lambda: stage.loop.create_task(send()) and None, context=owner.context)
    stage.go_on(10.0)
    assert "muster-0.1 deletes pod free-0, and has not decided to evict it" in stage.judge.wrong
