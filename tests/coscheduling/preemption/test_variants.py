"""The pods that a gang evicts, case by case: as few as possible, at the least loss, and running gangs as wholes.

Each case is a cluster, a gang of priority 10 that comes, and the names of the pods that have to be evicted for it.
"""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from tests.builders import make_node
from tests.coscheduling.objects import make_member

from .conftest import MakeWorld
from .evicting import EvictingWorld, plain

Setting = Callable[[EvictingWorld], object]
GPU = "example.com/gpu"
MODE = "muster-scheduler.io/disruption-mode"


def nodes(world: EvictingWorld, **cpu: int) -> None:
    world.add_nodes(*(make_node(name, cpu=str(amount)) for name, amount in cpu.items()))


def runs(world: EvictingWorld, name: str, node: str, cpu: int = 1, priority: int = 0, **more: str) -> None:
    world.add(plain(name, str(cpu)).priority(priority).node(node).labels(more))


def gang_runs(
    world: EvictingWorld, name: str, least: int, *on: str, priority: int = 0, mode: str = "", cpu: int = 1
) -> None:
    world.add_group(name, least, annotations={MODE: mode} if mode else {})
    world.add(*(make_member(f"{name}-{n}", name, cpu=str(cpu)).priority(priority).node(o) for n, o in enumerate(on)))


def one_large_rather_than_many_small(world: EvictingWorld) -> None:
    nodes(world, a=8, b=8)
    runs(world, "large", "a", 8)
    for n in range(8):
        runs(world, f"small-{n}", "b")


def idle_nodes_too(world: EvictingWorld) -> None:
    nodes(world, a=2, b=2)
    runs(world, "low", "a", 2)


def lower_priority_though_more_pods(world: EvictingWorld) -> None:
    nodes(world, a=4, b=4)
    runs(world, "dear", "a", 4, priority=5)
    for n in range(4):
        runs(world, f"cheap-{n}", "b", priority=1)


def a_budget_protects_one_node(world: EvictingWorld) -> None:
    nodes(world, a=4, b=4)
    budget = {
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "db"}}},
        "status": {"disruptionsAllowed": 0},
    }
    world.api.put("poddisruptionbudgets", budget)
    runs(world, "guarded", "a", 4, app="db")
    runs(world, "free", "b", 4, priority=5)


def surplus_members_go_alone(world: EvictingWorld) -> None:
    nodes(world, a=4)
    gang_runs(world, "elastic", 2, "a", "a", "a", "a")


def a_gang_at_its_quorum_goes_whole(world: EvictingWorld) -> None:
    nodes(world, a=2, b=4, c=1)
    gang_runs(world, "rigid", 4, "a", "a", "b", "b")
    runs(world, "top", "b", 2, priority=10)
    runs(world, "rest", "c", 1, priority=10)


def pods_rather_than_a_whole_gang(world: EvictingWorld) -> None:
    nodes(world, a=4, b=4)
    gang_runs(world, "rigid", 4, "a", "a", "a", "a")
    for n in range(4):
        runs(world, f"low-{n}", "b")


def one_by_one_by_annotation(world: EvictingWorld) -> None:
    nodes(world, a=4)
    gang_runs(world, "loose", 4, "a", "a", "a", "a", mode="Single")


def all_by_annotation(world: EvictingWorld) -> None:
    nodes(world, a=4)
    gang_runs(world, "tight", 1, "a", "a", "a", "a", mode="All")


def equal_priority_is_spared(world: EvictingWorld) -> None:
    nodes(world, a=4)
    gang_runs(world, "peer", 4, "a", "a", "a", "a", priority=10)


def terminating_pods_are_waited_for(world: EvictingWorld) -> None:
    nodes(world, a=4, b=4)
    runs(world, "goes", "a", 4)
    runs(world, "stays", "b", 4)
    world.terminate("default/goes")


CASES = [
    (one_large_rather_than_many_small, 8, {"large"}),
    (idle_nodes_too, 4, {"low"}),
    (lower_priority_though_more_pods, 4, {f"cheap-{n}" for n in range(4)}),
    (a_budget_protects_one_node, 4, {"free"}),
    (surplus_members_go_alone, 2, 2),
    (surplus_members_go_alone, 3, 4),
    (a_gang_at_its_quorum_goes_whole, 1, 4),
    (pods_rather_than_a_whole_gang, 2, 2),
    (one_by_one_by_annotation, 1, 1),
    (all_by_annotation, 1, 4),
    (equal_priority_is_spared, 1, 0),
    (terminating_pods_are_waited_for, 4, 0),
    (one_large_rather_than_many_small, 17, 0),
]


@pytest.mark.parametrize(("setting", "size", "evicted"), CASES, ids=[f"{c[0].__name__}-{c[1]}" for c in CASES])
async def test_the_pods_that_a_gang_evicts(
    setting: Setting, size: int, evicted: Collection[str] | int, make_world: MakeWorld
) -> None:
    world = make_world()
    setting(world)
    await world.settle()
    world.gang("high", size, priority=10)
    await world.run(20)

    names = {key.partition("/")[2] for key in world.evicted}
    assert (len(names) if isinstance(evicted, int) else names) == evicted
    starts = evicted != 0
    assert len(world.bound("high")) == (size if starts else 0)


async def test_roles_with_and_without_gpus_evict_on_their_nodes_and_no_more_than_necessary(
    world: EvictingWorld,
) -> None:
    world.add_nodes(
        make_node("gpu", cpu="8").resources({GPU: "4"}), make_node("cpu", cpu="8"), make_node("c2", cpu="8")
    )
    trains = [plain(f"trains-{n}").requests({GPU: "1"}).node("gpu") for n in range(4)]
    serves = [plain(f"serves-{node}-{n}").requests(cpu="4").node(node) for node in ("cpu", "c2") for n in range(2)]
    world.add(*trains, *serves)
    await world.settle()
    world.add_group("mixed", 3)
    workers = [make_member(f"mixed-w{n}", "mixed").requests({GPU: "1"}) for n in range(2)]
    world.add(*(pod.priority(10) for pod in (*workers, make_member("mixed-ps", "mixed", cpu="8"))))
    await world.run(20)

    gone = sorted(key.partition("/")[2].partition("-")[0] for key in world.evicted)
    assert gone == ["serves", "serves", "trains", "trains"]
    assert len(world.bound("mixed")) == 3


async def test_a_gang_with_a_member_that_never_preempts_evicts_no_pod(world: EvictingWorld) -> None:
    nodes(world, a=4)
    runs(world, "low", "a", 4)
    world.add_group("patient", 2)
    world.add(
        make_member("patient-0", "patient").priority(10),
        make_member("patient-1", "patient").priority(10, preemption_policy="Never"),
    )
    await world.run(20)

    assert world.evicted == []
    assert world.conditions["default/patient-0"][1].endswith(
        "pod group preemption: not eligible due to preemptionPolicy=Never."
    )


async def test_a_gang_evicts_for_its_min_resources_too(world: EvictingWorld) -> None:
    nodes(world, a=4)
    runs(world, "low", "a", 4)
    await world.settle()
    world.add_group("high", 2, min_resources={"cpu": "2"})
    world.add(*(make_member(f"high-{n}", "high").priority(10) for n in range(2)))
    await world.run(20)

    assert world.evicted == ["default/low"]
    assert len(world.bound("high")) == 2


@pytest.mark.parametrize(
    ("cpu", "evicted"),
    [
        ("6", []),
        ("7", ["default/small"]),
        ("8", ["default/large"]),
        ("9", ["default/large", "default/small"]),
        ("10", []),
    ],
)
async def test_members_that_fit_evict_what_their_min_resources_take_on_whichever_node(
    world: EvictingWorld, cpu: str, evicted: Collection[str]
) -> None:
    nodes(world, a=4, b=6)
    runs(world, "important", "b", 1, priority=10)
    runs(world, "small", "b", 1)
    runs(world, "large", "b", 2, priority=1)
    await world.settle()
    world.add_group("high", 2, min_resources={"cpu": cpu})
    world.add(*(make_member(f"high-{n}", "high").priority(10) for n in range(2)))
    await world.run(20)

    assert sorted(world.evicted) == evicted
    assert len(world.bound("high")) == (0 if cpu == "10" else 2)


async def test_nobody_is_evicted_for_what_another_gang_keeps_of_the_min_resources_for_a_while(
    world: EvictingWorld,
) -> None:
    nodes(world, a=8)
    runs(world, "small", "a", 1)
    world.add_group("low", 1, min_resources={"cpu": "4"})
    world.add(make_member("low-0", "low"))
    await world.settle()
    world.add_group("high", 2, min_resources={"cpu": "5"})
    world.add(*(make_member(f"high-{n}", "high").priority(10) for n in range(2)))
    await world.run(20)
    assert (world.evicted, world.bound("high")) == ([], [])

    await world.run(60)
    assert len(world.bound("high")) == 2


async def test_refused_evictions_are_retried_and_no_member_starts_before(world: EvictingWorld) -> None:
    nodes(world, a=2)
    runs(world, "one", "a")
    runs(world, "two", "a")
    await world.settle()
    world.fail_delete = {"default/two"}
    world.gang("high", 2, priority=10)
    await world.run(10)
    assert world.bound("high") == []

    world.fail_delete = set()
    await world.run(10)
    assert len(world.bound("high")) == 2


async def test_members_beyond_the_quorum_take_the_victims_of_earlier_members_into_account(
    world: EvictingWorld,
) -> None:
    nodes(world, a=1, b=1, c=1, d=1)
    gang_runs(world, "elastic", 2, "a", "b", "c")
    await world.settle()
    world.gang("high", 3, priority=10, min_member=1)
    await world.run(20)
    assert len(world.bound("high")) == 3
    assert world.left(*(f"default/elastic-{n}" for n in range(3))) == []


async def test_a_single_pod_evicts_a_gang_whole_or_what_it_can_spare(world: EvictingWorld) -> None:
    nodes(world, a=3, b=3)
    gang_runs(world, "elastic", 2, "a", "a", "a")
    gang_runs(world, "rigid", 3, "b", "b", "b", priority=1)
    await world.settle()
    world.add(plain("small", "1").priority(10))
    await world.run(10)
    assert len(world.evicted) == 1
    assert world.groups_of(world.evicted) == {"elastic"}

    world.add(plain("large", "3").priority(10))
    await world.run(10)
    assert sorted(world.left("default/rigid-0", "default/rigid-1", "default/rigid-2")) == []


async def test_a_gang_that_restarts_without_a_pod_can_spare_none(world: EvictingWorld) -> None:
    nodes(world, a=1, b=4)
    world.add_group("elastic", 3, annotations={"muster-scheduler.io/healing-policy": "Restart"})
    world.add(*(make_member(f"elastic-{n}", "elastic").node("b") for n in range(4)))
    runs(world, "alone", "a")
    await world.settle()
    world.add(plain("urgent").priority(10))
    await world.run(10)
    assert world.evicted == ["default/alone"]


async def test_the_group_says_what_is_done_about_it(world: EvictingWorld) -> None:
    world.grace = 30.0
    nodes(world, a=2)
    runs(world, "low", "a", 2)
    world.api.change("pods", "default/low", lambda pod: pod["metadata"].update(generation=3))
    await world.settle()
    world.gang("high", 2, priority=10)
    await world.run(3)

    reported: Any = world.groups.record("default/high").announced
    assert reported.message.endswith("pod group preemption: found a placement for podgroup, preempting 1 victims")
    uid = world.api.objects["podgroups"]["default/high"]["metadata"]["uid"]
    assert world.notes("default/low", "Preempted") == [f"Preempted by podgroup {uid} on node cluster"]
    [condition] = world.api.pods["default/low"]["status"]["conditions"]
    assert (condition["type"], condition["reason"], condition["message"]) == (
        "DisruptionTarget",
        "PreemptionByScheduler",
        "muster: preempting to accommodate a higher priority podgroup",
    )
    assert condition["observedGeneration"] == 3


async def test_a_gang_that_loses_a_member_or_its_group_releases_the_evicted_capacity(world: EvictingWorld) -> None:
    world.grace = 60.0
    nodes(world, a=2)
    runs(world, "low", "a", 2)
    await world.settle()
    gang = world.gang("high", 2, priority=10)
    await world.run(3)
    assert len(world.engine.nominator) == 2
    world.delete(gang[0])
    await world.run(3)
    assert len(world.engine.nominator) == 0

    world.add(make_member("high-0", "high").priority(10))
    await world.run(3)
    world.api.delete("podgroups", "default/high")
    await world.run(3)
    assert len(world.engine.nominator) == 0


async def test_a_nomination_that_the_watch_has_not_reported_is_withdrawn_in_the_api_when_the_group_goes(
    world: EvictingWorld,
) -> None:
    """Otherwise the late report restores it, and it never ends."""
    world.grace = 60.0
    nodes(world, a=2)
    runs(world, "low", "a", 2)
    await world.settle()
    gang = world.gang("high", 2, priority=10)
    await world.run(3)
    for key in gang:
        world.api.pods[key].setdefault("status", {})["nominatedNodeName"] = "a"
    world.api.delete("podgroups", "default/high")
    await world.run(3)

    assert [world.api.pods[key]["status"].get("nominatedNodeName") for key in gang] == [None, None]
    assert len(world.engine.nominator) == 0


async def test_a_member_beyond_the_quorum_preempts_by_itself_once_the_others_have_nodes(world: EvictingWorld) -> None:
    nodes(world, a=3)
    runs(world, "low", "a")
    world.gang("gang", 3, priority=10, min_member=2)
    await world.run(30)

    assert world.evicted == ["default/low"]
    assert len(world.bound("gang")) == 3
    world.check()


async def test_a_gang_that_stayed_because_its_evictions_failed_is_still_evicted_whole_or_not(
    world: EvictingWorld,
) -> None:
    world.grace = 0.0
    nodes(world, a=2)
    gang_runs(world, "low", 2, "a", "a")
    world.fail_delete |= {"default/low-0", "default/low-1"}
    world.add(plain("first").priority(10))
    await world.run(0.1)
    assert world.evicted == []
    world.delete("default/first")
    world.fail_delete.clear()
    world.add(plain("second").priority(10))
    await world.run(5)

    assert sorted(world.evicted) == ["default/low-0", "default/low-1"]
    world.check()
