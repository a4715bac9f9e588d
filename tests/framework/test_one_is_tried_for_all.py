"""Of pods of one signature that no node could take one is tried for all, and only the number of attempts changes."""

import asyncio
from contextlib import nullcontext
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muster.framework.queue.entity import NO_BACKOFF
from muster.framework.queue.policy import BackoffPolicy
from muster.framework.runtime.plugin_set import ProfilePlugins
from tests.builders import make_node, make_pod
from tests.coscheduling.world import World

_HOST = "kubernetes.io/hostname"
_STEPS = ("pods", "pods", "end pod", "end pod", "delete pod", "node", "cordon", "uncordon")


_OVER = 12.5
"""Seconds after which no pod backs off, unless a review had it tried again. With what that takes, as many steps as are
taken last less than the time limit of waiting pods."""


@pytest.mark.parametrize("backoff", [False, True], ids=["without backoff", "once backoff is over"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.lists(st.sampled_from(_STEPS), min_size=5, max_size=18))
@example(seed=0, steps=["pods", "pods", "pods", "pods", "cordon", "node"])
def test_the_same_pods_get_the_same_nodes_as_when_each_is_tried_by_itself(
    backoff: bool, seed: int, steps: list[str]
) -> None:
    """Where backoff is under way the two may differ: a pod that was not tried is not held off."""
    together, attempts = asyncio.run(_play(Random(seed), steps, backoff))
    with (
        patch.object(ProfilePlugins, "signature_plugins", lambda self, registrations: frozenset()),
        patch.object(ProfilePlugins, "class_plugins", lambda self, registrations: frozenset()),
    ):
        alone, more_attempts = asyncio.run(_play(Random(seed), steps, backoff))

    assert together == alone
    assert attempts <= more_attempts


def test_a_backlog_costs_signatures_not_pods() -> None:
    async def play() -> int:
        world = World()
        world.add_nodes(make_node("a", cpu="4"))
        world.add(*(make_pod(f"running-{number}").requests(cpu="1") for number in range(4)))
        await world.settle()
        world.add(*(make_pod(f"{cpu}-{number}").requests(cpu=f"{cpu}") for number in range(50) for cpu in (2, 3)))
        await world.run(60.0)
        before = _refused(world)
        for number in range(3):
            world.set_phase(f"default/running-{number}", "Succeeded")
            await world.run(20.0)
        assert sum(1 for key in world.bound() if not key.startswith("default/running")) == 1
        return _refused(world) - before

    assert asyncio.run(play()) <= 2 * 3 + 2


@pytest.mark.parametrize("wish", ["apart", "spread"])
def test_a_backlog_of_pods_that_look_at_others_costs_kinds_of_pods_not_pods(wish: str) -> None:
    async def play() -> int:
        world = World()
        world.add_nodes(make_node("a"), make_node("b"))
        for app in ("x", "y"):
            pods = [make_pod(f"{app}-{number:02}").labels(app=app) for number in range(50)]
            if wish == "spread":
                world.add(*(pod.spread(_HOST, {"app": app}, minDomains=5) for pod in pods))
            else:
                world.add(*(pod.apart(_HOST, {"app": app}) for pod in pods))
        await world.run(60.0)
        assert len(world.bound()) == 4
        before = _refused(world)
        for name in ("c", "d"):
            world.add_nodes(make_node(name))
            await world.run(20.0)
        assert len(world.bound()) == 8
        return _refused(world) - before

    assert asyncio.run(play()) <= 2 * 2 * 2


def _refused(world: World) -> int:
    """How many attempts found no node."""
    return world.metrics.schedule_attempts.values().get(("unschedulable", "muster"), 0)


async def _play(random: Random, steps: list[str], backoff: bool) -> tuple[list[dict[str, str]], int]:
    """Where all pods are after each step, and how many attempts were in vain."""
    world = World()
    world.add_nodes(make_node("first", cpu="2"))
    seen = []
    with nullcontext() if backoff else patch.object(BackoffPolicy, "until", lambda self, entity: NO_BACKOFF):
        for number, step in enumerate(steps):
            _do(world, random, step, number)
            await world.run(_OVER if backoff else random.choice((0.0, 0.3, 1.5)))
            if backoff:
                while _backs_off(world):
                    await world.run(1.0)
            seen.append({key: world.node_of(key) for key in world.bound()})
        await world.run(400.0)
    world.check()
    return [*seen, {key: world.node_of(key) for key in world.bound()}], _refused(world)


def _backs_off(world: World) -> bool:
    """Whether the backoff of any pod that waits is under way: a review may have had it tried again."""
    batches, entities = world.engine.queue.contents.unschedulable()
    waiting = [*entities, *(entity for batch in batches for entity in batch)]
    return world.places()["backoff"] > 0 or any(entity.is_backing_off(world.clock.now()) for entity in waiting)


def _do(world: World, random: Random, step: str, number: int) -> None:
    pods, nodes = sorted(world.api.pods), sorted(world.api.objects["nodes"])
    match step:
        case "pods":
            for index in range(random.choice((1, 3, 6))):
                world.add(_pod(f"p{number:02}-{index}", random))
        case "end pod":
            for key in random.sample(pods, min(len(pods), 2)):
                if world.node_of(key):
                    world.set_phase(key, "Succeeded")
        case "delete pod" if pods:
            world.delete(random.choice(pods))
        case "node":
            world.add_nodes(make_node(f"n{number:02}", cpu=random.choice("124")))
        case "cordon" | "uncordon":
            name = random.choice(nodes)
            cordoned = step == "cordon"
            world.api.change("nodes", name, lambda found: found["spec"].update(unschedulable=cordoned))


def _pod(name: str, random: Random) -> Any:
    """Pods of one priority: one that could evict others would be tried for itself alone."""
    return make_pod(name).requests(cpu=random.choice(("500m", "1", "2", "3")))
