"""Asking why changes nothing: a scheduler that is asked hundreds of times decides as one that is not."""

from collections.abc import Callable
from typing import Any

import pytest

from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.scheduler.explain import explain
from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

TIMES = 200


def many_groups(world: World) -> None:
    """Groups in every state that asking could disturb: short, hopeless, incomplete, gated, missing, reserving."""
    world.add_nodes(make_node("a", cpu="8"), make_node("b", cpu="8").taint("dedicated"))
    world.add_group("short", 2, min_resources={"cpu": "20"})
    world.add_group("hopeless", 3)
    world.add_group("incomplete", 3)
    world.add_group("gated", 2)
    world.add_group("app", 1, min_resources={"cpu": "4"}, timeout=30)
    world.add(
        *make_members("short", 2),
        *make_members("hopeless", 3, cpu="5"),
        *make_members("incomplete", 2),
        make_member("gated-0", "gated"),
        make_member("gated-1", "gated").gate("x"),
        make_member("app-driver", "app"),
        make_member("orphan", "nowhere"),
        make_pod("alone").requests(cpu="1"),
        make_pod("large").requests(cpu="30"),
    )


async def later(world: World) -> None:
    """What happens after the questions, each of which would be decided otherwise had they left anything behind."""
    await world.run(2)
    world.add_group("nowhere", 1)
    world.add(make_member("incomplete-2", "incomplete"))
    await world.run(5)
    world.add_nodes(make_node("c", cpu="16"))
    world.change_group("default/gated", minMember=1)
    await world.run(40)
    world.delete("default/alone")
    await world.run(120)


def ask(world: World) -> None:
    """Ask about every pod that there is, by turns, each a dozen times and more."""
    pods = [info for key in world.api.pods if (info := world.engine.known.get(key)) is not None]
    algorithm = world.engine.algorithms["muster"]
    for number in range(TIMES if pods else 0):
        pod = pods[number % len(pods)]
        explain(algorithm, pod)
        world.plugin().pre_enqueue(pod)
        if number % 20 == 0:
            found = algorithm.find_nodes_that_fit(AttemptState(), pod)
            assert found is not None


def seen(world: World) -> dict[str, Any]:
    """All that the scheduler did, and all that it waits for."""
    return {
        "nodes": {key: pod["spec"].get("nodeName", "") for key, pod in world.api.pods.items()},
        "events": [*world.events],
        "conditions": dict(world.conditions),
        "queue": [str(line) for line in world.engine.queue.contents.dump()],
        "announced": {group: world.groups.record(group).announced for group in world.groups},
        "states": {group: repr(world.groups.state(group)) for group in world.groups},
        "incomplete": {group for group in world.groups if world.groups.record(group).left_out_members},
        "denied": {group for group in world.groups if world.groups.is_denied(group)},
        "permitted": {group for group in world.groups if world.groups.has_min_resources(group)},
        "reserved": {group: world.groups.min_resources.of(group) for group in world.groups},
        "due": world.clock.next_due(),
    }


@pytest.mark.parametrize("seconds", [0, 0.3, 1.5, 3.5, 20])
@pytest.mark.parametrize("args", [{}, {"placement": "PodByPod"}, {"podGroupBackoffSeconds": 5}])
async def test_hundreds_of_questions_change_no_decision(
    make_world: MakeWorld, args: dict[str, object], seconds: float
) -> None:
    asked, left_alone = make_world(args), make_world(args)
    for world in (asked, left_alone):
        many_groups(world)
        await world.run(seconds)
    before = seen(asked)
    ask(asked)

    assert seen(asked) == before
    for world in (asked, left_alone):
        await later(world)
    assert seen(asked) == seen(left_alone)


@pytest.mark.parametrize("when", [lambda world: None, ask], ids=["nobody asks", "somebody asks"])
async def test_members_added_while_the_group_is_explained_start_with_the_last_of_them(
    make_world: MakeWorld, when: Callable[[World], None]
) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("g", 3, min_resources={"cpu": "3"})
    for number in range(3):
        when(world)
        world.add(make_member(f"g-{number}", "g"))
        when(world)
        await world.settle()

    assert len(world.bound("g")) == 3
