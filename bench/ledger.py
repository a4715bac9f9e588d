"""The ledger of a run: the node and the time of each pod's binding, as a watch on pods reports it.

A time is the arrival of the watch event; events arrive in the order in which the API server wrote the bindings. The
watch is the same for every side and selects only pods with a node, so it costs little compared with the measured side.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

import msgspec

from bench.client import Client, Following
from bench.progress import Advance
from bench.scale import NAMESPACE

_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
_WITH_NODE = "spec.nodeName!="
_LOOK_SECONDS = 0.1


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class PodEvent(msgspec.Struct, gc=False):
    """The fields of a watch event on pods that the ledger reads."""

    type: str
    object: _Pod

    @staticmethod
    def read(line: bytes) -> "PodEvent":
        """Decode a line. Raises `msgspec.ValidationError`."""
        return _decoder.decode(line)


_decoder = msgspec.json.Decoder(PodEvent)


class WrongRunError(Exception):
    """A scheduler did not do the measured work correctly; the text names the faults."""


class Watcher(Protocol):
    """A source of watches, such as a `Client`."""

    def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
        """Yield the lines of a watch in batches."""
        ...


class Ledger(Following):
    """The bindings of pods, existing and new ones; a context manager that follows them.

    Attributes:
        nodes: pod name to node name.
        times: pod name to the time at which its binding was seen, in seconds on the monotonic clock; in order.
    """

    def __init__(self, client: Watcher, *, notice: Callable[[], None] = lambda: None) -> None:
        """`notice` is called after bindings were entered."""
        super().__init__()
        self.nodes: dict[str, str] = {}
        self.times: dict[str, float] = {}
        self._client = client
        self._version = ""
        self._notice = notice

    async def reach(self, count: int, *, is_alive: Callable[[], bool], advance: Advance) -> bool:
        """Wait for `count` bindings. Returns False if the scheduler ends before (`is_alive`).

        Raises `WrongRunError` for a pod that is bound a second time or deleted, and `RefusedError` if the API server
        refuses to continue the watch.
        """
        shown = 0
        while len(self.nodes) < count:
            if not is_alive():
                return False
            await self.raise_if_stopped()
            await asyncio.sleep(_LOOK_SECONDS)
            advance(len(self.nodes) - shown)
            shown = len(self.nodes)
        return True

    def enter(self, lines: Sequence[bytes], now: float) -> None:
        """Enter the bindings in lines of the watch that arrived at `now`. Raises `WrongRunError` as `reach` does."""
        before = len(self.nodes)
        for line in lines:
            event = PodEvent.read(line)
            pod, node = event.object.metadata.name, event.object.spec.node_name
            if event.type not in ("ADDED", "MODIFIED"):
                raise WrongRunError(f"the watch on pods said {line.decode(errors='replace')[:500]}")
            if self.nodes.setdefault(pod, node) != node:
                raise WrongRunError(f"pod {pod} was bound to {self.nodes[pod]}, then to {node}")
            self.times.setdefault(pod, now)
            self._version = event.object.metadata.resource_version
        if len(self.nodes) > before:
            self._notice()

    async def _follow(self) -> None:
        """Watch pods. If the API server ends the watch, as for a slow reader, continue at the last version."""
        while True:
            query = {"resourceVersion": self._version, "fieldSelector": _WITH_NODE}
            async for lines in self._client.watch(_PODS, **query):
                self.enter(lines, time.monotonic())


async def count_events(client: Client) -> int:
    """The number of Events in the benchmark's namespace, at no cost for the API server."""
    page = await client.get(_EVENTS, limit="1")
    remaining: int = page["metadata"].get("remainingItemCount", 0)
    return len(page["items"]) + remaining


async def count_scheduled(client: Client) -> int:
    """The number of Events with the reason Scheduled, for which the API server reads all Events."""
    return len((await client.get(_EVENTS, fieldSelector="reason=Scheduled"))["items"])
