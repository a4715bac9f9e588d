"""An error of a plugin fails a whole group or tree, as in kube-scheduler: nothing is bound, and nothing evicted."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from muster.framework.contract import (
    CycleState,
    NodeView,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodGroupTrial,
    PodInfo,
    PreFilterPlugin,
    Status,
)
from muster.plugins.gangscheduling.record import NativePodGroupReason
from tests.builders import PodDict, make_node
from tests.gangscheduling.test_preemption import World as EvictingWorld
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, World, make_composite, make_group, make_members

_BOOM = 'running PreFilter plugin "Faulty": boom'
_OTHERS = f"failed to schedule other pod from a pod group: {_BOOM}"
_IN_TREE = f"composite pod group evaluation failed due to child error: {_OTHERS}"
_KAPUT = 'error in "Unhelpful" PodGroupPostFilter plugins: kaput'
_RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


class Faulty(PreFilterPlugin):
    """Fails for pods with the label `faulty`, and counts how often it is asked about each pod."""

    name = "Faulty"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: Counter[str] = Counter()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        self.asked[pod.name] += 1
        return Status.failure("boom") if "faulty" in pod.labels else None


class Unhelpful(PodGroupPostFilterPlugin):
    """Fails when a group needs help."""

    name = "Unhelpful"

    def pod_group_post_filter(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> tuple[Mapping[str, str] | None, Status | None]:
        return None, Status.failure("kaput")


def make_faulty(group: str, count: int, *, faulty: int, **more: Any) -> list[PodDict]:
    """Members of a group, one of which is faulty."""
    found = make_members(group, count, **more)
    found[faulty].labels(faulty="yes")
    return found


@pytest.mark.parametrize("topology", [{}, _RACK], ids=["anywhere", "in one rack"])
@pytest.mark.parametrize("faulty", [0, 1, 2])
@pytest.mark.parametrize("min_count", [None, 1, 2, 3])
async def test_an_error_about_one_member_fails_all(
    min_count: int | None, faulty: int, topology: dict[str, object]
) -> None:
    world = World(Faulty)
    world.add_nodes(*(make_node(name, cpu="8").labels(rack=name) for name in "ab"))
    group = world.add_group("group", min_count, **topology)
    world.add(*make_faulty("group", 3, faulty=faulty))
    await world.settle()
    assert world.bound("group") == []
    assert world.reported(group) == (NativePodGroupReason.SCHEDULER_ERROR, _OTHERS)
    assert {key: reported[:2] for key, reported in world.conditions.items()} == {
        f"default/group-{number}": ("SchedulerError", _BOOM if number == faulty else _OTHERS) for number in range(3)
    }

    world.api.change("pods", f"default/group-{faulty}", lambda pod: pod["metadata"]["labels"].pop("faulty"))
    await world.until(lambda: len(world.bound("group")) == 3, within=30)
    world.check()


async def test_no_other_domain_is_tried_after_an_error() -> None:
    world = World(Faulty)
    world.add_nodes(*(make_node(name, cpu="8").labels(rack=name) for name in "ab"))
    world.add_group("group", 3, **_RACK)
    world.add(*make_faulty("group", 3, faulty=1))
    plugin = world.engine.algorithms["muster"].framework.plugins.plugins["Faulty"]
    assert isinstance(plugin, Faulty)
    await world.run(0.5)
    assert (plugin.asked["group-0"], plugin.asked["group-1"]) == (1, 1)
    assert world.metrics.placement_evaluations.values() == {}


async def test_an_error_counts_where_capacity_is_lacking_too() -> None:
    world = World(Faulty)
    world.add_nodes(make_node("one", cpu="1"))
    group = world.add_group("group", 3)
    first, *others = make_faulty("group", 5, faulty=2)
    world.add(first.requests(cpu="1", memory="1Mi"), *others)
    await world.settle()
    assert world.reported(group) == (NativePodGroupReason.SCHEDULER_ERROR, _OTHERS)


@pytest.mark.parametrize("min_count", [1, 2])
async def test_an_error_about_one_member_of_a_tree_fails_the_tree(min_count: int) -> None:
    world = World(Faulty)
    world.add_nodes(make_node("one", cpu="8"))
    world.add_composite("job", 1)
    parts = [world.add_group(name, min_count, parentCompositePodGroupName="job") for name in ("left", "right")]
    world.add(*make_members("left", 2), *make_faulty("right", 3, faulty=2))
    await world.settle()
    assert [world.reported(part) for part in parts] == [(NativePodGroupReason.SCHEDULER_ERROR, _IN_TREE)] * 2
    assert world.bound("left") == world.bound("right") == []
    assert [reported[:2] for reported in world.conditions.values()] == [("SchedulerError", _IN_TREE)] * 5


async def test_the_text_of_an_error_names_each_group_above_the_member() -> None:
    world = World(Faulty)
    world.add_nodes(make_node("one", cpu="8").labels(rack="a"))
    world.add_composite("job", 1)
    world.add_composite("inner", 1, parentCompositePodGroupName="job", **_RACK)
    left = world.add_group("left", 1, parentCompositePodGroupName="job")
    right = world.add_group("right", 1, parentCompositePodGroupName="inner")
    world.add(*make_members("left", 1), *make_faulty("right", 2, faulty=0))
    await world.settle()
    text = f"composite pod group evaluation failed due to child error: {_IN_TREE}"
    assert world.reported(left) == world.reported(right) == (NativePodGroupReason.SCHEDULER_ERROR, text)
    assert [reported[:2] for reported in world.conditions.values()] == [("SchedulerError", text)] * 3


@pytest.mark.parametrize("tree", [False, True])
async def test_no_pod_is_evicted_for_a_group_after_an_error_and_its_nominations_end(tree: bool) -> None:
    world = await _full_world(tree=tree)
    keys = world.add(*(pod.nominated("one") for pod in make_faulty("group", 3, faulty=1, cpu="2", priority=10)))
    await world.settle()
    assert world.evicted == []
    assert world.said("group").message == (_IN_TREE if tree else _OTHERS)
    assert [world.conditions[key][2] for key in keys] == [""] * 3
    assert len(world.engine.nominator) == 0
    await world.kill()


@pytest.fixture
def unhelped() -> World:
    """A world with a node for two pods, where the preemption of groups fails."""
    plugins = {"multiPoint": {"enabled": [{"name": "Unhelpful"}], "disabled": [{"name": "DefaultPreemption"}]}}
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    profiles = [{"schedulerName": "muster", "plugins": plugins}]
    world = World(Unhelpful, configuration=yaml.safe_dump({**document, "profiles": profiles}).encode())
    world.add_nodes(make_node("one", cpu="2"))
    return world


@pytest.mark.parametrize("tree", [False, True])
async def test_an_error_in_the_preemption_of_a_group_fails_it(unhelped: World, tree: bool) -> None:
    world = unhelped
    if tree:
        world.add_composite("job", 1)
    group = world.add_group("group", 3, **({"parentCompositePodGroupName": "job"} if tree else {}))
    keys = world.add(*(pod.nominated("one") for pod in make_members("group", 4)))
    await world.settle()
    assert world.reported(group) == (NativePodGroupReason.SCHEDULER_ERROR, _KAPUT)
    assert [world.conditions[key] for key in keys] == [("SchedulerError", _KAPUT, "")] * 4


@pytest.mark.parametrize("later", [False, True])
async def test_an_error_in_the_preemption_of_members_beyond_the_quorum_fails_these(
    unhelped: World, later: bool
) -> None:
    unhelped.add_group("group", 1)
    members = make_members("group", 4)
    if later:
        unhelped.add(*members[:2])
        await unhelped.settle()
    keys = unhelped.add(*members[2 if later else 0 :])
    await unhelped.settle()
    assert len(unhelped.bound("group")) == 2
    assert {key: unhelped.conditions[key][:2] for key in keys[-2:]} == dict.fromkeys(
        keys[-2:], ("SchedulerError", _KAPUT)
    )


@pytest.mark.parametrize("tree", [False, True])
async def test_an_error_that_is_met_only_without_the_pods_to_be_evicted_fails_the_group(tree: bool) -> None:
    world = await _full_world(tree=tree)
    keys = world.add(*make_faulty("group", 2, faulty=1, cpu="2", priority=10))
    await world.settle()
    reason = _IN_TREE if tree else _OTHERS
    text = f'error in "DefaultPreemption" PodGroupPostFilter plugins: pod group preemption: {reason}'
    said = world.said("group")
    assert (said.reason, said.message) == (NativePodGroupReason.SCHEDULER_ERROR, text)
    assert [world.conditions[key][:2] for key in keys] == [("SchedulerError", text)] * 2
    assert world.evicted == []
    await world.kill()


async def _full_world(*, tree: bool) -> EvictingWorld:
    """A world with `Faulty`, a node full of pods of low priority, and a group that needs two pods."""
    world = EvictingWorld(plugins={"Faulty": Faulty})
    world.add_nodes(make_node("one", cpu="4"))
    world.fill("one", 4)
    await world.settle()
    if tree:
        world.api.put(COMPOSITE_KIND, make_composite("job", 1, priority=10))
    parent = {"parentCompositePodGroupName": "job"} if tree else {}
    world.api.put(KIND, make_group("group", 2, priority=10, **parent))
    return world
