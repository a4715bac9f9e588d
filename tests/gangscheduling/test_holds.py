"""Held groups of scheduling.k8s.io, and held groups of groups, decided by the whole engine in virtual time."""

from typing import Any

import pytest

from muster.framework.groups.holds import HOLD, RESUMED_BY
from muster.plugins.gangscheduling import messages
from muster.plugins.gangscheduling.record import NativePodGroupReason
from muster.plugins.gangscheduling.reporting import NativePodGroupReporter
from tests.builders import make_node
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, World, make_members

HELD = "pod group default/train is held: rack 4 moves"
JOB_HELD = "composite pod group default/job is held: rack 4 moves"


def annotate(world: World, kind: str, key: str, reason: str | None, *, by: str = "") -> None:
    """A group is held, or resumed `by` a user without a reason."""

    def change(found: dict[str, Any]) -> None:
        annotations = found["metadata"].setdefault("annotations", {})
        if reason is None:
            annotations.pop(HOLD)
            annotations[RESUMED_BY] = by
        else:
            annotations[HOLD] = reason

    world.api.change(kind, key, change)


def hold(world: World, key: str, kind: str = KIND) -> None:
    annotate(world, kind, key, "rack 4 moves")


def resume(world: World, key: str, kind: str = KIND, *, by: str = "") -> None:
    annotate(world, kind, key, None, by=by)


def gang_world() -> tuple[World, str]:
    """A gang of three with capacity for it, held before its pods came."""
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    train = world.add_group("train", 3)
    hold(world, train)
    return world, train


def tree_world(needed: int) -> World:
    """A tree of two gangs of two, of which so many are needed, and capacity for both."""
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    world.add_composite("job", needed)
    for name in ("left", "right"):
        world.add_group(name, 2, parentCompositePodGroupName="job")
    return world


def add_tree_pods(world: World) -> None:
    for name in ("left", "right"):
        world.add(*make_members(name, 2))


async def test_a_held_gang_is_gated_and_says_so_and_a_resume_starts_it_at_once() -> None:
    world, train = gang_world()
    world.add(*make_members("train", 3))
    await world.run(600)
    assert world.places() == {"gated": 3}
    assert {*world.conditions.values()} == {("SchedulingGated", HELD, None)}
    assert world.reported(train) == (NativePodGroupReason.HELD, HELD)

    resume(world, train)
    await world.settle()
    assert world.bound("train") == ["train-0", "train-1", "train-2"]
    assert world.reported(train) == (NativePodGroupReason.SCHEDULED, "")
    world.check()


async def test_a_gang_that_is_about_to_be_tried_when_it_is_held_is_not_started() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    train = world.add_group("train", 3)
    world.add(*make_members("train", 3))
    hold(world, train)
    await world.run(5)
    assert world.bound("train") == []
    assert world.places() == {"gated": 3}
    assert {*world.conditions.values()} == {("SchedulingGated", HELD, None)}
    assert world.reported(train) == (NativePodGroupReason.HELD, HELD)


async def test_a_resumed_gang_that_lacks_pods_says_that_it_does() -> None:
    world, train = gang_world()
    [key] = world.add(*make_members("train", 1))
    await world.run(5)
    resume(world, train)
    await world.run(5)
    assert world.conditions[key] == ("SchedulingGated", messages.TOO_FEW, None)
    assert world.reported(train) == (
        NativePodGroupReason.UNSCHEDULABLE,
        "pod group is unschedulable, minCount (3) cannot be satisfied: 0 scheduled, 1 remaining",
    )


async def test_a_gang_that_was_resumed_while_no_scheduler_ran_is_no_longer_said_to_be_held() -> None:
    world, train = gang_world()
    [key] = world.add(*make_members("train", 1))
    await world.settle()
    await world.kill()
    condition = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Held", "message": HELD}
    world.api.change(KIND, train, lambda found: found.update(status={"conditions": [condition]}))
    said = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": HELD}
    world.api.change("pods", key, lambda pod: pod.update(status={"conditions": [said]}))
    resume(world, train)
    world.conditions.clear()
    world.start()
    await world.settle()
    assert world.conditions[key] == ("SchedulingGated", messages.TOO_FEW, None)
    assert world.reported(train) is not None


async def test_a_gang_of_another_scheduler_is_not_said_to_be_held() -> None:
    world, train = gang_world()
    world.add(*(pod.scheduler("default-scheduler") for pod in make_members("train", 3)))
    await world.settle()
    assert world.reported(train) is None


async def test_a_held_part_leaves_the_rest_of_a_tree_that_can_do_without_it() -> None:
    world = tree_world(1)
    hold(world, "default/left")
    add_tree_pods(world)
    await world.run(5)
    assert (world.bound("left"), world.bound("right")) == ([], ["right-0", "right-1"])
    assert world.places() == {"gated": 2}

    resume(world, "default/left")
    await world.run(5)
    assert world.bound("left") == ["left-0", "left-1"]
    world.check()


async def test_a_held_part_keeps_a_tree_back_that_cannot_do_without_it() -> None:
    world = tree_world(2)
    add_tree_pods(world)
    hold(world, "default/left")
    await world.run(5)
    assert world.places() == {"gated": 4}
    assert world.groups.why_not_ready("default/right") == (
        'waiting for composite pod group "job" tree to meet quorum: 1 of the 2 groups that "job" needs has its pods; '
        "pod group default/left is held: rack 4 moves"
    )

    resume(world, "default/left")
    await world.settle()
    assert (len(world.bound("left")), len(world.bound("right"))) == (2, 2)
    world.check()


@pytest.mark.parametrize("first", [True, False])
async def test_a_held_composite_holds_all_of_its_parts(first: bool) -> None:
    world = tree_world(2)
    if first:
        hold(world, "default/job", COMPOSITE_KIND)
    add_tree_pods(world)
    if not first:
        hold(world, "default/job", COMPOSITE_KIND)
    await world.run(5)
    assert world.places() == {"gated": 4}
    assert {*world.conditions.values()} == {("SchedulingGated", JOB_HELD, None)}
    assert world.reported("default/left") == world.reported("default/right") == (NativePodGroupReason.HELD, JOB_HELD)

    resume(world, "default/job", COMPOSITE_KIND)
    await world.settle()
    assert (len(world.bound("left")), len(world.bound("right"))) == (2, 2)
    world.check()


async def test_hold_and_resume_are_recorded_as_events() -> None:
    world, train = gang_world()
    world.add(*make_members("train", 3))
    reporter, told = NativePodGroupReporter(world.groups, world.clock), list[tuple[str, str, str]]()

    def report() -> None:
        found = reporter.report(train)
        assert found is not None
        told.extend((notice.type, notice.reason, notice.note) for notice in found.accepted(None))

    report()
    world.api.objects["nodes"].clear()
    resume(world, train, by="ann")
    report()
    assert told == [("Normal", "Held", HELD), ("Normal", "Resumed", f"{messages.RESUMED}. Resumed by ann")]
