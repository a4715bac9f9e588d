"""Carrying out a proposal step by step, and what stops it."""

import asyncio

import pytest

from muster.framework.contract import ApiError
from muster.framework.model.node import Taint
from muster.operator.kube.errors import TooManyRequests
from tests.builders import make_node

from .played import PlayedCluster, carried_out
from .world import budget, gang, running_gang, runs, waits

NODES = [make_node("one", cpu="4"), make_node("two", cpu="4"), make_node("three", cpu="2"), make_node("four", cpu="1")]


@pytest.fixture
def told() -> list[str]:
    """The steps."""
    return []


@pytest.fixture
def played() -> PlayedCluster:
    """A gang of two waits for two nodes of four cores, on each of which one pod runs that fits on another node."""
    pods = [runs("a", "one", "1"), runs("b", "two", "1")]
    found = PlayedCluster(*NODES, *pods, *gang(2, "4"))

    def start() -> None:
        found.bind("gang-0", "one")
        found.bind("gang-1", "two")
        found.on_uncordon = lambda: None

    found.on_uncordon = start
    return found


async def test_pods_are_evicted_one_after_another_on_cordoned_nodes_and_then_the_gang_starts(
    played: PlayedCluster, told: list[str]
) -> None:
    ended = await carried_out(played, told=told)
    assert (ended.moved, ended.stopped, played.evicted) == (2, "", ["a", "b"])
    assert played.cordons == [("one", True), ("two", True), ("one", False), ("two", False)]
    assert told[0] == "cordoned one, two"
    assert [line for line in told if "evicted" in line] == ["evicted default/a from one", "evicted default/b from two"]
    assert told[-2:] == ["uncordoned one, two", "default/gang has started"]


async def test_a_pod_that_has_vanished_stops_it(played: PlayedCluster, told: list[str]) -> None:
    played.before = lambda evicted: played.remove("b") if evicted == 1 else None
    ended = await carried_out(played, told=told)
    assert (ended.moved, ended.stopped, played.evicted) == (1, "pod default/b is gone", ["a"])
    assert played.cordons[-2:] == [("one", False), ("two", False)]


async def test_a_pod_that_is_on_another_node_stops_it(played: PlayedCluster, told: list[str]) -> None:
    played.before = lambda evicted: played.bind("b", "three") if evicted == 1 else None
    assert (await carried_out(played, told=told)).stopped == "pod default/b is on node three"


async def test_a_node_that_has_changed_stops_it(played: PlayedCluster, told: list[str]) -> None:
    taint = Taint(key="broken", effect="NoSchedule")
    played.before = lambda evicted: played.change_node("two", taints=(taint,)) if evicted == 1 else None
    assert (await carried_out(played, told=told)).stopped == "node two has changed"


async def test_the_taint_of_the_own_cordon_is_no_change(played: PlayedCluster, told: list[str]) -> None:
    taint = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

    def taint_cordoned(evicted: int) -> None:
        for node in played.objects.nodes:
            if node.spec.unschedulable:
                played.change_node(node.metadata.name, taints=(taint,))

    played.before = taint_cordoned
    assert (await carried_out(played, told=told)).stopped == ""


async def test_a_node_that_is_gone_stops_it(played: PlayedCluster, told: list[str]) -> None:
    def remove(evicted: int) -> None:
        if evicted == 1:
            played.objects.nodes = [node for node in played.objects.nodes if node.metadata.name != "two"]

    played.before = remove
    assert (await carried_out(played, told=told)).stopped == "node two is gone"


async def test_an_eviction_that_a_budget_refuses_stops_it(played: PlayedCluster, told: list[str]) -> None:
    played.refuse["b"] = TooManyRequests("it would violate the pod's disruption budget", status=429)
    ended = await carried_out(played, told=told)
    assert (ended.moved, played.evicted) == (1, ["a"])
    assert ended.stopped == "pod default/b may not be evicted: it would violate the pod's disruption budget"


async def test_a_budget_that_permits_no_more_evictions_stops_it_before_one_is_asked_for(told: list[str]) -> None:
    pods = [runs("a", "one", "1").labels(app="db"), runs("b", "two", "1").labels(app="db")]
    played = PlayedCluster(*NODES, *pods, *gang(2, "4"), budget(2, app="db"))

    def use_up(evicted: int) -> None:
        if evicted == 1:
            [kind] = [kind for kind in played.objects.watched if kind.name == "PodDisruptionBudget"]
            played.objects.watched[kind] = PlayedCluster(budget(0, app="db")).objects.watched[kind]

    played.before = use_up
    ended = await carried_out(played, told=told)
    assert (ended.moved, played.evicted) == (1, ["a"])
    assert ended.stopped == ("pod default/b may not be moved now: PodDisruptionBudget default/db does not let it go")


async def test_capacity_that_others_have_taken_meanwhile_stops_it(played: PlayedCluster, told: list[str]) -> None:
    def fill(evicted: int) -> None:
        if evicted == 1:
            played.objects.pods += PlayedCluster(
                runs("x", "two", "1"), runs("y", "three", "1"), runs("z", "four", "1")
            ).objects.pods

    played.before = fill
    ended = await carried_out(played, told=told)
    assert (ended.moved, ended.stopped) == (1, "with the moves that are left, group default/gang would not start")


async def test_a_gang_that_has_started_meanwhile_ends_it(played: PlayedCluster, told: list[str]) -> None:
    def start(evicted: int) -> None:
        if evicted == 1:
            played.bind("gang-0", "one")
            played.bind("gang-1", "two")

    played.before, played.on_uncordon = start, lambda: None
    ended = await carried_out(played, told=told)
    assert (ended.moved, ended.stopped) == (1, "default/gang does not wait for a node any more")


async def test_a_replacement_without_a_node_stops_it(played: PlayedCluster, told: list[str]) -> None:
    played.goes_to["a"] = ""
    ended = await carried_out(played, told=told)
    assert (ended.moved, ended.stopped) == (0, "no replacement of default/a has a node after 3 seconds")


async def test_a_replacement_on_a_node_that_is_to_be_free_stops_it(played: PlayedCluster, told: list[str]) -> None:
    played.goes_to["a"] = "two"
    ended = await carried_out(played, told=told)
    assert ended.stopped == "pod default/a-new came to node two, which is to be kept free"


async def test_a_gang_is_evicted_as_one_step(told: list[str]) -> None:
    nodes = [make_node(name, cpu="4") for name in ("one", "two", "three", "four")]
    rest = [runs(f"r-{name}", name, "2") for name in ("two", "three", "four")]
    for pod in rest:
        pod["metadata"]["ownerReferences"] = []
    other = running_gang("other", {"o-0": "one", "o-1": "four"}, "2")
    played = PlayedCluster(*nodes, *other, *rest, waits("big", "4"))
    pictures: list[int] = []
    played.before = pictures.append
    played.on_uncordon = lambda: played.bind("big", "one")
    ended = await carried_out(played, told=told)
    assert (ended.moved, ended.stopped, played.evicted) == (2, "", ["o-0", "o-1"])
    assert pictures == [0, 0], "one for the proposal, one before the step"


async def test_a_group_that_does_not_start_after_all_moves_is_reported(played: PlayedCluster, told: list[str]) -> None:
    played.on_uncordon = lambda: None
    ended = await carried_out(played, told=told)
    assert (ended.moved, ended.stopped) == (2, "2 pods of default/gang still wait for a node")


async def test_a_node_that_was_cordoned_before_stays_so(told: list[str]) -> None:
    played = PlayedCluster(make_node("one", cpu="4").unschedulable(), make_node("two", cpu="4"), runs("a", "one", "1"))
    ended = await carried_out(played, told=told, free="nodes")
    assert (ended.moved, ended.stopped, played.cordons) == (1, "", [])
    assert played.pod("a-new").spec.node_name == "two"


async def test_an_interruption_uncordons_the_nodes(played: PlayedCluster, told: list[str]) -> None:
    async def interrupted(seconds: float) -> None:
        raise asyncio.CancelledError

    played.goes_to["a"] = ""
    played.pause = interrupted  # type: ignore[method-assign]  # as Ctrl-C does it
    with pytest.raises(asyncio.CancelledError):
        await carried_out(played, told=told)
    assert played.cordons[-2:] == [("one", False), ("two", False)]


async def test_a_node_that_cannot_be_uncordoned_is_named_with_the_command_that_does(
    played: PlayedCluster, told: list[str]
) -> None:
    cordon = played.cordon

    async def refused(node: str, closed: bool) -> None:
        if node == "one" and not closed:
            raise ApiError("the server is busy", status=503)
        await cordon(node, closed)

    played.cordon = refused  # type: ignore[method-assign]  # the API refuses it
    await carried_out(played, told=told)
    assert "node one is still cordoned: the server is busy; use kubectl uncordon one" in told
    assert "uncordoned two" in told
