"""Random histories with kubelets that give pods any zone with room, and agents whose reports are late."""

import random

import pytest

from muster.framework.contract import PodInfo
from tests.noderesourcetopology.objects import RESTRICTED, SINGLE
from tests.noderesourcetopology.world import NumaWorld

ZONES, CPUS = 2, 6


class PlayedKubelets:
    """The kubelets and agents of all nodes.

    Attributes:
        failed: the pods that found no zone when they were bound.
    """

    def __init__(self, world: NumaWorld, drawn: random.Random) -> None:
        self.failed: list[str] = []
        self._world = world
        self._drawn = drawn
        self._free = {name: [CPUS] * ZONES for name in world.names}
        self._held: dict[str, tuple[str, int, int]] = {}
        self._late: list[tuple[str, list[int], list[tuple[str, str]]]] = []
        self._policies = {name: drawn.choice((SINGLE, RESTRICTED)) for name in world.names}
        self._scopes = {name: drawn.choice(("pod", "container")) for name in world.names}
        world.api.fail_binding = self.admit

    def admit(self, pod: PodInfo, node: str) -> None:
        """A pod is bound to a node, and gets a zone with room."""
        self._release()
        cpus, free = pod.signature.requests["cpu"] // 1000, self._free[node]
        zones = [zone for zone in range(ZONES) if free[zone] >= cpus]
        if not zones:
            self.failed.append(pod.key)
            return
        zone = self._drawn.choice(zones)
        free[zone] -= cpus
        self._held[pod.key] = node, zone, cpus

    def look(self, node: str) -> None:
        """The agent of a node reads what pods have; its report will arrive later."""
        self._release()
        pods = [_names(key) for key, held in self._held.items() if held[0] == node]
        self._late.append((node, [*self._free[node]], pods))

    def deliver(self) -> None:
        """The oldest report arrives."""
        if self._late:
            node, free, pods = self._late.pop(0)
            taken = tuple(str(CPUS - cpus) for cpus in free)
            more = {"policy": self._policies[node], "scope": self._scopes[node]}
            self._world.report(node, *map(str, free), taken=taken, pods=pods, **more)

    def catch_up(self) -> None:
        """All agents report what is the case."""
        while self._late:
            self.deliver()
        for node in self._world.names:
            self.look(node)
            self.deliver()

    def has_room(self, cpus: int) -> bool:
        """Whether any zone of any node has so many free cpus."""
        self._release()
        return any(free >= cpus for zones in self._free.values() for free in zones)

    def _release(self) -> None:
        """Pods that are gone give their zone back."""
        for key in self._held.keys() - self._world.api.pods.keys():
            node, zone, cpus = self._held.pop(key)
            self._free[node][zone] += cpus


@pytest.mark.parametrize("seed", range(25))
async def test_every_pod_that_is_bound_finds_a_zone_and_none_waits_for_a_zone_that_is_known_to_be_free(
    seed: int,
) -> None:
    drawn = random.Random(seed)
    world = NumaWorld(nodes=2, zones=ZONES, cpus=CPUS)
    kubelets = PlayedKubelets(world, drawn)
    kubelets.catch_up()
    singles: dict[str, int] = {}
    for number in range(40):
        match drawn.choice(("pod", "pod", "gang", "delete", "look", "look", "deliver", "deliver", "restart")):
            case "pod":
                cpus, priority = drawn.randint(1, 4), drawn.choice((0, 0, 0, 5))
                [key] = world.come(f"p{number}", cpu=str(cpus), priority=priority)
                singles[key] = cpus
            case "gang":
                world.gang(f"g{number}", drawn.randint(2, 4), cpu=str(drawn.randint(1, 3)))
            case "delete":
                if world.api.pods:
                    world.delete(drawn.choice([*world.api.pods]))
            case "look":
                kubelets.look(drawn.choice(world.names))
            case "deliver":
                kubelets.deliver()
            case "restart":
                await world.kill()
                world.start()
        await world.run(drawn.choice((0.0, 1.0, 15.0)))
    world.delete(*(key for key in [*world.api.pods] if key not in singles and not world.node_of(key)))
    for _ in range(10):
        kubelets.catch_up()
        await world.run(20.0)
    assert kubelets.failed == []
    waiting = {key: cpus for key, cpus in singles.items() if key in world.api.pods and not world.node_of(key)}
    assert {key: cpus for key, cpus in waiting.items() if kubelets.has_room(cpus)} == {}
    assert len(world.api.bindings) > 8


def _names(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
