"""The whole engine under random interleavings: no pod is lost, bound twice or counted twice."""

import asyncio
from collections import Counter
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.cache.recount import differences
from muster.framework.model.pod_info import PodInfo
from tests.builders import make_node, make_pod
from tests.coscheduling.preemption.evicting import EvictingWorld
from tests.coscheduling.world import World

_STEPS = (
    "pod",
    "pod",
    "pod",
    "gated pod",
    "ungate",
    "delete pod",
    "terminate pod",
    "end pod",
    "recreate pod",
    "bound by hand",
    "node",
    "change node",
    "delete node",
    "wait",
    "wait long",
    "restart",
)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(_STEPS), min_size=5, max_size=60))
def test_random_interleavings_leave_every_pod_in_its_place(seed: int, steps: list[str]) -> None:
    asyncio.run(_play(Random(seed), steps))


async def _play(random: Random, steps: list[str]) -> None:
    world = EvictingWorld(seed=random.randrange(2**32))
    bound = _bindings_of(world)
    world.latency = lambda: random.choice((0.0, 0.0, 0.01, 0.5))
    world.binder.latency = lambda: random.choice((0.0, 0.001, 0.3))
    world.api.fail_binding = lambda pod, node: "etcdserver: request timed out" if random.random() < 0.2 else None
    world.slices = lambda: random.randrange(3)
    for number, step in enumerate(steps):
        await _do(world, random, step, number)
        assert differences(world.engine.cache) == []
        _everyone_is_somewhere(world)
    world.latency = lambda: 0.0
    world.binder.latency = lambda: 0.0
    world.api.fail_binding = lambda pod, node: None
    for key in [key for key, pod in world.api.pods.items() if "deletionTimestamp" in pod["metadata"]]:
        world.delete(key)  # while a pod is on its way out, its capacity may be nominated, or nominated for it
    await world.run(400.0)
    world.check()
    _everyone_is_somewhere(world)
    assert [uid for uid, times in bound.items() if times > 1] == []
    _nobody_waits_for_nothing(world)


def _bindings_of(world: World) -> Counter[str]:
    """How often each pod, by UID, was bound; counted as it happens."""
    bound: Counter[str] = Counter()
    bind = world.api.bind

    def counting(key: str, node: str, uid: str | None = None) -> str | None:
        known = world.api.pods.get(key)
        error = bind(key, node, uid)
        if error is None and known is not None:
            bound[known["metadata"]["uid"]] += 1
        return error

    world.api.bind = counting  # type: ignore[method-assign]
    return bound


async def _do(world: World, random: Random, step: str, number: int) -> None:
    pods, nodes = list(world.api.pods), list(world.api.objects["nodes"])
    pod = random.choice(pods) if pods else None
    node = random.choice(nodes) if nodes else None
    match step:
        case "pod":
            world.add(_pod(f"p{number}", random))
        case "gated pod":
            world.add(_pod(f"p{number}", random).gate("example.com/wait"))
        case "ungate" if pod:
            world.api.change("pods", pod, lambda found: found["spec"].pop("schedulingGates", None))
        case "delete pod" if pod:
            world.delete(pod)
        case "terminate pod" if pod:
            world.terminate(pod)
        case "end pod" if pod and world.node_of(pod):
            world.set_phase(pod, "Succeeded")
        case "recreate pod" if pod:
            world.delete(pod)
            world.add(_pod(pod.partition("/")[2], random))
        case "bound by hand" if pod and node:
            world.api.bind(pod, node)
        case "node":
            world.add_nodes(make_node(f"n{number}", cpu=random.choice("24")))
        case "change node" if node:
            world.api.change("nodes", node, lambda found: found["spec"].update(unschedulable=random.random() < 0.5))
        case "delete node" if node:
            world.api.delete("nodes", node)
        case "wait":
            await world.run(random.random())
        case "wait long":
            await world.run(random.uniform(1.0, 40.0))
        case "restart":
            await world.kill()
            world.start()
    await world.settle()


def _pod(name: str, random: Random) -> Any:
    return make_pod(name).requests(cpu=random.choice(("500m", "1", "3"))).priority(random.choice((0, 0, 100)))


def _everyone_is_somewhere(world: World) -> None:
    """A pod that the scheduler has seen and that has no node waits, is being attempted, or is held on a node."""
    engine = world.engine
    for key in world.api.pods:
        seen: PodInfo | None = engine.known.get(key)
        if seen is not None and not seen.node_name and not seen.terminating:
            assert engine.queue.contents.place_of(seen.uid) is not None or engine.cache.is_assumed(seen.uid), key
    counted = Counter(info.uid for info, _ in engine.cache.placements())
    assert not [uid for uid, times in counted.items() if times > 1]


def _nobody_waits_for_nothing(world: World) -> None:
    """When all is settled, a pod without a node has gates, is on its way out, or fits nowhere."""
    free = {}
    for name, node in world.api.objects["nodes"].items():
        if not node["spec"].get("unschedulable"):
            free[name] = _millis(node["status"]["allocatable"]["cpu"])
    for pod in world.api.pods.values():
        name = pod["spec"].get("nodeName")
        if name in free and pod.get("status", {}).get("phase") != "Succeeded":
            free[name] -= _request(pod)
    for key, pod in world.api.pods.items():
        if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates") or "deletionTimestamp" in pod["metadata"]:
            continue
        assert all(room < _request(pod) for room in free.values()), key


def _request(pod: Any) -> int:
    return _millis(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _millis(cpu: str) -> int:
    return int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
