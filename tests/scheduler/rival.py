"""An API server, the informers of one process and its bindings, with everything that may go wrong between them.

Nothing happens by itself: a test decides when a change is delivered, when a list is made anew, and what becomes of a
binding. Delivery goes through the informers' own store, so relists arrive as they do in the process.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from muster.framework.contract import Status
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.store import ResourceEventHandler, Store
from muster.plugins.coscheduling.api import PodGroup

TYPES: Mapping[str, type[Any]] = {"pods": Pod, "nodes": Node, "groups": PodGroup}
ENDED = ("Succeeded", "Failed")


class Strict:
    """A handler that keeps what went wrong in it; the store would only log it."""

    def __init__(self, handler: ResourceEventHandler[Any]) -> None:
        self._handler = handler
        self.errors: list[Exception] = []

    def on_add(self, obj: Any) -> None:
        self._call(self._handler.on_add, obj)

    def on_update(self, old: Any, new: Any) -> None:
        self._call(self._handler.on_update, old, new)

    def on_delete(self, obj: Any) -> None:
        self._call(self._handler.on_delete, obj)

    def _call(self, method: Any, *objects: Any) -> None:
        try:
            method(*objects)
        except Exception as error:
            self.errors.append(error)
            raise


@dataclass
class Stream:
    """One kind: what the API has, what is under way to the informer, and what the informer knows."""

    handler: Strict
    objects: dict[str, Any] = field(default_factory=dict)
    watch: deque[tuple[str, Any]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.store: Store[Any] = Store(self.handler)

    def change(self, key: str, obj: Any | None, *, visible: bool = True) -> None:
        """The API has this object now; None for no such object. Informers do not see what is not `visible`."""
        if obj is None:
            self.objects.pop(key, None)
        else:
            self.objects[key] = obj
        self.watch.append((key, obj if visible else None))

    def deliver(self) -> None:
        """Tell the informer of the oldest change."""
        key, obj = self.watch.popleft()
        if obj is None:
            self.store.remove(key)
        else:
            self.store.put(obj)

    def relist(self) -> None:
        """The watch was lost with all that was under way, and the informer lists anew."""
        self.watch.clear()
        for _ in self.store.replace(obj for obj in self.objects.values() if visible(obj)):
            pass


def visible(obj: Any) -> bool:
    """Whether Muster's informers select the object."""
    return not isinstance(obj, Pod) or obj.status.phase not in ENDED


@dataclass
class Request:
    """A binding that waits for its answer. When it was carried out, `outcome` says what it came to."""

    pod: PodInfo
    node: str
    answer: "asyncio.Future[Status | None]"
    carried_out: bool = False
    outcome: Status | None = None


class Rival:
    """The API server with one stream for each kind. It binds for itself, too, as another scheduler would.

    Attributes:
        requests: bindings that have not been answered.
        bound: every binding that was carried out, as (UID, node).
    """

    def __init__(self, handlers: Mapping[str, ResourceEventHandler[Any]], loop: asyncio.AbstractEventLoop) -> None:
        self.streams = {kind: Stream(Strict(handler)) for kind, handler in handlers.items()}
        self.requests: list[Request] = []
        self.bound: list[tuple[str, str]] = []
        self._loop = loop
        self._version = 0

    @property
    def pods(self) -> dict[str, Pod]:
        """Pods by `namespace/name`."""
        return self.streams["pods"].objects

    @property
    def nodes(self) -> dict[str, Node]:
        """Nodes by name."""
        return self.streams["nodes"].objects

    def put(self, kind: str, plain: Mapping[str, Any]) -> None:
        """Create an object, with a UID of its own, or replace one."""
        meta = plain["metadata"]
        key = meta["name"] if kind == "nodes" else f"{meta['namespace']}/{meta['name']}"
        known = self.streams[kind].objects.get(key)
        uid = known.metadata.uid if known is not None else f"uid-{self._version}"
        self.store(kind, key, msgspec.convert({**plain, "metadata": {**meta, "uid": uid}}, TYPES[kind]))

    def store(self, kind: str, key: str, obj: Any) -> None:
        """An object has changed."""
        self._version += 1
        metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self._version))
        changed = msgspec.structs.replace(obj, metadata=metadata)
        self.streams[kind].change(key, changed, visible=visible(changed))

    def delete(self, kind: str, key: str) -> None:
        """An object is gone."""
        self.streams[kind].change(key, None)

    def bind(self, key: str, uid: str, node: str) -> Status | None:
        """Bind a pod as the API does."""
        pod = self.pods.get(key)
        if pod is None or pod.metadata.uid != uid:
            return Status.failure("not found")
        if pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
            return Status.failure("conflict")
        self.bound.append((uid, node))
        self.store("pods", key, msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node)))
        return None

    def ask_to_bind(self, pod: PodInfo, node: str) -> "asyncio.Future[Status | None]":
        """A binding of the scheduler's."""
        request = Request(pod, node, self._loop.create_future())
        self.requests.append(request)
        return request.answer

    def carry_out(self, number: int) -> None:
        """Do what a binding asks for, and do not answer yet."""
        request = self.requests[number]
        if not request.carried_out:
            request.carried_out = True
            request.outcome = self.bind(request.pod.key, request.pod.uid, request.node)

    def refuse(self, number: int) -> None:
        """Answer a binding with an error; what was carried out stays so."""
        request = self.requests.pop(number)
        if not request.answer.done():
            request.answer.set_result(Status.failure("internal error"))

    def answer(self, number: int) -> None:
        """Carry a binding out, unless that is done, and say what it came to."""
        self.carry_out(number)
        request = self.requests.pop(number)
        if not request.answer.done():
            request.answer.set_result(request.outcome)
