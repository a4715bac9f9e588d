"""An API server in memory, as far as scheduling needs one: objects, their watch streams, and bindings."""

from collections import deque
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import count
from typing import Any, Protocol

import msgspec

from muster.framework.contract import Status
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.plugins.coscheduling.api import PodGroup
from muster.plugins.coscheduling.status import timestamp
from tests.coscheduling.clock import VirtualClock

Object = dict[str, Any]
_TYPES = {"pods": Pod, "nodes": Node, "groups": PodGroup}
_ENDED = ("Succeeded", "Failed")


class Handler(Protocol):
    """Whom an informer tells."""

    def on_add(self, obj: Any) -> None: ...
    def on_update(self, old: Any, new: Any) -> None: ...
    def on_delete(self, obj: Any) -> None: ...


class Watcher:
    """The informers of one process: each stream is told in its order, as late as `latency` says.

    Like Muster's own they leave out pods that have ended, so that such a pod is deleted to them.
    """

    def __init__(self, handlers: Mapping[str, Handler], clock: VirtualClock, latency: Callable[[], float]) -> None:
        self._handlers = handlers
        self._clock = clock
        self._latency = latency
        self._seen: dict[tuple[str, str], Any] = {}
        self._streams: dict[str, deque[tuple[str, Object | None]]] = {kind: deque() for kind in handlers}
        self.closed = False

    def tell(self, kind: str, key: str, obj: Object | None) -> None:
        """An object is like this now, or gone."""
        if kind == "pods" and obj is not None and obj.get("status", {}).get("phase") in _ENDED:
            obj = None
        seconds = self._latency()
        self._streams[kind].append((key, deepcopy(obj)))
        if seconds:
            self._clock.call_later(seconds, lambda: self._deliver(kind))
        else:
            self._deliver(kind)

    def _deliver(self, kind: str) -> None:
        """Tell the first that has not been told."""
        if self.closed:
            return
        key, obj = self._streams[kind].popleft()
        handler, old = self._handlers[kind], self._seen.pop((kind, key), None)
        if obj is None:
            if old is not None:
                handler.on_delete(old)
            return
        new = self._seen[kind, key] = msgspec.json.decode(msgspec.json.encode(obj), type=_TYPES[kind])
        if old is None:
            handler.on_add(new)
        else:
            handler.on_update(old, new)


class FakeApi:
    """The objects by kind (`pods`, `nodes`, `groups`) and key.

    Attributes:
        bindings: every binding that was accepted, as (pod's key, node, time).
        fail_binding: asked before each binding; a text makes it fail.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.objects: dict[str, dict[str, Object]] = {kind: {} for kind in _TYPES}
        self.bindings: list[tuple[str, str, float]] = []
        self.fail_binding: Callable[[PodInfo, str], str | None] = lambda pod, node: None
        self._clock = clock
        self._numbers = count(1)
        self._watchers: list[Watcher] = []

    @property
    def pods(self) -> dict[str, Object]:
        """Pods by `namespace/name`."""
        return self.objects["pods"]

    def watch(self, handlers: Mapping[str, Handler], latency: Callable[[], float] = lambda: 0.0) -> Watcher:
        """List everything to these handlers, then go on telling them."""
        watcher = Watcher(handlers, self._clock, lambda: 0.0)
        for kind in ("nodes", "pods", "groups"):
            for key, obj in self.objects[kind].items():
                if kind in handlers:
                    watcher.tell(kind, key, obj)
        watcher._latency = latency
        self._watchers.append(watcher)
        return watcher

    def put(self, kind: str, obj: Mapping[str, Any]) -> str:
        """Create an object, or replace it. A new one gets a UID and the time of its own. Returns its key."""
        meta = obj["metadata"]
        key = f"{meta['namespace']}/{meta['name']}" if kind != "nodes" else meta["name"]
        known = self.objects[kind].get(key)
        uid = known["metadata"]["uid"] if known is not None else f"uid-{next(self._numbers)}"
        born = known["metadata"]["creationTimestamp"] if known is not None else timestamp(self._clock.wall())
        given = {"uid": uid, "resourceVersion": str(next(self._numbers)), "creationTimestamp": born}
        stored = {**deepcopy(dict(obj)), "metadata": {**meta, **given}}
        self.objects[kind][key] = stored
        self.tell(kind, key, stored)
        return key

    def change(self, kind: str, key: str, change: Callable[[Object], object]) -> None:
        """Change an object in place."""
        obj = deepcopy(self.objects[kind][key])
        change(obj)
        self.put(kind, obj)

    def delete(self, kind: str, key: str) -> None:
        """Delete an object at once."""
        if self.objects[kind].pop(key, None) is not None:
            self.tell(kind, key, None)

    def bind(self, key: str, node: str, uid: str | None = None) -> str | None:
        """Bind a pod as the API does; the text of the error when it does not."""
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

    def tell(self, kind: str, key: str, obj: Object | None) -> None:
        for watcher in self._watchers:
            watcher.tell(kind, key, obj)


class FakeBinder:
    """Implements `contract.Binder` on the fake API. The answer comes as late as `latency` says, twice."""

    def __init__(self, api: FakeApi, clock: VirtualClock, latency: Callable[[], float] = lambda: 0.0) -> None:
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
