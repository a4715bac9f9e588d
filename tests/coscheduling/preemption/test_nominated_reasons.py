"""A pod or gang that waits for its victims reports what has come to stop it meanwhile, and nothing else."""

import pytest

from tests.builders import make_node, make_pod
from tests.coscheduling.preemption.evicting import EvictingWorld

HALF_A_MINUTE = 30.0
TAINTS = [{"key": "broken", "effect": "NoSchedule"}]


async def preempting(kind: str) -> tuple[EvictingWorld, str]:
    """A cluster where a pod, or a gang of two, waits on node `a` for victims that do not end; the key of one pod."""
    world = EvictingWorld()
    world.grace = None
    world.add_nodes(make_node("a", cpu="4"))
    world.fill("a", 4)
    if kind == "gang":
        key = world.gang("gang", 2, priority=10)[0]
    else:
        [key] = world.add(make_pod("solo").requests(cpu="2").priority(10))
    await world.run(20.0)
    assert len(world.evicted) == 2
    assert world.conditions[key][2] == "a"
    return world, key


def attempts(world: EvictingWorld) -> set[int]:
    return {line.attempts for line in world.engine.queue.contents.dump()}


@pytest.mark.parametrize("kind", ["pod", "gang"])
async def test_a_taint_on_the_node_where_victims_end_is_reported(kind: str) -> None:
    world, key = await preempting(kind)
    world.api.change("nodes", "a", lambda node: node["spec"].update(taints=TAINTS))
    await world.run(HALF_A_MINUTE)

    _, message, _ = world.conditions[key]
    assert "untolerated taint" in message
    assert "Insufficient cpu" not in message
    assert len(world.evicted) == 2


@pytest.mark.parametrize("kind", ["pod", "gang"])
async def test_a_preemptor_is_not_tried_while_nothing_new_stops_it(kind: str) -> None:
    world, _ = await preempting(kind)
    before = attempts(world)
    for number in range(6):
        world.add(make_pod(f"other-{number}").requests(cpu="0").node("a"))
        await world.run(HALF_A_MINUTE)

    assert attempts(world) == before
