"""The informers of a process, started and stopped together, and the kinds that are not synced yet."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Informer, Listed, Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from muster.framework.contract import Lister, WatchedKind
    from muster.framework.contract.handle import HasMetadata
    from muster.framework.metrics import SchedulerMetrics
    from muster.framework.scheduler.engine import Engine
    from muster.operator.kube.client import ApiClient
    from muster.operator.kube.store import ResourceEventHandler

T_contra = TypeVar("T_contra", contravariant=True, bound="HasMetadata")

_POLL_SECONDS = 0.2

PODS = Listed("/api/v1/pods", Pod, field_selector="status.phase!=Succeeded,status.phase!=Failed")
NODES = Listed("/api/v1/nodes", Node)


@dataclass(frozen=True, slots=True)
class KindInformer:
    """The informer of one kind, with a name for users."""

    name: str
    informer: Informer[Any]
    optional: bool

    @property
    def settled(self) -> bool:
        """Whether scheduling need not wait for this kind: it is listed, or optional and unreachable.

        For a kind that is not served, and that no role of the process names, the API answers Forbidden, not NotFound.
        """
        return self.informer.synced.is_set() or self._is_out_of_reach()

    async def ready(self) -> None:
        """Wait until it is settled."""
        while not self.settled:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.informer.synced.wait(), _POLL_SECONDS)

    async def refreshed(self) -> None:
        """Wait until it is listed again, or found to be optional and unreachable."""
        refresh = asyncio.ensure_future(self.informer.refresh())
        try:
            while not (refresh.done() or self._is_out_of_reach()):
                await asyncio.wait((refresh,), timeout=_POLL_SECONDS)
            if refresh.done():
                refresh.result()
        finally:
            refresh.cancel()

    def describe(self) -> str:
        error = self.informer.status.error
        return self.name if error is None else f"{self.name} ({error})"

    def _is_out_of_reach(self) -> bool:
        return self.optional and isinstance(self.informer.status.error, (NotFound, Forbidden))


class Informers:
    """The informers of pods, of nodes and of the kinds that plugins watch.

    Attributes:
        pods: the pod informer, which lists every pod that has not ended.
        listers: the informers of the kinds that plugins watch, by resource.
    """

    def __init__(
        self,
        client: ApiClient,
        engine: Engine,
        metrics: SchedulerMetrics,
        timing: Timing,
        *,
        more: Mapping[str, Informer[Any]],
    ) -> None:
        """`more` are informers that do not report to the engine, by names for users."""
        now = timing.clock
        self.pods = Informer(client, PODS, Timed(engine.pod_handler, "Pod", metrics, now), timing=timing)
        nodes = Informer(client, NODES, Timed(engine.node_handler, "Node", metrics, now), timing=timing)
        self._kinds = [KindInformer("nodes", nodes, False), KindInformer("pods", self.pods, False)]
        self.listers: dict[str, Lister] = {}
        for kind, handler in engine.object_handlers.items():
            timed = Timed(handler, kind.resource, metrics, now)
            informer = Informer(client, Listed(kind.path, kind.type), timed, timing=timing, optional=kind.optional)
            self.listers[kind.resource] = informer
            self._kinds.append(KindInformer(kind.resource, informer, kind.optional))
        self._kinds += [KindInformer(name, informer, False) for name, informer in more.items()]
        self._pace = engine.standstill.pace
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]) -> None:
        """Start the informers, each as a task of `spawn`. They wait while a decision is in progress."""
        self._tasks = [spawn(self._pace(kind.informer.run())) for kind in self._kinds]

    async def stop(self) -> None:
        """Stop the informers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def synced(self, kind: WatchedKind) -> list[asyncio.Event]:
        """For each informer of the kind, the event that its first list sets; empty if the kind is not watched."""
        return [watched.informer.synced for watched in self._kinds if watched.name == kind.resource]

    def missing(self) -> str | None:
        """The kinds that are not settled, with the reason for each; None if all are."""
        missing = [kind.describe() for kind in self._kinds if not kind.settled]
        return f"handlers are not fully synchronized: {', '.join(missing)}" if missing else None

    async def complete(self) -> None:
        """Wait until every kind is settled, so that scheduling may begin."""
        await asyncio.gather(*(kind.ready() for kind in self._kinds))

    async def refresh(self) -> None:
        """List every kind again, and wait until all writes of earlier leaders are known.

        A watch of any kind may be late. A leader that does not know a group yet would evict one of its pods without
        the others, and one that does not know a PodDisruptionBudget would violate it.
        """
        await asyncio.gather(*(kind.refreshed() for kind in self._kinds))


class Timed(Generic[T_contra]):
    """A handler that measures how long another handler takes for each change, until cache and queue have it.

    `kind` begins the label: `PodAdd`, `NodeUpdate`, …
    """

    def __init__(
        self, handler: ResourceEventHandler[T_contra], kind: str, metrics: SchedulerMetrics, now: Callable[[], float]
    ) -> None:
        self._handler = handler
        self._add, self._update, self._delete = f"{kind}Add", f"{kind}Update", f"{kind}Delete"
        self._metrics = metrics
        self._now = now

    def on_add(self, obj: T_contra, /) -> None:
        """An object was seen for the first time."""
        began = self._now()
        self._handler.on_add(obj)
        self._metrics.event_handling_duration.observe((self._add,), self._now() - began)

    def on_update(self, old: T_contra, new: T_contra, /) -> None:
        """An object changed."""
        began = self._now()
        self._handler.on_update(old, new)
        self._metrics.event_handling_duration.observe((self._update,), self._now() - began)

    def on_delete(self, obj: T_contra, /) -> None:
        """An object was removed."""
        began = self._now()
        self._handler.on_delete(obj)
        self._metrics.event_handling_duration.observe((self._delete,), self._now() - began)
