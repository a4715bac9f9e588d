"""Permit: members hold nodes until the quorum does, for as long as the group says."""

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from muster.framework.contract import CycleState, PodDecision, Status
from tests.builders import make_node, make_pod
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

POD_BY_POD = {"placement": "PodByPod"}
TIMED_OUT = "0/1 nodes are available: 1 rejected due to timeout after waiting {} at plugin Coscheduling."
STANDS_IN_WAY = "in-the-way"


async def half_placed(make_world: MakeWorld, args: Mapping[str, object] = {}, **group: object) -> World:
    """A world where one member of a group of two waits at Permit, and the other finds no node."""
    world = make_world({**POD_BY_POD, "podGroupRejectPercentage": 100, **args})
    world.add_nodes(make_node("a", cpu="2"))
    world.add(make_pod(STANDS_IN_WAY).requests(cpu="1").node("a"))
    world.add_group("g", 2, **group)
    world.add(*make_members("g", 2))
    await world.settle()
    assert len(world.engine.waiting_pods) == 1
    return world


async def test_a_pod_of_no_group_is_let_through(make_world: MakeWorld) -> None:
    world = make_world(POD_BY_POD)
    world.add_nodes(make_node("a"))
    [key] = world.add(make_pod("p"))
    await world.settle()

    assert world.bound() == [key]


async def test_a_group_of_one_is_let_through(make_world: MakeWorld) -> None:
    world = make_world(POD_BY_POD)
    world.add_nodes(make_node("a"))
    world.add_group("g", 1)
    [key] = world.add(make_member("g-0", "g"))
    await world.settle()

    assert world.bound() == [key]


async def test_a_group_that_names_no_minmember_is_let_through(make_world: MakeWorld) -> None:
    world = make_world(POD_BY_POD)
    world.add_nodes(make_node("a"))
    world.add_group("g")
    [key] = world.add(make_member("g-0", "g"))
    await world.settle()

    assert world.bound() == [key]


async def test_a_member_without_the_quorum_holds_its_node(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)

    [waiting] = world.engine.waiting_pods
    assert waiting.pending_plugins == {"Coscheduling"}
    assert world.bound("g") == []
    assert world.engine.cache.assumed_count == 1


async def test_the_member_that_completes_the_quorum_takes_all_that_wait_along(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)
    world.delete(f"default/{STANDS_IN_WAY}")
    await world.run(2)

    assert len(world.bound("g")) == 2
    world.check()


async def test_members_that_are_bound_already_count(make_world: MakeWorld) -> None:
    world = make_world(POD_BY_POD)
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    world.add(make_member("old", "g").node("a"))
    [key] = world.add(make_member("new", "g"))
    await world.settle()

    assert world.node_of(key) == "a"


async def test_members_bound_by_another_scheduler_count_for_the_members_at_permit(make_world: MakeWorld) -> None:
    world = make_world(POD_BY_POD)
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2)
    ours, theirs = world.add(make_member("ours", "g"), make_member("theirs", "g").scheduler("somebody-else"))
    await world.settle()
    assert world.node_of(ours) == ""

    world.api.bind(theirs, "a")
    await world.settle()
    assert world.node_of(ours) == "a"


async def test_the_first_member_that_gets_a_node_calls_its_siblings(make_world: MakeWorld) -> None:
    world = make_world({**POD_BY_POD, "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("small", cpu="1"))
    world.add_group("g", 2)
    keys = world.add(make_member("big", "g", cpu="2"), make_member("other", "g", cpu="2"))
    await world.run(40)
    world.add_nodes(make_node("large", cpu="4").taint("shy"))
    await world.settle()
    assert world.bound() == []
    world.api.change("nodes", "large", lambda node: node["spec"].clear())
    await world.settle()
    await world.run(10)

    assert set(world.bound()) == set(keys)


@pytest.mark.parametrize(
    ("asked", "argument", "seconds", "said"),
    [
        (10, 60, 10, "10s"),
        (None, 30, 30, "30s"),
        (0, 30, 30, "30s"),
        (None, 0, 60, "1m0s"),
        (0, 0, 60, "1m0s"),
        (3600, 60, 900, "15m0s"),
        (None, 3600, 900, "15m0s"),
    ],
    ids=[
        "what the group says",
        "what the argument says",
        "a group that says 0",
        "an argument of 0",
        "0 and 0",
        "a group that says more than a quarter of an hour",
        "an argument of more than a quarter of an hour",
    ],
)
async def test_a_member_waits_for_the_timeout_of_its_group_the_argument_or_the_default(
    make_world: MakeWorld, asked: int | None, argument: int, seconds: int, said: str
) -> None:
    world = await half_placed(make_world, {"permitWaitingTimeSeconds": argument}, timeout=asked)
    [waiting] = world.engine.waiting_pods

    await world.run(seconds - 0.5)
    assert len(world.engine.waiting_pods) == 1
    await world.run(0.6)

    assert len(world.engine.waiting_pods) == 0
    assert world.notes(waiting.pod.key)[-1] == TIMED_OUT.format(said)
    assert word(world, "g") == (
        "Timeout",
        f"pod group default/g was given up after its members waited {said} for each other",
    )
    world.check()


async def test_after_a_timeout_the_group_is_denied_and_then_tried_again(make_world: MakeWorld) -> None:
    world = await half_placed(make_world, timeout=10)
    await world.run(10.5)
    assert world.groups.is_denied("default/g")
    world.delete(f"default/{STANDS_IN_WAY}")
    await world.run(1)
    assert world.bound("g") == []

    await world.run(5)
    assert len(world.bound("g")) == 2


async def test_a_timeout_is_one_although_the_timer_fires_a_millisecond_early(make_world: MakeWorld) -> None:
    world = make_world({**POD_BY_POD, "podGroupRejectPercentage": 100})
    on_time = world.clock.call_later
    world.clock.call_later = lambda seconds, callback: on_time(seconds - 0.001, callback)  # type: ignore[method-assign]
    world.add_nodes(make_node("a", cpu="1"))
    world.add_group("g", 2, timeout=10)
    world.add(*make_members("g", 2))
    await world.run(10)

    assert word(world, "g")[0] == "Timeout"
    assert world.groups.is_denied("default/g")


async def test_each_timeout_is_posted(make_world: MakeWorld) -> None:
    world = await half_placed(make_world, timeout=10)
    posted: list[str] = []
    announcements = world.groups._announcements
    announcements._book = SimpleNamespace(mark_changed=lambda group: posted.append(word(world, "g")[0]))
    await world.run(60)

    assert posted == ["Timeout"] * 4


async def test_a_timeout_turns_all_that_wait_away_together(make_world: MakeWorld) -> None:
    world = make_world({**POD_BY_POD, "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3, timeout=10)
    [early] = world.add(make_member("early", "g"))
    world.add(make_member("never", "g").node_selector({"never": "there"}))
    [late] = world.add(make_member("late", "g").gate("x"))
    await world.settle()
    world.change_group("default/g", minMember=2, scheduleTimeoutSeconds=10)
    world.change_group("default/g", minMember=3, scheduleTimeoutSeconds=10)
    assert len(world.engine.waiting_pods) == 0  # the quorum needs the gated one

    world.api.change("pods", late, lambda pod: pod["spec"].update(schedulingGates=[], nodeSelector={"later": "yes"}))
    await world.run(5)
    assert [waiting.pod.key for waiting in world.engine.waiting_pods] == [early]
    world.api.change("nodes", "a", lambda node: node["metadata"]["labels"].update(later="yes"))
    await world.run(2)
    assert [waiting.pod.key for waiting in world.engine.waiting_pods] == [early, late]
    await world.run(4)

    assert len(world.engine.waiting_pods) == 0
    assert world.notes(early)[-1] == TIMED_OUT.format("10s")
    assert world.notes(late)[-1] == "0/1 nodes are available: 1 rejection in Unreserve."
    assert world.engine.cache.assumed_count == 0


async def test_a_lowered_min_member_allows_members_at_permit(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)
    world.change_group("default/g", minMember=1)
    await world.settle()

    assert len(world.bound("g")) == 1


async def test_members_at_permit_wait_for_a_raised_min_member(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)
    world.change_group("default/g", minMember=3)
    world.delete(f"default/{STANDS_IN_WAY}")
    await world.run(5)
    assert world.bound("g") == []

    world.add_nodes(make_node("b"))
    world.add(make_member("third", "g"))
    await world.run(5)
    assert len(world.bound("g")) == 3


async def test_without_its_podgroup_no_member_waits_at_permit(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)
    [waiting] = world.engine.waiting_pods
    world.api.delete("podgroups", "default/g")
    await world.settle()

    assert world.notes(waiting.pod.key)[-1] == "0/1 nodes are available: 1 PodGroup not found."
    assert world.engine.cache.assumed_count == 0
    await world.run(30)
    assert world.bound("g") == []


async def test_a_group_made_again_after_it_went_starts_from_nothing(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)
    world.api.delete("podgroups", "default/g")
    await world.settle()
    assert len(world.groups.record("default/g").placed) == 0
    world.add_group("g", 2)
    await world.run(5)
    assert world.bound("g") == []

    world.delete(f"default/{STANDS_IN_WAY}")
    await world.run(5)
    assert len(world.bound("g")) == 2
    world.check()


async def test_a_member_that_is_deleted_while_it_waits_is_no_part_of_the_quorum(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)
    [waiting] = world.engine.waiting_pods
    world.delete(waiting.pod.key, f"default/{STANDS_IN_WAY}")
    await world.run(30)
    assert world.bound("g") == []

    world.add(make_member("successor", "g"))
    await world.run(5)
    assert len(world.bound("g")) == 2
    world.check()


async def test_a_wait_that_ends_at_the_very_moment_of_the_quorum_makes_no_part_of_a_gang(
    make_world: MakeWorld,
) -> None:
    """The place of a member whose time has run out is given back a moment later; it must not count until then."""
    world = await half_placed(make_world, timeout=10)
    [waiting] = world.engine.waiting_pods
    world.delete(f"default/{STANDS_IN_WAY}")
    waiting.reject("Coscheduling", "time is up")
    world.engine.queue.activate([member for member in world.groups.record("default/g").unplaced_pods()])
    while world.engine.scheduler.step():
        pass
    await world.settle()

    assert len(world.bound("g")) in (0, 2)


async def test_rejected_siblings_do_not_count_for_the_quorum_before_they_are_requeued(make_world: MakeWorld) -> None:
    world = await half_placed(make_world)
    [waiting] = world.engine.waiting_pods
    [other] = world.groups.record("default/g").unplaced_pods()
    world.delete(f"default/{STANDS_IN_WAY}")
    world.plugin().on_pod_released(PodDecision(other, CycleState(), "a", Status.unschedulable("taken")))
    world.engine.queue.activate([other])
    while world.engine.scheduler.step():
        pass
    await world.breathe()

    assert world.notes(waiting.pod.key) == ["0/1 nodes are available: 1 rejection in Unreserve."]
    assert world.bound("g") == []


async def test_a_group_whose_members_all_fit_holds_nobody_and_says_nothing(make_world: MakeWorld) -> None:
    world = make_world(POD_BY_POD)
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2)
    keys = world.add(*make_members("g", 2))
    await world.settle()

    assert set(world.bound()) == set(keys)
    assert world.groups.at_permit.of("default/g") == ()
    assert world.notes(keys[0]) == world.notes(keys[1]) == []


@pytest.mark.parametrize("group", ["h", ""])
async def test_a_member_that_changes_its_group_at_permit_is_not_allowed_by_the_old_groups_quorum(
    make_world: MakeWorld, group: str
) -> None:
    world = make_world({**POD_BY_POD, "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("a", cpu="8"))
    world.add_group("g", 3)
    world.add_group("h", 2)
    [leaver, *_] = world.add(*make_members("g", 2), make_member("big", "g", cpu="100"))
    await world.run(5)
    world.relabel(leaver, group)
    world.add(*(make_member(name, "g") for name in ("g-8", "g-9")))
    await world.run(10)

    assert set(world.bound("g")) == {"default/g-1", "default/g-8", "default/g-9"}
    assert world.notes(leaver)[0] == "0/1 nodes are available: 1 pod left its pod group while it waited."
    assert (leaver in world.bound()) is (not group)
