"""The reason why a gang waits is given in the words of the plugin that rejects it, not in general words on groups."""

from typing import ClassVar

import pytest

from muster.framework.contract import (
    Code,
    CycleState,
    FilterPlugin,
    NodeView,
    Plugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    Status,
    Verdicts,
)
from muster.framework.metrics import GroupResult
from muster.framework.model.pod_info import PodInfo
from tests.builders import make_node
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

MISSING_CLAIM = 'persistentvolumeclaim "data" not found'


class ClaimCheck(PreFilterPlugin):
    """Turns pods away as VolumeBinding does when a claim is missing."""

    name = "ClaimCheck"

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        return Status.unresolvable(MISSING_CLAIM) if pod.name.endswith("-1") else None


class Gate(PreEnqueuePlugin):
    """Keeps pods out by name."""

    name = "Gate"
    shut: ClassVar[set[str]] = set()

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return Status.unresolvable("shut") if pod.name in self.shut else None


class Waits(PreFilterPlugin):
    """Has a pod wait for something outside of the cluster."""

    name = "Waits"

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        return Status.pending("a volume is being made") if pod.name.endswith("-1") else None


class Broken(FilterPlugin):
    """A plugin with a bug."""

    name = "Broken"

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        raise RuntimeError("a bug")


class Unreserving(ReservePlugin):
    """Lets the last member have no node that was chosen for it."""

    name = "Unreserving"

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return Status.unschedulable("taken") if pod.name.endswith("-2") else None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Nothing was reserved."""


async def test_the_reason_of_another_plugin_is_the_reason_of_all_members(make_world: MakeWorld) -> None:
    world = make_world(plugins={"ClaimCheck": ClaimCheck})
    world.add_nodes(make_node("a"), make_node("b"))
    world.add_group("g", 3)
    keys = world.add(*make_members("g", 3))
    await world.settle()

    for key in keys:
        assert world.notes(key) == [
            "pod group default/g is unschedulable, 1 of the 3 members that it needs fits; with that one placed: "
            f"0/2 nodes are available: {MISSING_CLAIM}."
        ]
    assert word(world, "g") == ("Unschedulable", world.notes(keys[0])[0])


async def test_reasons_of_nodes_are_counted_node_by_node(world: World) -> None:
    world.add_nodes(
        make_node("full", cpu="0"),
        make_node("tainted").taint("dedicated", "other"),
        make_node("cordoned").unschedulable(),
        make_node("room", cpu="1"),
    )
    world.add_group("g", 2)
    [first, _] = world.add(*make_members("g", 2))
    await world.settle()

    assert world.notes(first) == [
        "pod group default/g is unschedulable, 1 of the 2 members that it needs fits; with that one placed: "
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "2 Insufficient cpu."
    ]


async def test_members_that_fit_are_not_counted_on_nodes_where_they_may_not_go(world: World) -> None:
    world.add_nodes(make_node("open", cpu="2"), make_node("cordoned", cpu="4").unschedulable())
    world.add_group("g", 8)
    keys = world.add(*make_members("g", 8, cpu="1"))
    await world.settle()

    assert world.notes(keys[0]) == [
        "pod group default/g is unschedulable, 2 of the 8 members that it needs fit; with those 2 placed: "
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    ]


async def test_a_plugins_bug_is_called_an_error_and_tried_again(make_world: MakeWorld) -> None:
    world = make_world(plugins={"Broken": Broken})
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    keys = world.add(*make_members("g", 2))
    await world.settle()
    assert world.conditions[keys[0]][0] == "SchedulerError"
    assert "a bug" in world.conditions[keys[0]][1]
    reported = len(world.notes(keys[0]))

    await world.run(60)
    assert len(world.notes(keys[0])) > reported
    assert world.engine.cache.assumed_count == 0


async def test_a_member_beyond_the_quorum_has_a_reason_of_its_own(world: World) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2)
    world.add(*make_members("g", 2), make_member("huge", "g", cpu="64"))
    await world.settle()

    assert len(world.bound("g")) == 2
    assert world.notes("default/huge") == [
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    ]


async def test_members_that_another_scheduler_does_not_bind_are_waited_for_and_that_is_said(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("g", 3)
    keys = world.add(*make_members("g", 2), make_member("theirs", "g").scheduler("somebody-else"))
    await world.run(30)
    assert world.bound() == []
    assert world.notes(keys[0])[-1] == "not enough members of the pod group are waiting to be scheduled"
    assert world.conditions[keys[0]][0] == "WaitingForPods"
    assert word(world, "g") == (
        "WaitingForPods",
        "2 of the 3 members that it needs can be tried: 1 is left to scheduler somebody-else",
    )

    world.api.bind(keys[2], "a")
    await world.settle()
    assert len(world.bound()) == 3


async def test_a_gang_waits_for_a_gated_member_and_starts_when_it_is_ungated(
    make_world: MakeWorld,
) -> None:
    Gate.shut = {"g-1"}
    world = make_world(plugins={"Gate": Gate})
    world.add_nodes(make_node("a"))
    world.add_group("g", 3)
    world.add(*make_members("g", 3))
    await world.run(100)
    assert word(world, "g") == (
        "WaitingForPods",
        "2 of the 3 members that it needs can be tried: 1 is held back before the queue",
    )

    Gate.shut = set()
    world.api.change("pods", "default/g-1", lambda pod: pod["metadata"]["labels"].update(let="in"))
    await world.run(0.6)
    assert len(world.bound()) == 3


async def test_the_podgroup_shows_what_another_plugin_waits_for(make_world: MakeWorld) -> None:
    world = make_world(plugins={"Waits": Waits})
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    world.add(*make_members("g", 2))
    await world.settle()

    assert word(world, "g") == (
        "Unschedulable",
        "pod group default/g is unschedulable, 1 of the 2 members that it needs fits; with that one placed: "
        "0/1 nodes are available: a volume is being made.",
    )


async def test_an_error_is_an_error_for_the_group_and_all_else_turns_it_away(world: World) -> None:
    reject = world.plugin().reject_group
    world.add_group("g", 3)
    for cause, code in (
        (Status.unschedulable("x"), Code.UNSCHEDULABLE),
        (Status.unresolvable("x"), Code.UNSCHEDULABLE),
        (Status.failure("x"), Code.ERROR),
        (Status.pending("x"), Code.PENDING),
        (Status.pending(), Code.PENDING),
    ):
        assert reject("default/g", cause, placed=1, missing=3).code is code


@pytest.mark.parametrize(
    ("plugin", "result"),
    [(None, "scheduled"), (ClaimCheck, "unschedulable"), (Unreserving, "unschedulable"), (Broken, "error")],
)
async def test_an_attempt_counts_as_what_became_of_the_group(
    make_world: MakeWorld, plugin: type[Plugin] | None, result: GroupResult
) -> None:
    world = make_world(plugins={} if plugin is None else {plugin.name: plugin})
    world.add_nodes(make_node("a"))
    world.add_group("g", 3)
    world.add(*make_members("g", 3))
    await world.settle()

    assert {seen for seen, _ in world.metrics.podgroup_schedule_attempts.values()} == {result}
