"""Searches for devices that take long, and a cluster in which they are counted."""

from typing import Any

import msgspec
import pytest

from muster.framework.contract import WatchedKind
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.scheduler.engine import Engine
from muster.operator.explain.frozen_engine import frozen_engine
from muster.operator.process.settings import assemble, muster_configuration
from muster.plugins.dynamicresources import nodes, search
from tests.builders import PodDict, make_node
from tests.dynamicresources.objects import (
    GPU,
    Object,
    device,
    exactly,
    make_claim,
    make_class,
    make_slice,
)

_ASSEMBLY = assemble(muster_configuration())
SLOTS = 7
MOST_STEPS = nodes._STEPS_AT_ONCE + search.STEPS_IN_A_PART
"""Of searches in one step of the engine."""


def of_different_slots(count: int, name: str = "hard") -> Object:
    """A claim for so many devices of which no two are in the same slot, which takes long to find out to be too many."""
    return make_claim(name, exactly(count), constraints=[{"distinctAttribute": f"{GPU}/slot"}])


def pairs_of(slots: int, node: str, **attributes: Any) -> Object:
    """Two devices in each slot of a node."""
    devices = [device(f"d{number}", slot=number % slots, **attributes) for number in range(2 * slots)]
    return make_slice(f"gpus-{node}", *devices, node=node)


HARD = [
    make_class("gpu"),
    of_different_slots(SLOTS + 1),
    *(pairs_of(SLOTS, f"n{number}", number=number) for number in range(4)),
]


class Cluster:
    """An engine of which every step is counted: how many steps of searches it took."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *objects: Object, cpu: str = "4") -> None:
        made = [msgspec.convert(make_node(f"n{number}", cpu=cpu), Node) for number in range(4)]
        self.engine: Engine = frozen_engine(_ASSEMBLY, made, (), {})
        self.known: dict[str, tuple[WatchedKind, Any]] = {}
        self.put(*objects)
        self.steps: list[int] = []
        self._taken = 0
        step = search.Search._step

        def counted(each: search.Search) -> None:
            self._taken += 1
            step(each)

        monkeypatch.setattr(search.Search, "_step", counted)

    def put(self, *objects: Object) -> None:
        for each in objects:
            handlers = self.engine.object_handlers
            kind = next(kind for kind in handlers if kind.describes(each["apiVersion"], each["kind"]))
            name = each["metadata"]["name"]
            new = msgspec.convert(each, kind.type)
            known = self.known.get(name)
            self.known[name] = kind, new
            if known is None:
                handlers[kind].on_add(new)
            else:
                handlers[kind].on_update(known[1], new)

    def lose(self, name: str) -> None:
        kind, gone = self.known.pop(name)
        self.engine.object_handlers[kind].on_delete(gone)

    def add(self, *made: PodDict, node: str = "") -> None:
        for pod in made:
            self.engine.pod_handler.on_add(typed(pod, node))

    def step(self) -> bool:
        self._taken = 0
        self.engine.queue.flush(0.0)
        worked = self.engine.scheduler.step()
        self.steps.append(self._taken)
        return worked

    def settle(self) -> None:
        for _ in range(100_000):
            if not self.step():
                return
        raise AssertionError("it does not end")

    def message(self, name: str) -> str:
        decision = self.engine.scheduler.reports.last(f"default/{name}")
        return "" if decision is None else decision.message


def typed(pod: PodDict, node: str = "") -> Pod:
    return msgspec.convert({**pod, "spec": {**pod["spec"], "nodeName": node}}, Pod)


def placed(engine: Engine) -> dict[str, str]:
    """By name, where pods are."""
    snapshot = engine.cache.snapshot
    return {
        pod.name: snapshot.names[row] for row in snapshot.live_rows().tolist() for pod in snapshot.pods[row].values()
    }
