"""A backlog of thousands in a storm of events, or of errors: no pod is tried without cause, and none is lost."""

import asyncio
from collections import Counter
from random import Random

import pytest

from muster.framework.metrics import Labels
from muster.framework.model.pod_info import PodInfo
from muster.testing import VirtualScheduler
from tests.builders import NodeDict, PodDict, make_node, make_pod

pytestmark = pytest.mark.slow

_NODES, _SIGNATURES, _PER_SECOND, _SECONDS = 20, 200, 200, 20


def node(number: int) -> NodeDict:
    """One that other schedulers' pods fill but for a core."""
    return make_node(f"node-{number}", cpu="8").zone(f"zone-{number % 3}")


def running(number: int) -> PodDict:
    """A pod of another scheduler that takes a whole node but for a core."""
    return make_pod(f"running-{number}").requests(cpu="7").scheduler("other").node(f"node-{number}")


def unschedulable(number: int) -> PodDict:
    """One of 200 signatures, refused for as many different reasons as a storm of events could touch."""
    kind, pod = number % _SIGNATURES, make_pod(f"pod-{number:05}")
    match kind % 4:
        case 0:
            return pod.requests(cpu=f"{2000 + kind}m")
        case 1:
            return pod.requests(cpu=f"{1 + kind}m").node_selector({"disk": "fast"})
        case 2:
            return pod.requests(cpu=f"{1 + kind}m", **{"example.com/gpu": "1"})
        case _:
            return pod.requests(cpu=f"{2000 + kind}m").spread("zone", {"app": "web"})


def test_no_pod_is_tried_that_no_event_can_help() -> None:
    """10,000 pods, 200 events a second that concern none of them, and plain pods that come meanwhile."""

    async def play() -> tuple[dict[Labels, int], dict[Labels, int]]:
        world, random = VirtualScheduler(), Random(1)
        attempts = world.metrics.schedule_attempts
        world.add_nodes(*map(node, range(_NODES)))
        world.add(*map(running, range(_NODES)))
        world.add(*map(unschedulable, range(10_000)))
        await world.run(30.0)
        assert world.places() == {"unschedulable": 10_000}
        before = dict(attempts.values())
        for second in range(_SECONDS):
            for number in range(_PER_SECOND):
                _storm(world, random, second * _PER_SECOND + number)
            world.add(make_pod(f"plain-{second}").requests(cpu="1m"))
            await world.run(1.0)
        assert world.places() == {"unschedulable": 10_000}
        return before, dict(attempts.values())

    before, after = asyncio.run(play())
    assert after == {**before, ("scheduled", "muster"): before.get(("scheduled", "muster"), 0) + _SECONDS}


def _storm(world: VirtualScheduler, random: Random, number: int) -> None:
    """Something happens that lets none of them fit."""
    name = f"node-{random.randrange(_NODES)}"
    match number % 5:
        case 0:
            world.api.change("nodes", name, lambda found: found["metadata"]["labels"].update(beat=str(number)))
        case 1:
            conditions = [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-01T00:00:{number % 60:02}Z"}
            ]
            world.api.change("nodes", name, lambda found: found["status"].update(conditions=conditions))
        case 2:
            key = f"default/running-{random.randrange(_NODES)}"
            world.api.change(
                "pods", key, lambda found: found["metadata"].setdefault("labels", {}).update(app=str(number))
            )
        case 3:
            world.add(make_pod("passing").requests(cpu="10m").scheduler("other").node(name))
        case _:
            world.delete("default/passing")


def test_pods_whose_binding_fails_for_a_minute_come_back_scattered_and_are_all_bound() -> None:
    """2,000 pods and an API that answers 500 to every Binding."""
    pods, seconds = 2_000, 60

    async def play() -> tuple[VirtualScheduler, list[int]]:
        world = VirtualScheduler(seed=1)
        tries: Counter[int] = Counter()

        def fail(pod: PodInfo, node: str) -> str | None:
            now = int(world.clock.now() - began)
            tries[now] += 1
            return "an error on the server has prevented the request from succeeding" if now < seconds else None

        world.add_nodes(*(make_node(f"node-{number}", cpu="100", pods="1000") for number in range(5)))
        world.api.fail_binding = fail
        began = world.clock.now()
        world.add(*(make_pod(f"pod-{number:04}") for number in range(pods)))
        await world.run(seconds + 30.0)
        return world, [tries[second] for second in range(seconds)]

    world, tries = asyncio.run(play())
    assert len(world.api.bindings) == len({key for key, _, _ in world.api.bindings}) == pods
    assert world.places() == {}
    world.check()
    assert sum(tries) < pods * 10
    assert max(tries[seconds // 2 :]) < pods / 2, tries
