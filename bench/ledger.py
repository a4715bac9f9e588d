"""The ledger of a run: which pod was bound to which node and when, as a watch on pods reports it.

A time is that of the event's arrival, in the order in which the API server wrote the bindings. The watch is the same
for every side and sees only pods that have a node, so it costs little compared with the measured side.
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
    """A line of a watch on pods, as far as it is read."""

    type: str
    object: _Pod

    @staticmethod
    def read(line: bytes) -> "PodEvent":
        """Decode a line. Raises `msgspec.ValidationError`."""
        return _decoder.decode(line)


_decoder = msgspec.json.Decoder(PodEvent)


class WrongRunError(Exception):
    """A scheduler did not do what it was measured at; the text says what was found."""


class Watcher(Protocol):
    """Who gives watches, such as a `Client`."""

    def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
        """The lines of a watch, as many at a time as have come."""
        ...


class Ledger(Following):
    """Bindings of pods, those there are and those to come, entered while this is used.

    Attributes:
        nodes: pod name to node name.
        times: pod name to when its binding was seen, seconds on the monotonic clock; in the order of the bindings.
    """

    def __init__(self, client: Watcher, *, notice: Callable[[], None] = lambda: None) -> None:
        """`notice` is called right after bindings were entered."""
        super().__init__()
        self.nodes: dict[str, str] = {}
        self.times: dict[str, float] = {}
        self._client = client
        self._version = ""
        self._notice = notice

    async def reach(self, count: int, *, is_alive: Callable[[], bool], advance: Advance) -> bool:
        """Waits for `count` bindings. False when whoever binds `is_alive` no more.

        Raises `WrongRunError` for a pod that is bound a second time and for one that goes, `RefusedError` when the
        API server does not let the watch go on.
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
        """Enters what lines of the watch say, which have come at `now`. Raises `WrongRunError` as `reach` does."""
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
        """A watch that the API server ends, as it does when it finds a reader slow, goes on where it was."""
        while True:
            query = {"resourceVersion": self._version, "fieldSelector": _WITH_NODE}
            async for lines in self._client.watch(_PODS, **query):
                self.enter(lines, time.monotonic())


async def count_events(client: Client) -> int:
    """How many Events there are of the benchmark's pods and of what belongs to them; costs the API server nothing."""
    page = await client.get(_EVENTS, limit="1")
    remaining: int = page["metadata"].get("remainingItemCount", 0)
    return len(page["items"]) + remaining


async def count_scheduled(client: Client) -> int:
    """How many of them say that a pod was given a node; the API server reads them all."""
    return len((await client.get(_EVENTS, fieldSelector="reason=Scheduled"))["items"])
