"""A static snapshot of a cluster: an engine that knows the objects and decides, but writes and binds nothing."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

from muster.framework.contract import Status, WatchedKind
from muster.framework.contract.extender import Extender
from muster.framework.embedded.clock import VirtualClock
from muster.framework.embedded.known import KnownObjects
from muster.framework.embedded.silent import Silent
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports
from muster.operator.process.settings import Assembly


def frozen_engine(
    assembly: Assembly,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    objects: Mapping[WatchedKind, Iterable[Any]] | None = None,
    *,
    extenders: Sequence[Extender] = (),
) -> Engine:
    """An engine that has seen these nodes, pods and objects of the kinds that its plugins watch.

    The engine has these extenders but does not call them; `explain_with` does.

    Raises QuantityError if an amount in an object cannot be parsed.
    """
    still = _Still()
    listers = {kind.resource: KnownObjects() for kind in assembly.watched()}
    ports = Ports(
        clock=VirtualClock(0.0, time.time()),
        random=lambda: 1.0,
        spawn=still.spawn,
        wake=lambda: None,
        binder=still,
        conditions=still,
        events=lambda _: still,
        listers=listers,
        extenders=extenders,
    )
    engine = build_engine(assembly.configuration, assembly.profiles, assembly.registry, ports)
    for node in nodes:
        engine.node_handler.on_add(node)
    for kind, handler in engine.object_handlers.items():
        known = listers[kind.resource]
        for obj in (objects or {}).get(kind, ()):
            known.put(obj)
            handler.on_add(obj)
    for pod in pods:
        engine.pod_handler.on_add(pod)
    return engine


class _Still(Silent):
    """The ports of an engine to which nothing happens.

    Time stands still, later than any time in the cluster's objects: pods without a start time are the youngest.
    """

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        work.close()

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        raise RuntimeError("nothing is bound in a frozen engine")
