"""Preemption between namespaces decides in random histories as if it kept nothing of earlier searches and claims."""

from functools import partial
from random import Random
from typing import Any, NamedTuple

import pytest

from muster.plugins.capacityscheduling.borrowed import BorrowedPods
from muster.plugins.defaultpreemption.memory import Recollection
from tests.capacityscheduling.world import QuotaWorld

_ROUNDS = 60
_NAMESPACES = ("ml", "dev", "web", "free")
"""All but the last have quotas."""


class Reported(NamedTuple):
    """What the scheduler has done so far: each of it by the pod's key, but for the pods that it has evicted."""

    evicted: list[str]
    nodes: dict[str, str]
    nominated: dict[str, str]
    conditions: dict[str, tuple[str, str, str | None]]


class History:
    """Pods of a few kinds that come to all namespaces, and whatever may change what they claim from one another."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._world = world = QuotaWorld(seed=seed)
        self._groups: dict[str, int] = {}
        self._seconds = iter(range(3600))
        world.grace = 20.0
        world.random = lambda: 0.5  # so that where a search begins does not depend on how many came before
        world.nodes(5, cpu="3")
        for namespace in _NAMESPACES[:-1]:
            self._set_quota(namespace)

    async def play(self) -> list[Reported]:
        """What the scheduler had done after each round."""
        reported = []
        for number in range(_ROUNDS):
            self._happen(number)
            await self._world.run(self._random.choice([0.0, 0.1, 1.0, 15.0]))
            reported.append(self._report())
        return reported

    def _happen(self, number: int) -> None:
        random, world = self._random, self._world
        running = sorted(key for key in world.api.pods if world.node_of(key))
        match random.randrange(12):
            case 0:
                self._set_quota(random.choice(_NAMESPACES[:-1]))
            case 1:
                namespace, size = random.choice(_NAMESPACES[:-1]), random.randint(2, 4)
                self._start(*world.gang(namespace, f"gang-{number}", size))
                self._groups[f"{namespace}/gang-{number}"] = size
            case 2 if self._groups:
                group = random.choice(sorted(self._groups))
                world.change_group(group, minMember=random.randint(1, self._groups[group]))
            case 3 if running:
                world.delete(random.choice(running))
            case 4 if running:
                world.terminate(random.choice(running))
            case 5 | 6 if running:
                self._start(random.choice(running))
            case _:
                cpu, priority = random.choice("12"), random.choice([0, 0, 10])
                for namespace in random.sample(_NAMESPACES, 2):
                    names = (f"{number}-{each}" for each in range(random.randint(1, 3)))
                    self._start(*world.come(namespace, *names, cpu=cpu, priority=priority))

    def _set_quota(self, namespace: str) -> None:
        self._world.add_quota(namespace, min={"cpu": str(self._random.randint(1, 8))})

    def _start(self, *keys: str) -> None:
        """The pods have run since some time: no two since the same, as it is open which of two equal pods goes."""
        for key in keys:
            minute, second = divmod(next(self._seconds), 60)
            at = f"2026-01-01T{self._random.randrange(24):02}:{minute:02}:{second:02}Z"
            self._world.api.change("pods", key, partial(_starts, at))

    def _report(self) -> Reported:
        world = self._world
        nominated = {
            key: world.engine.nominator.nominated_node(pod["metadata"]["uid"]) for key, pod in world.api.pods.items()
        }
        nodes = {key: world.node_of(key) for key in world.api.pods}
        return Reported([*world.evicted], nodes, nominated, dict(world.conditions))


def _starts(at: str, pod: dict[str, Any]) -> None:
    pod.setdefault("status", {}).update(startTime=at)


async def test_the_same_pods_are_evicted_as_when_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [await History(seed).play() for seed in range(12)]
    find = BorrowedPods._find
    monkeypatch.setattr(Recollection, "get", lambda self, node_name: None)
    monkeypatch.setattr(BorrowedPods, "of", lambda self, quotas: [find(self, each) for each in quotas])
    without = [await History(seed).play() for seed in range(12)]

    assert kept == without
    assert sum(bool(history[-1].evicted) for history in kept) > 6
