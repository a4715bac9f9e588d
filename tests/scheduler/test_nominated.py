"""Pods that are promised a node: others yield to them there, and they themselves try it first."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from muster.framework.contract import (
    CycleState,
    FilterPlugin,
    NodeView,
    Pod,
    PodDecision,
    PodInfo,
    PostFilterPlugin,
    PreemptionPlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.verdicts import Diagnosis
from muster.framework.runtime.filter_calls import FilterCalls
from muster.framework.runtime.nominator import PodNominator
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.plugins.queueing.scheduling_gates import SchedulingGates
from muster.plugins.resources.fit import NodeResourcesFit
from muster.testing import VirtualScheduler
from tests.builders import PodDict, make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import post_filtering
from tests.scheduler.stage import Stage

WEB = "default/web"


def nominee(name: str = "nominee", node: str = "one", **more: str) -> PodDict:
    """A pod that fills a node which it does not have yet."""
    pod = make_pod(name).requests(cpu="1").priority(100)
    pod["status"] = {"phase": "Pending", "nominatedNodeName": node}
    pod["spec"]["schedulerName"] = "somebody-else"
    return pod


def stage_of(set_stage: SetStage, *nodes: str) -> Stage:
    """A stage whose nodes have capacity for one pod."""
    stage = set_stage(NodeResourcesFit)
    stage.put_node(*(make_node(name, cpu="1") for name in ("one", *nodes)))
    return stage


@pytest.mark.parametrize(
    ("priority", "place"),
    [(99, "unschedulable"), (100, "unschedulable"), (101, "bound")],
    ids=["of lower priority", "of the same priority", "of higher priority"],
)
async def test_a_pod_does_not_use_nominated_capacity(set_stage: SetStage, priority: int, place: str) -> None:
    stage = stage_of(set_stage)
    stage.put_pod(nominee())
    stage.put_pod(make_pod("web").requests(cpu="1").priority(priority))
    await stage.settle()

    assert stage.place(WEB) in (place, "assumed" if place == "bound" else place)
    if place == "unschedulable":
        assert stage.notes(WEB) == ["0/1 nodes are available: 1 Insufficient cpu."]


async def test_a_pod_that_has_no_place_anyway_reports_reserved_capacity_as_well(set_stage: SetStage) -> None:
    names = ("one", "two", "three")
    stage = set_stage(NodeResourcesFit)
    stage.put_node(*(make_node(name, cpu="1", memory="1Gi") for name in names))
    stage.put_pod(*(make_pod(f"on-{name}").requests(cpu="1").node(name) for name in names))
    stage.put_pod(*(nominee(f"for-{name}", name).requests(cpu="0", memory="1Gi") for name in names[:2]))
    stage.put_pod(make_pod("web").requests(cpu="1", memory="64Mi"))
    await stage.settle()

    assert stage.notes(WEB) == ["0/3 nodes are available: 2 Insufficient memory, 3 Insufficient cpu."]


def gone(stage: Stage) -> None:
    stage.drop_pod("default/nominee")


def bound_elsewhere(stage: Stage) -> None:
    stage.put_pod(nominee().node("two"))


def no_longer_promised(stage: Stage) -> None:
    stage.put_pod(nominee(node=""))


@pytest.mark.parametrize("end", [gone, bound_elsewhere, no_longer_promised])
@pytest.mark.parametrize("waits", [False, True], ids=["for who comes later", "for who waits for it"])
async def test_nominated_capacity_is_free_again_when_the_nomination_ends(
    set_stage: SetStage, end: Callable[[Stage], None], waits: bool
) -> None:
    stage = stage_of(set_stage)
    stage.put_pod(nominee())
    web = make_pod("web").requests(cpu="1")
    if waits:
        stage.put_pod(web)
        await stage.settle()
        assert stage.place(WEB) == "unschedulable"
    end(stage)
    if not waits:
        stage.put_pod(web)
    await stage.wait(2)

    assert stage.binds == [(WEB, "one")]


async def test_nominated_capacity_is_free_again_when_the_pod_is_placed_on_another_node(set_stage: SetStage) -> None:
    stage = set_stage(NodeResourcesFit, post_filtering("Maker", None, None))
    stage.put_node(make_node("one", cpu="1", memory="1Gi").resources({"example.com/disk": "1"}))
    large = make_pod("large").requests(cpu="1", memory="2Gi").priority(100)
    large["status"] = {"phase": "Pending", "nominatedNodeName": "one"}
    stage.put_pod(large, make_pod("web").requests({"example.com/disk": "1"}, cpu="1"))
    await stage.settle()
    assert stage.place(WEB) == "unschedulable"

    stage.put_node(make_node("two", cpu="1", memory="4Gi"))
    await stage.wait(20)

    assert stage.binds == [("default/large", "two"), (WEB, "one")]


async def test_a_pod_tries_the_node_that_it_was_promised_first(set_stage: SetStage) -> None:
    stage = stage_of(set_stage, "two", "three")
    web = make_pod("web").requests(cpu="1")
    web["status"] = {"phase": "Pending", "nominatedNodeName": "three"}
    stage.put_pod(web)
    await stage.settle()

    assert stage.binds == [(WEB, "three")]
    assert len(stage.engine.nominator) == 0


async def test_a_nomination_by_post_filter_holds_until_the_pod_is_assumed(set_stage: SetStage) -> None:
    stage = set_stage(NodeResourcesFit, post_filtering("Maker", "one", None))
    stage.put_node(make_node("one", cpu="1"))
    stage.put_pod(make_pod("there").requests(cpu="1").node("one"), make_pod("web").requests(cpu="1").priority(5))
    await stage.settle()
    assert stage.engine.nominator.nominated_node(stage.uid(WEB)) == "one"

    stage.drop_pod("default/there")
    stage.put_pod(make_pod("late").requests(cpu="1"))
    await stage.wait(20)
    assert stage.binds == [(WEB, "one")]
    assert stage.engine.nominator.nominated_node(stage.uid(WEB)) == ""


class Loner(PreFilterPlugin, PreFilterExtensions, FilterPlugin):
    """Goes where no pod is labelled `near`; counts them in PreFilter, and keeps the count true in trials."""

    name = "Loner"
    asked: ClassVar[list[str]] = []
    _table = StatusTable([Status.unschedulable("not alone")])

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        near = [each for info in nodes for each in info.pods.values() if "near" in each.labels]
        state.write(self.name, Count(len(near)))
        return None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        alone = state.read(self.name, Count).near == 0
        return Verdicts.where(np.full(len(nodes), alone), self._table)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        self.asked.append(f"+{added.name}")
        state.read(self.name, Count).near += "near" in added.labels
        return None

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        self.asked.append(f"-{removed.name}")
        state.read(self.name, Count).near -= "near" in removed.labels
        return None


class Count:
    """A note that a trial gets a copy of."""

    def __init__(self, near: int) -> None:
        self.near = near

    def clone(self) -> "Count":
        return Count(self.near)


async def test_pre_filter_extensions_hear_of_nominated_pods_and_only_that_node_is_lost(set_stage: SetStage) -> None:
    Loner.asked.clear()
    stage = set_stage(Loner)
    stage.put_node(make_node("two"))
    near = nominee()
    near["metadata"]["labels"] = {"near": "yes"}
    stage.put_pod(near)
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert Loner.asked == ["+nominee"]
    assert stage.binds == [(WEB, "two")]


class Evictor(PostFilterPlugin, PreemptionPlugin):
    """Looks in a trial which node would do if all its pods went, as preemption does."""

    name = "Evictor"
    found: ClassVar[list[object]] = []

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        snapshot = self.handle.snapshot
        nodes, notes = NodeView(snapshot, snapshot.live_rows()), state.clone()
        with self.handle.trial() as trial:
            for node in nodes:
                for victim in list(node.pods.values()):
                    assert trial.remove_pod(notes, pod, victim, node.name) is None
            would = self.handle.run_filter_plugins_with_nominated_pods(notes, pod, nodes)
        after = self.handle.run_filter_plugins_with_nominated_pods(state, pod, nodes)
        self.found.append((would.passes.tolist(), after.passes.tolist()))
        return None, Status.unschedulable()


async def test_post_filter_may_ask_what_would_be_and_leaves_no_trace(set_stage: SetStage) -> None:
    Evictor.found.clear()
    Loner.asked.clear()
    stage = set_stage(NodeResourcesFit, Loner, Evictor)
    stage.put_node(*(make_node(name, cpu="1") for name in ("one", "two", "three")))
    stage.put_pod(*(make_pod(f"on-{name}").requests(cpu="1").node(name) for name in ("one", "two", "three")))
    stage.put_pod(nominee(node="two"))
    stage.put_pod(make_pod("web").requests(cpu="1"))
    await stage.settle()

    assert Evictor.found == [([True, False, True], [False, False, False])]
    assert [line for line in Loner.asked if line.startswith("-")] == ["-on-one", "-on-two", "-on-three"]


class DecidesOnly(DefaultPreemption):
    """Reports which pods it would evict, and evicts none."""

    def on_pod_decision(self, decision: PodDecision) -> None:
        pass


async def test_a_pod_whose_promise_ended_may_preempt_elsewhere_before_its_status_says_so(set_stage: SetStage) -> None:
    stage = set_stage(NodeResourcesFit, DecidesOnly)
    evicted = make_pod("on-one").requests(cpu="1").node("one").terminating()
    evicted["status"] = {
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    }
    stage.put_node(*(make_node(name, cpu="1") for name in ("one", "two")))
    stage.put_pod(evicted, make_pod("on-two").requests(cpu="1").node("two"))
    web = make_pod("web").requests(cpu="1").priority(10)
    web["status"] = {"phase": "Pending", "nominatedNodeName": "one"}
    stage.put_pod(web)
    await stage.settle()
    full = "0/2 nodes are available: 2 Insufficient cpu. preemption: "
    assert stage.conditions[WEB][1] == f"{full}not eligible due to a terminating pod on the nominated node."

    stage.engine.nominator.clear(stage.uid(WEB))
    await stage.wait(400)
    assert "preemption: found a potential placement for pod on node" in stage.conditions[WEB][1]


def info_of(pod: PodDict) -> PodInfo:
    return PodInfo(msgspec.convert(pod, Pod))


def gated(pod: PodDict, *gates: str) -> PodDict:
    """A pod of ours that these gates keep out of the queue."""
    pod["spec"]["schedulerName"] = "muster"
    pod["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
    return pod


async def test_a_gated_pods_nomination_reserves_no_capacity(set_stage: SetStage) -> None:
    stage = set_stage(NodeResourcesFit, SchedulingGates)
    stage.put_node(make_node("one", cpu="1"), make_node("two", cpu="1"))
    stage.put_pod(gated(nominee("known"), "example.com/budget"))
    stage.put_pod(gated(make_pod("reported").requests(cpu="1").priority(100), "example.com/budget"))
    nominated = gated(make_pod("reported").requests(cpu="1").priority(100), "example.com/budget")
    nominated["status"] = {"phase": "Pending", "nominatedNodeName": "two"}
    stage.put_pod(nominated)
    stage.put_pod(make_pod("web").requests(cpu="1"), make_pod("db").requests(cpu="1"))
    await stage.settle()

    assert {key for key, _ in stage.binds} == {WEB, "default/db"}


def test_a_nomination_in_the_status_counts_unless_the_pod_has_been_gated_since_it_was_added() -> None:
    nominator, learned, other = PodNominator(), info_of(nominee("learned")), info_of(make_pod("other"))

    def counts() -> bool:
        return bool(list(nominator.in_the_way_of(other)))

    nominator.learn(learned, "one", gated=False)
    assert counts()
    nominator.gate(learned.uid)
    assert not counts()
    nominator.learn(learned, "two", gated=True)
    assert not counts()
    nominator.ungate(learned.uid)
    assert counts()
    nominator.gate(learned.uid)
    assert counts()


def decided(seed: int) -> tuple[str, tuple[str, str, str | None] | None]:
    """The node of a pod, and its condition, in a cluster where other pods are nominated; the seed chooses it."""
    random = Random(seed)
    scheduler = VirtualScheduler()
    names = [f"n{number}" for number in range(6)]
    scheduler.add_nodes(
        *(make_node(name, cpu=str(random.randint(1, 3))).zone(random.choice(("a", "b"))) for name in names)
    )
    labels = [{"app": "web"}, {"app": "db"}, {}]
    running = [
        make_pod(f"r{number}").labels(random.choice(labels)).requests(cpu="500m").node(random.choice(names))
        for number in range(6)
    ]
    nominated = [nominee(f"p{number}", random.choice(names)).labels(random.choice(labels)) for number in range(4)]
    for pod in nominated:
        if random.random() < 0.3:
            pod.requests(cpu="100m").apart("topology.kubernetes.io/zone", {"app": "web"})
    web = make_pod("web").labels(app="web").requests(cpu=random.choice(("1", "3"))).scheduler("muster")
    web.near("topology.kubernetes.io/zone", {"app": "db"})
    if random.random() < 0.5:
        web.apart("kubernetes.io/hostname", {"app": "db"})
    scheduler.add(*running, *nominated, web)
    asyncio.run(scheduler.settle())
    return scheduler.node_of(WEB), scheduler.conditions.get(WEB)


def test_nodes_that_lack_capacity_with_their_nominated_pods_need_not_be_asked_about_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [decided(seed) for seed in range(80)]
    assert len({node for node, _ in found}) > 3
    assert sum(condition is not None for _, condition in found) > 10

    monkeypatch.setattr(FilterCalls, "leading", lambda self, state: [])
    assert found == [decided(seed) for seed in range(80)]
