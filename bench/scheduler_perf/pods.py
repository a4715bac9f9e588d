"""The pods of a workload as a watch shows them: which are there, which were tried, and which were bound when.

`play` waits for it, and `collecting` measures by it. scheduler_perf looks into its own informer; this is the watch of
another process, so it shows a binding a moment later, for either side.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from bench.client import Following
from bench.ledger import Watcher, WrongRunError
from bench.scheduler_perf.operations import Selector

PODS = "/api/v1/pods"
Key = tuple[str, str]
"""Namespace and name."""
_TRIED = "PodScheduled"
_SHOWN = 500


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class _Condition(msgspec.Struct, gc=False):
    type: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] = msgspec.field(default_factory=list)


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Event(msgspec.Struct, gc=False):
    type: str
    object: _Pod


_decoder = msgspec.json.Decoder(_Event)


@dataclass(slots=True)
class Seen:
    """A pod as it was seen last.

    Attributes:
        node: the node that it is bound to; empty for none.
        tried: whether a scheduler has said of it that it was tried.
        bound_at: when its binding was seen, seconds on the monotonic clock.
    """

    labels: Selector
    node: str = ""
    tried: bool = False
    bound_at: float | None = None

    def has(self, selector: Selector) -> bool:
        """Whether it has these labels."""
        return all(self.labels.get(name) == value for name, value in selector.items())


class PodWatch(Following):
    """All pods of the cluster, followed while this is used as a context manager.

    Attributes:
        present: the pods that are there.
        bound: the pods that were bound, also those that are gone; in the order of their bindings.
        notice: is called with each pod that is bound.
    """

    def __init__(self, client: Watcher) -> None:
        super().__init__()
        self.present: dict[Key, Seen] = {}
        self.bound: dict[Key, Seen] = {}
        self.notice: Callable[[Key], None] = lambda key: None
        self._client = client
        self._version = ""

    def bound_pods(self, namespace: str, selector: Selector) -> int:
        """How many pods that are there are bound."""
        return sum(1 for seen in self._of(namespace, selector) if seen.node)

    def tried_pods(self, namespace: str, selector: Selector) -> int:
        """How many pods that are there are bound or were tried."""
        return sum(1 for seen in self._of(namespace, selector) if seen.node or seen.tried)

    def names(self, namespace: str, selector: Selector) -> list[str]:
        """The pods that are there, by name."""
        return [name for (place, name), seen in self.present.items() if place == namespace and seen.has(selector)]

    def enter(self, lines: Sequence[bytes], now: float) -> None:
        """Take what lines of the watch say, which have come at `now`.

        Raises `WrongRunError` for a pod that is bound a second time, and for a line that is not about a pod.
        """
        for line in lines:
            event = _event(line)
            self._version = event.object.metadata.resource_version
            self._enter(event, now)

    def _enter(self, event: _Event, now: float) -> None:
        metadata, node = event.object.metadata, event.object.spec.node_name
        key = metadata.namespace, metadata.name
        if event.type == "DELETED":
            self.present.pop(key, None)
            return
        seen = self.present.setdefault(key, Seen(metadata.labels))
        seen.labels = metadata.labels
        seen.tried = any(condition.type == _TRIED for condition in event.object.status.conditions)
        if node == seen.node:
            return
        if seen.node:
            raise WrongRunError(f"pod {'/'.join(key)} was bound to {seen.node}, then to {node or 'none'}")
        seen.node, seen.bound_at = node, now
        self.bound[key] = seen
        self.notice(key)

    def _of(self, namespace: str, selector: Selector) -> Iterator[Seen]:
        return (seen for (place, _), seen in self.present.items() if place == namespace and seen.has(selector))

    async def _follow(self) -> None:
        """A watch that the API server ends, as it does when it finds a reader slow, goes on where it was."""
        while True:
            async for lines in self._client.watch(PODS, resourceVersion=self._version):
                self.enter(lines, time.monotonic())


def _event(line: bytes) -> _Event:
    """A line of the watch. Raises `WrongRunError` for one that is not about a pod."""
    with suppress(msgspec.ValidationError):
        event = _decoder.decode(line)
        if event.type in ("ADDED", "MODIFIED", "DELETED"):
            return event
    raise WrongRunError(f"the watch on pods said {line.decode(errors='replace')[:_SHOWN]}")
