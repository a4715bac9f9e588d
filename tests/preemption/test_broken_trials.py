"""A plugin that cannot follow a trial fails the trial's node, with its name, and no pod is evicted there."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from muster.framework.contract import (
    CycleState,
    DependsOn,
    FilterPlugin,
    NodeView,
    Plugin,
    PodInfo,
    PreFilterExtensions,
    PreFilterPlugin,
    ReservePlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.runtime.attempt_state import AttemptState
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.plugins.reservation.ends import ExpectedEnd
from muster.plugins.reservation.placement_request import PlacementRequest
from muster.plugins.reservation.planning import plan_for
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.coscheduling.preemption.evicting import EvictingWorld
from tests.evicting import Evicting
from tests.plugins.cluster import info
from tests.preemption.world import urgent, victim
from tests.scheduler.stage import Stage

Breaks = Callable[[PodInfo], Status | None]


def answers(pod: PodInfo) -> Status | None:
    return Status.failure(f"lost track of {pod.name}")


def refuses(pod: PodInfo) -> Status | None:
    return Status.unschedulable(f"lost track of {pod.name}")


def raises(pod: PodInfo) -> Status | None:
    raise KeyError(f"lost track of {pod.name}")


class Follower(PreFilterPlugin, PreFilterExtensions, FilterPlugin):
    """Lets every pod pass, and raises when it is notified of a pod with the label `breaks`."""

    name = "Follower"
    filter_depends_on = DependsOn.PODS_ON_NODE
    on_add: ClassVar[Breaks | None] = None
    on_remove: ClassVar[Breaks | None] = None
    _table = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        return None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        return Verdicts.all_pass(len(nodes), self._table)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        breaks = type(self).on_add
        return breaks(added) if breaks is not None and "breaks" in added.labels else None

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        breaks = type(self).on_remove
        return breaks(removed) if breaks is not None and "breaks" in removed.labels else None


class Anywhere(Follower):
    """A plugin whose verdicts may depend on any node, so that nodes are tried one by one."""

    filter_depends_on = DependsOn.CLUSTER


class EvictingStage(Evicting, Stage):
    """A profile with a plugin that breaks."""


@pytest.fixture(params=[Follower, Anywhere], ids=["nodes together", "node by node"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[EvictingStage]:
    """Two full nodes; the victim on `one` costs less, and breaks the plugin."""
    stage = EvictingStage(NodeResourcesFit, request.param, DefaultPreemption)
    stage.put_node(make_node("one", cpu="2"), make_node("two", cpu="2"))
    yield stage
    await stage.close()


CASES = [
    pytest.param({"on_remove": answers}, "RemovePod", id="remove answers an error"),
    pytest.param({"on_remove": refuses}, "RemovePod", id="remove answers a rejection"),
    pytest.param({"on_remove": raises}, "RemovePod", id="remove raises"),
    pytest.param({"on_add": answers}, "AddPod", id="add answers an error"),
    pytest.param({"on_add": raises}, "AddPod", id="add raises"),
]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Breaks]], None]:
    """Say how the plugin breaks."""

    def set_(how: dict[str, Breaks]) -> None:
        for name, breaks in how.items():
            for plugin in (Follower, Anywhere):
                monkeypatch.setattr(plugin, name, staticmethod(breaks))

    return set_


def why(point: str, pod: str) -> tuple[str, str]:
    """The message about it, as the plugin answers or raises."""
    words = f'running {point} on PreFilter plugin "Follower": '
    return f"{words}lost track of {pod}", f"{words}'lost track of {pod}'"


@pytest.mark.parametrize(("how", "point"), CASES)
async def test_a_pod_evicts_no_pod_from_a_node_whose_trial_failed(
    stage: EvictingStage, broken: Callable[[dict[str, Breaks]], None], how: dict[str, Breaks], point: str
) -> None:
    broken(how)
    stage.put_pod(victim("cheap", "2").labels(breaks="yes").node("one"), victim("dear", "2").priority(10).node("two"))
    stage.put_pod(urgent("web"))
    await stage.settle()

    assert stage.evicted == ["default/dear"]
    assert stage.conditions["default/web"][1].endswith(
        "found a potential placement for pod on node two, preempting 1 victims"
    )


@pytest.mark.parametrize(("how", "point"), CASES)
async def test_a_pods_reason_names_the_plugin_that_broke_if_no_other_node_takes_it(
    stage: EvictingStage, broken: Callable[[dict[str, Breaks]], None], how: dict[str, Breaks], point: str
) -> None:
    broken(how)
    stage.put_pod(*(victim(f"on-{node}", "2").labels(breaks="yes").node(node) for node in ("one", "two")))
    stage.put_pod(urgent("web"))
    await stage.settle()

    assert stage.evicted == []
    words = "0/2 nodes are available: 2 Insufficient cpu. preemption: "
    assert stage.conditions["default/web"][1] in [
        words + text for node in ("one", "two") for text in why(point, f"on-{node}")
    ]


class Fragile(Follower):
    """Answers an error about each node that has one pod with the label `breaks`; the nodes of these tests have two."""

    _table = StatusTable([Status.failure("lost track")])

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        snapshot = nodes.snapshot
        broken = [sum("breaks" in each.labels for each in snapshot.pods[row].values()) == 1 for row in nodes.indices()]
        return Verdicts(np.array(broken, np.int32), self._table)


class FragileAnywhere(Fragile):
    """A plugin whose verdicts may depend on any node, so that nodes are tried one by one."""

    filter_depends_on = DependsOn.CLUSTER


FRAGILE = pytest.mark.parametrize("stage", [Fragile, FragileAnywhere], indirect=True)


@FRAGILE
async def test_a_pod_evicts_no_pod_from_a_node_where_a_filter_fails_beside_a_returned_pod(stage: EvictingStage) -> None:
    for number in range(2):
        stage.put_pod(victim(f"cheap-{number}", "1").labels(breaks="yes").node("one"))
        stage.put_pod(victim(f"dear-{number}", "1").priority(10).node("two"))
    stage.put_pod(urgent("web", "1"))
    await stage.settle()
    assert stage.evicted == ["default/dear-1"]


@FRAGILE
async def test_a_pods_reason_names_the_filter_that_failed_beside_a_returned_pod(stage: EvictingStage) -> None:
    for node in ("one", "two"):
        stage.put_pod(*(victim(f"on-{node}-{n}", "1").labels(breaks="yes").node(node) for n in range(2)))
    stage.put_pod(urgent("web", "1"))
    await stage.settle()

    assert stage.evicted == []
    assert stage.conditions["default/web"][1].endswith('preemption: running "Follower" filter plugin: lost track')


@pytest.mark.parametrize("plugin", [Fragile, FragileAnywhere])
async def test_a_gang_evicts_no_pod_if_a_filter_fails_beside_a_returned_pod(plugin: type[Follower]) -> None:
    world = gangs(plugin)
    world.fill("b", 2, priority=10)
    breaking(world, world.fill("a", 2))
    gang = world.gang("gang", 1, priority=10)
    await world.run(60)

    assert world.evicted == []
    assert world.conditions[gang[0]][1].endswith('running "Follower" filter plugin: lost track')
    await world.kill()


async def test_a_nominated_pod_that_breaks_a_plugin_fails_its_node_in_a_dry_run(
    stage: EvictingStage, broken: Callable[[dict[str, Breaks]], None]
) -> None:
    stage.put_pod(victim("cheap", "2").node("one"), victim("dear", "2").priority(10).node("two"))
    stage.put_pod(make_pod("nominee").labels(breaks="yes").priority(100).nominated("one").scheduler("somebody-else"))
    await stage.settle()
    snapshot = stage.engine.cache.snapshot
    there = snapshot.pods[snapshot.row_of("one") or 0]
    broken({"on_add": lambda pod: None if stage.uid("default/cheap") in there else answers(pod)})
    stage.put_pod(urgent("web"))
    await stage.settle()

    assert stage.evicted == ["default/dear"]


@pytest.mark.parametrize(("how", "point"), CASES)
async def test_a_gang_evicts_no_pod_after_a_failed_trial(
    broken: Callable[[dict[str, Breaks]], None], how: dict[str, Breaks], point: str
) -> None:
    world = gangs()
    broken(how)
    breaking(world, world.fill("a", 2), world.fill("b", 2))
    gang = world.gang("gang", 2, priority=10)
    await world.run(60)

    assert world.evicted == []
    reported = world.conditions[gang[0]][1]
    assert any(text in reported for node in "ab" for n in range(2) for text in why(point, f"low-{node}-0-{n}")), (
        reported
    )
    await world.kill()


async def test_a_gang_evicts_pods_on_nodes_without_failed_trials(broken: Callable[[dict[str, Breaks]], None]) -> None:
    world = gangs()
    broken({"on_add": raises})
    breaking(world, world.fill("a", 2))
    dear = world.fill("b", 2, priority=5)
    gang = world.gang("gang", 2, priority=10)
    await world.run(60)

    assert (sorted(world.evicted), sorted(world.bound("gang"))) == (dear, gang)
    await world.kill()


class Exclusive(ReservePlugin):
    """Raises when it reserves a node for a gang on which another pod is counted."""

    name = "Exclusive"

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        snapshot = self.handle.snapshot
        there = snapshot.pods[snapshot.row_of(node_name) or 0].values()
        if any(other.name.startswith("low") for other in there):
            raise ValueError(f"{node_name} is shared")
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass


async def test_a_gang_evicts_no_pod_if_reserve_fails_beside_a_returned_pod() -> None:
    world = gangs(Exclusive)
    world.fill("a", 2)
    gang = world.gang("gang", 1, priority=10)
    world.fill("b", 2, priority=10)
    await world.run(60)

    assert world.evicted == []
    assert world.conditions[gang[0]][1].endswith('running Reserve plugin "Exclusive": a is shared')
    await world.kill()


def gangs(plugin: type[Plugin[Any]] = Follower) -> EvictingWorld:
    """Two nodes of two cores, and a plugin that breaks."""
    world = EvictingWorld(plugins={plugin.name: plugin})
    world.add_nodes(make_node("a", cpu="2"), make_node("b", cpu="2"))
    return world


def breaking(world: EvictingWorld, *keys: Sequence[str]) -> None:
    """These pods break the plugin."""
    for key in (each for some in keys for each in some):
        world.api.change("pods", key, lambda pod: pod["metadata"].setdefault("labels", {}).update(breaks="yes"))


async def test_no_capacity_is_kept_on_a_node_whose_nominated_pod_makes_a_plugin_fail(
    stage: EvictingStage, broken: Callable[[dict[str, Breaks]], None]
) -> None:
    broken({"on_add": answers})
    running = {node: victim(f"on-{node}", "2").node(node) for node in ("one", "two")}
    stage.put_pod(*running.values())
    stage.put_pod(make_pod("nominee").labels(breaks="yes").priority(100).nominated("one").scheduler("somebody-else"))
    await stage.settle()
    framework, snapshot = stage.engine.algorithms["muster"].framework, stage.engine.cache.snapshot
    pod, state = info(make_pod("web").requests(cpu="2")), AttemptState()
    framework.pre_filtering.run(state, pod, NodeView(snapshot, snapshot.live_rows()))
    ends = [ExpectedEnd(info(running[node]), node, at) for node, at in (("one", 10.0), ("two", 20.0))]
    [preemption] = stage.engine.plugins(DefaultPreemption)
    [capacity] = plan_for(PlacementRequest(pod.key, [pod], [state]), ends, (), preemption.handle, now=0.0).reserved

    assert [snapshot.names[row] for row in capacity.rows] == ["two"]
