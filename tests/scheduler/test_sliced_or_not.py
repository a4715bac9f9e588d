"""Sliced or not, the same is decided, whatever comes in the middle of a decision."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_member
from tests.coscheduling.world import World
from tests.scheduler.slices import sliced

pytestmark = pytest.mark.slow

_GANGS = ("red", "blue")

Event = Callable[[World], object]


@st.composite
def _members(draw: st.DrawFn, gang_name: str) -> list[PodDict]:
    sizes = draw(st.lists(st.sampled_from(("1", "1", "2", "3")), min_size=1, max_size=5))
    return [make_member(f"{gang_name}-{number}", gang_name, cpu=cpu) for number, cpu in enumerate(sizes)]


@st.composite
def _events(draw: st.DrawFn) -> Event:
    pick = draw(st.integers(0, 50))

    def some_pod(world: World) -> str | None:
        keys = sorted(world.api.pods)
        return keys[pick % len(keys)] if keys else None

    def delete(world: World) -> None:
        key = some_pod(world)
        if key is not None:
            world.delete(key)

    def terminate(world: World) -> None:
        key = some_pod(world)
        if key is not None:
            world.terminate(key)

    def lose_a_node(world: World) -> None:
        names = sorted(world.api.objects["nodes"])
        if len(names) > 1:
            world.api.delete("nodes", names[pick % len(names)])

    def ask_for_more_or_less(world: World) -> None:
        groups = sorted(world.api.objects["podgroups"])
        world.change_group(groups[pick % len(groups)], minMember=1 + pick % 5)

    def forget_a_group(world: World) -> None:
        world.api.delete("podgroups", f"default/{_GANGS[pick % 2]}")

    def make_a_group(world: World) -> None:
        world.api.put("podgroups", make_group(_GANGS[pick % 2], 1 + pick % 4))

    gang_name = _GANGS[pick % 2]
    cpu = draw(st.sampled_from(("1", "2", "4", "6")))

    def create(world: World, pod: PodDict) -> None:
        if f"default/{pod.name}" not in world.api.pods:
            world.add(pod)

    plain: list[Event] = [
        lambda world: create(world, make_member(f"{gang_name}-more-{pick}", gang_name, cpu=cpu)),
        lambda world: create(world, make_pod(f"plain-{pick}").requests(cpu=cpu)),
        lambda world: world.add_nodes(make_node(f"node-{pick % 4}", cpu=cpu)),
        delete,
        terminate,
        lose_a_node,
        forget_a_group,
        make_a_group,
        make_a_group,
    ]
    if draw(st.booleans()):
        return lambda world: ask_for_more_or_less(world) if world.api.objects["podgroups"] else None
    return draw(st.sampled_from(plain))


Plan = dict[int, list[tuple[int, Event]]]
"""What happens while the decision of a number is made, each after so many of its slices."""


async def _calm(world: World) -> None:
    """Let tasks run as far as they come: in slices one takes a step in each turn of the loop, others are held up."""
    quiet = 0
    while quiet < 8:
        await world.breathe()
        quiet = 0 if world.engine.standstill.has_delayed else quiet + 1


async def _play(world: World, begin: Event, plan: Plan) -> dict[str, object]:
    """Let it happen: in the middle of decisions where they have slices, and else right after them."""
    begin(world)
    await _calm(world)
    for decision in range(8):
        coming = sorted(plan.get(decision, ()), key=lambda planned: planned[0])
        slices = 0
        world.step()
        while world.engine.scheduler.under_way:
            slices += 1
            while coming and coming[0][0] <= slices:
                coming.pop(0)[1](world)
            await asyncio.sleep(0)
            world.step()
        for _, event in coming:
            event(world)
        await _calm(world)
    await world.run(30.0)
    return {
        "bindings": world.api.bindings,
        "events": world.events,
        "conditions": world.conditions,
        "queue": [str(line) for line in world.engine.queue.contents.dump()],
        "pods": {key: pod["spec"].get("nodeName") for key, pod in world.api.pods.items()},
    }


@settings(max_examples=150, phases=[Phase.generate])
@given(
    nodes=st.lists(st.sampled_from(("2", "4", "8")), min_size=1, max_size=4),
    members=st.tuples(*(_members(name) for name in _GANGS)),
    quorums=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    singles=st.lists(st.sampled_from(("1", "3")), max_size=3),
    plan=st.dictionaries(st.integers(0, 7), st.lists(st.tuples(st.integers(1, 30), _events()), max_size=3), max_size=4),
)
async def test_events_in_the_middle_change_nothing_about_what_is_decided(
    nodes: list[str],
    members: tuple[list[PodDict], ...],
    quorums: tuple[int, int],
    singles: list[str],
    plan: Plan,
) -> None:
    def begin(world: World) -> None:
        world.add_nodes(*(make_node(f"node-{number}", cpu=cpu) for number, cpu in enumerate(nodes)))
        for name, quorum, pods in zip(_GANGS, quorums, members, strict=True):
            world.add_group(name, quorum)
            world.add(*pods)
        world.add(*(make_pod(f"single-{number}").requests(cpu=cpu) for number, cpu in enumerate(singles)))

    in_slices, at_once = sliced(), World()
    assert await _play(in_slices, begin, plan) == await _play(at_once, begin, plan)
    in_slices.check()
