"""An API server in memory, as far as scheduling needs one: objects, their watch streams, and bindings.

Objects are plain dicts in the API's own JSON shape, stored by the plural of their kind in paths (`pods`, `nodes`,
`podgroups`); a second kind of the same name by plural, version and group (`podgroups.v1beta1.scheduling.k8s.io`).
`VirtualScheduler` has one; tests change its contents and read the results.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import msgspec

from muster.framework.contract import PodInfo, Status
from muster.framework.embedded.clock import VirtualClock
from muster.framework.embedded.known import KindHandler, KnownObjects
from muster.framework.model.times import rfc3339

Object = dict[str, Any]
Apply = Callable[[Callable[[], None]], None]
"""Calls the given functions, at once or later, in order."""
_ENDED = ("Succeeded", "Failed")
_FIRST_LISTED = ("nodes", "pods")


class Followed:
    """A kind to follow: its objects are decoded as `type` and reported to `handler`.

    `plural` names the kind if it is followed a second time, under another name.
    """

    def __init__(self, type: type[Any], handler: KindHandler, plural: str = "") -> None:
        self.plural = plural
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(type).decode
        self.handler = handler


class Watcher:
    """The informers of one process: each stream delivers its changes in order, with `latency`, through `apply`.

    Like Muster's own informers, they leave out pods that have ended: such a pod is reported as deleted.

    Attributes:
        known: the objects as this process last saw them, by the name under which their kind is followed.
    """

    def __init__(
        self, kinds: Mapping[str, Followed], clock: VirtualClock, latency: Callable[[], float], apply: Apply
    ) -> None:
        self.kinds = kinds
        self.latency = latency
        self.closed = False
        self._clock = clock
        self._apply = apply
        self.known = {kind: KnownObjects(followed.handler) for kind, followed in kinds.items()}
        self._streams: dict[str, deque[tuple[str, bytes | None]]] = {kind: deque() for kind in kinds}

    def report(self, kind: str, key: str, obj: Object | None) -> None:
        """Report that an object has this state now, or was deleted (None)."""
        for name, followed in self.kinds.items():
            if (followed.plural or name) == kind:
                self.report_one(name, key, obj)

    def report_one(self, kind: str, key: str, obj: Object | None) -> None:
        """Report the state of an object, or its deletion, to the informer of this name alone."""
        if kind == "pods" and obj is not None and obj.get("status", {}).get("phase") in _ENDED:
            obj = None
        seconds = self.latency()
        self._streams[kind].append((key, None if obj is None else msgspec.json.encode(obj)))
        if seconds:
            self._clock.call_later(seconds, lambda: self._apply(lambda: self._deliver(kind)))
        else:
            self._apply(lambda: self._deliver(kind))

    def _deliver(self, kind: str) -> None:
        """Deliver the oldest change that was not delivered."""
        if self.closed:
            return
        key, body = self._streams[kind].popleft()
        if body is None:
            self.known[kind].drop(key)
        else:
            self.known[kind].put(self.kinds[kind].decode(body))


class InMemoryApi:
    """The objects by kind and key: `namespace/name`, or the name alone for kinds without a namespace.

    Attributes:
        bindings: every binding that was accepted, as (pod's key, node, time).
        fail_binding: called before each binding; a text that it returns is the binding's error.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.objects: defaultdict[str, dict[str, Object]] = defaultdict(dict)
        self.bindings: list[tuple[str, str, float]] = []
        self.fail_binding: Callable[[PodInfo, str], str | None] = lambda pod, node: None
        self._clock = clock
        self._numbers = count(1)
        self._watchers: list[Watcher] = []

    @property
    def pods(self) -> dict[str, Object]:
        """Pods by `namespace/name`."""
        return self.objects["pods"]

    def watch(
        self,
        kinds: Mapping[str, Followed],
        latency: Callable[[], float] = lambda: 0.0,
        apply: Apply = lambda change: change(),
    ) -> Watcher:
        """A watcher of these kinds, which follows nothing before `begin`."""
        return Watcher(kinds, self._clock, latency, apply)

    def begin(self, watcher: Watcher) -> None:
        """List the watcher's objects, nodes first, then pods, then all others, and report changes from then on."""
        latency, watcher.latency = watcher.latency, lambda: 0.0
        for kind in sorted(watcher.kinds, key=lambda kind: (*_FIRST_LISTED, kind).index(kind)):
            for key, obj in self.objects[watcher.kinds[kind].plural or kind].items():
                watcher.report_one(kind, key, obj)
        watcher.latency = latency
        self._watchers.append(watcher)

    def put(self, kind: str, obj: Mapping[str, Any], *, uid: str = "") -> str:
        """Create an object, or replace it. A new object gets a creation time, and this UID or one of its own.

        Returns its key.
        """
        meta = obj["metadata"]
        key = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
        known = self.objects[kind].get(key)
        uid = known["metadata"]["uid"] if known is not None else uid or f"uid-{next(self._numbers)}"
        born = known["metadata"]["creationTimestamp"] if known is not None else rfc3339(self._clock.wall())
        given = {"uid": uid, "resourceVersion": str(next(self._numbers)), "creationTimestamp": born}
        stored = {**_copied(obj), "metadata": {**meta, **given}}
        self.objects[kind][key] = stored
        self.report(kind, key, stored)
        return key

    def change(self, kind: str, key: str, change: Callable[[Object], object]) -> None:
        """Change an object in place."""
        obj = _copied(self.objects[kind][key])
        change(obj)
        self.put(kind, obj)

    def delete(self, kind: str, key: str) -> None:
        """Delete an object at once."""
        if self.objects[kind].pop(key, None) is not None:
            self.report(kind, key, None)

    def bind(self, key: str, node: str, uid: str | None = None) -> str | None:
        """Bind a pod as the API does; returns the text of the error if the API refuses."""
        pod = self.pods.get(key)
        if pod is None or (uid is not None and pod["metadata"]["uid"] != uid):
            return f'pods "{key.partition("/")[2]}" not found'
        if pod["metadata"].get("deletionTimestamp"):
            return f"pod {key.partition('/')[2]} is being deleted, cannot be assigned to a host"
        if pod["spec"].get("nodeName"):
            return f'pod {key.partition("/")[2]} is already assigned to node "{pod["spec"]["nodeName"]}"'
        self.bindings.append((key, node, self._clock.now()))
        self.change("pods", key, lambda pod: pod["spec"].update(nodeName=node))
        return None

    def report(self, kind: str, key: str, obj: Object | None) -> None:
        for watcher in self._watchers:
            watcher.report(kind, key, obj)


def _copied(obj: Mapping[str, Any]) -> Object:
    """A copy of an object, which is JSON: by way of its text, a fraction of what `deepcopy` takes."""
    copy: Object = msgspec.json.decode(msgspec.json.encode(dict(obj)))
    return copy


class InMemoryBinder:
    """Implements `contract.Binder` on an `InMemoryApi`, with `latency` before and after the binding."""

    def __init__(self, api: InMemoryApi, clock: VirtualClock, latency: Callable[[], float] = lambda: 0.0) -> None:
        self._api = api
        self._clock = clock
        self.latency = latency

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod."""
        await self._wait()
        error = self._api.fail_binding(pod, node_name) or self._api.bind(pod.key, node_name, pod.uid)
        await self._wait()
        return None if error is None else Status.failure(error)

    async def _wait(self) -> None:
        seconds = self.latency()
        if seconds:
            await self._clock.sleep(seconds)
