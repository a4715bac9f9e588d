"""PreEnqueue: a pod whose label names no PodGroup waits outside of the queue, says so once, and costs nothing."""

from functools import partial
from typing import Any

import pytest

from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

UNSEEN = 'waiting for pods\'s pod group "g" to appear in scheduling queue'


def renumber(number: int, pod: dict[str, Any]) -> None:
    pod["metadata"]["labels"].update(n=str(number))


async def test_a_pod_of_no_group_is_not_held_back(world: World) -> None:
    world.add_nodes(make_node("a"))
    [key] = world.add(make_pod("p"))
    await world.settle()

    assert world.node_of(key) == "a"


async def test_a_label_that_names_no_podgroup_waits_gated_with_one_event(world: World) -> None:
    world.add_nodes(make_node("a"))
    [key] = world.add(make_member("g-0", "g"))
    await world.run(1000)

    assert world.notes(key) == [UNSEEN]
    assert world.places() == {"gated": 1}
    assert key not in world.conditions


async def test_every_pod_that_waits_for_its_podgroup_gets_an_event_of_its_own(world: World) -> None:
    keys = world.add(*make_members("g", 3))
    await world.run(2)

    assert [world.notes(key) for key in keys] == [[UNSEEN]] * 3


async def test_pods_that_change_while_they_wait_are_not_reported_again(world: World) -> None:
    [key] = world.add(make_member("g-0", "g"))
    for number in range(5):
        world.api.change("pods", key, partial(renumber, number))
        await world.run(10)

    assert world.notes(key) == [UNSEEN]


async def test_nothing_is_said_when_the_podgroup_comes_a_moment_after_its_pods(world: World) -> None:
    [key] = world.add(make_member("g-0", "g"))
    await world.run(0.9)
    world.add_group("g", 2)
    await world.run(10)

    assert UNSEEN not in world.notes(key)


async def test_a_pod_whose_label_names_another_podgroup_that_does_not_exist_gets_an_event(world: World) -> None:
    [key] = world.add(make_member("p", "g"))
    await world.run(5)
    world.relabel(key, "h")
    await world.run(5)

    assert world.notes(key) == [UNSEEN, UNSEEN.replace('"g"', '"h"')]


async def test_a_pod_that_is_gone_before_its_report_is_not_reported(world: World) -> None:
    [key] = world.add(make_member("g-0", "g"))
    await world.settle()
    world.delete(key)
    await world.run(5)

    assert world.notes(key) == []


async def test_a_pod_that_leaves_its_missing_podgroup_starts_alone_and_is_not_reported(world: World) -> None:
    world.add_nodes(make_node("a"))
    [key] = world.add(make_member("p", "g"))
    await world.settle()
    world.relabel(key, "")
    await world.run(5)

    assert world.node_of(key) == "a"
    assert UNSEEN not in world.notes(key)


async def test_nothing_is_reported_before_the_process_may_report_and_everything_afterwards(world: World) -> None:
    reporting = False
    world.may_report = lambda: reporting
    world.add(*make_members("late", 2))
    keys = world.add(*make_members("g", 2))
    await world.run(60)
    world.add_group("late", 2)
    await world.run(1)
    assert not [note for _, _, note in world.events if note.startswith("waiting for")]

    reporting = True
    await world.run(2)
    assert [world.notes(key) for key in keys] == [[UNSEEN]] * 2


async def test_the_podgroup_lets_its_pods_in_at_once(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add(*make_members("g", 3))
    await world.run(30)
    world.add_group("g", 3)
    await world.settle()

    assert len(world.bound("g")) == 3


async def test_the_same_name_in_another_namespace_is_another_group(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add(*make_members("g", 2, namespace="one"))
    world.add_group("g", 2, namespace="two")
    await world.run(60)

    assert world.bound() == []
    assert world.places() == {"gated": 2}


async def test_a_podgroup_that_goes_before_its_pods_were_tried_gates_them_and_says_so(world: World) -> None:
    key = world.add_group("g", 3)
    [pod] = world.add(make_member("g-0", "g"))
    world.api.delete("podgroups", key)
    world.add_nodes(make_node("a"))
    await world.run(60)

    assert world.bound() == []
    assert world.places() == {"gated": 1}
    assert world.notes(pod)[-1] == UNSEEN

    world.add_group("g", 1)
    await world.settle()
    assert world.bound() == [pod]


async def test_a_recreated_podgroup_is_reported_as_missing_after_it_is_deleted_again(world: World) -> None:
    [pod] = world.add(make_member("g-0", "g"))
    await world.run(5)
    for _ in range(2):
        key = world.add_group("g", 2)
        await world.run(5)
        world.api.delete("podgroups", key)
        world.delete(pod)
        world.add(make_member("g-0", "g"))
        await world.run(5)

    assert world.notes(pod).count(UNSEEN) == 3


@pytest.mark.parametrize("label", ["pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.ming.io"])
async def test_the_older_labels_name_a_group_too(world: World, label: str) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    world.add(make_pod("old").labels({label: "g"}))
    await world.run(1)
    assert world.bound() == []

    world.add(make_member("new", "g"))
    await world.settle()
    assert len(world.bound()) == 2


async def test_of_several_labels_the_current_one_counts(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("new", 1)
    [key] = world.add(make_member("p", "new").labels({"pod-group.scheduling.sigs.k8s.io": "old"}))
    await world.settle()

    assert world.bound() == [key]


async def test_an_empty_label_names_no_group(world: World) -> None:
    world.add_nodes(make_node("a"))
    [key] = world.add(make_member("p", ""))
    await world.settle()

    assert world.bound() == [key]


async def test_a_pod_that_waits_for_its_podgroup_is_free_once_its_label_is_gone(make_world: MakeWorld) -> None:
    world = make_world()
    world.add_nodes(make_node("a"))
    [key] = world.add(make_member("p", "g"))
    await world.run(5)
    world.api.change("pods", key, lambda pod: pod["metadata"]["labels"].clear())
    await world.settle()

    assert world.bound() == [key]
