"""The plugin by itself, with an API that keeps claims and pods and applies merge patches to them."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import msgspec

from muster.framework.contract import ApiError, CycleState, Handle, PodInfo, Status, WatchedKind
from muster.framework.embedded.clock import VirtualClock
from muster.framework.metrics import SchedulerMetrics
from muster.framework.model.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.snapshot.snapshot import Snapshot
from muster.framework.snapshot.view import NodeView
from muster.operator.metrics import blocks, registry_of
from muster.plugins.dynamicresources.plugin import DynamicResources
from muster.plugins.dynamicresources.shared import SharedDRAManager
from muster.plugins.gangscheduling.api import POD_GROUPS, NativePodGroup
from muster.sandbox.patching import merge
from tests.builders import NodeDict, PodDict
from tests.serving.scraping import Scrape, scrape

Object = dict[str, Any]
T = TypeVar("T")
_TYPES = {
    "ResourceClaim": ResourceClaim,
    "DeviceClass": DeviceClass,
    "ResourceSlice": ResourceSlice,
    "DeviceTaintRule": DeviceTaintRule,
}
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


class KeptApi:
    """Objects by path.

    `collide` counts writes that are refused as if somebody else had written first, `unanswered` those that are done and
    whose answer is lost.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.writes: list[tuple[str, str]] = []
        self.collide = 0
        self.unanswered = 0

    async def get(self, path: str) -> bytes:
        return msgspec.json.encode(self._at(path))

    async def post(self, path: str, body: bytes) -> bytes:
        made = msgspec.json.decode(body)
        name = f"{made['metadata']['generateName']}x"
        made["metadata"] |= {"name": name, "uid": f"made-{name}", "resourceVersion": "1"}
        self.writes.append(("create", path))
        self.objects[f"{path}/{name}"] = made
        return msgspec.json.encode(made)

    async def put(self, path: str, body: bytes) -> bytes:
        raise AssertionError("claims are patched, so that nothing that is not known gets lost")

    async def patch(self, path: str, body: bytes, *, content_type: str = "") -> bytes:
        subject = path.removesuffix("/status")
        known, patch = self._at(subject), msgspec.json.decode(body)
        self.writes.append(("patch", path))
        expected = patch.get("metadata", {}).pop("resourceVersion", None)
        if self.collide:
            self.collide -= 1
            known["metadata"]["resourceVersion"] = str(int(known["metadata"]["resourceVersion"]) + 1)
        if expected not in (None, known["metadata"].get("resourceVersion")):
            raise ApiError("the object has been modified", status=409, reason="Conflict")
        known.update(merge(known, patch))
        version = int(known["metadata"].get("resourceVersion", "0")) + 1
        known["metadata"]["resourceVersion"] = str(version)
        if self.unanswered:
            self.unanswered -= 1
            raise ApiError("the API server did not answer in time")
        return msgspec.json.encode(known)

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        self._at(path)
        self.writes.append(("delete", path))
        del self.objects[path]
        return b"{}"

    def _at(self, path: str) -> Object:
        if path not in self.objects:
            raise ApiError("not found", status=404, reason="NotFound")
        return self.objects[path]


@dataclass
class _Handle:
    snapshot: Snapshot
    api: KeptApi
    clock: VirtualClock = field(default_factory=VirtualClock)
    spawned: list[Coroutine[Any, Any, None]] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    kept: dict[str, object] = field(default_factory=dict)
    metrics: SchedulerMetrics = field(default_factory=SchedulerMetrics)
    groups: dict[str, object] = field(default_factory=dict)
    follows_groups: bool = True

    def lister(self, kind: WatchedKind) -> "_Handle":
        if kind.resource != POD_GROUPS.resource or not self.follows_groups:
            raise KeyError(kind.resource)
        return self

    def get(self, key: str) -> object | None:
        return self.groups.get(key)

    @property
    def events(self) -> "_Handle":
        return self

    @property
    def stopwatch(self) -> Callable[[], float]:
        return self.clock.now

    def event(self, regarding: PodInfo, *, type: str, reason: str, action: str, note: str) -> None:
        self.reported.append(note)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.spawned.append(work)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        made = self.kept[key] = make()
        return made


class Bench:
    """Nodes and objects around one instance of the plugin."""

    def __init__(self, *nodes: NodeDict) -> None:
        self.snapshot = Snapshot()
        for node in nodes:
            self.snapshot.set_node(msgspec.convert(node, Node))
        self.api = KeptApi()
        self.handle = _Handle(self.snapshot, self.api)
        self.plugin = DynamicResources(None, cast("Handle", self.handle))  # type: ignore[arg-type]  # no arguments given

    @property
    def metrics(self) -> Scrape:
        """What has been counted so far."""
        return scrape(blocks(registry_of(self.handle.metrics)))

    @property
    def devices(self) -> SharedDRAManager:
        """What the plugin knows."""
        return cast("SharedDRAManager", self.handle.kept[self.plugin.name])

    def put(self, *objects: Object) -> None:
        """The API has these, and the watch reports them."""
        for each in objects:
            meta = each["metadata"]
            if each["kind"] == "ResourceClaim":
                self.api.objects[f"{CLAIMS}/{meta['name']}"] = msgspec.json.decode(msgspec.json.encode(each))
            self.plugin.on_object(each["kind"], None, msgspec.convert(each, _TYPES[each["kind"]]))

    def put_group(self, group: Object) -> None:
        """There is such a PodGroup."""
        found = msgspec.convert(group, NativePodGroup)
        self.handle.groups[found.key] = found

    def lose(self, gone: Object) -> None:
        """The watch reports that this was deleted."""
        self.plugin.on_object(gone["kind"], msgspec.convert(gone, _TYPES[gone["kind"]]), None)

    def claim(self, name: str) -> Object:
        """The claim as the API has it."""
        return self.api.objects[f"{CLAIMS}/{name}"]

    def attempt(self, pod: PodDict, group: str = "") -> "Attempt":
        """A pod's way from PreFilter on."""
        info = PodInfo(msgspec.convert(pod, Pod))
        self.api.objects[f"/api/v1/namespaces/default/pods/{info.name}"] = dict(pod)
        return Attempt(self, info, group)

    async def do_what_was_spawned(self) -> None:
        """Let the work beside the decisions happen."""
        for work in self.handle.spawned:
            await work
        self.handle.spawned.clear()


class Attempt:
    """One attempt of a pod."""

    def __init__(self, bench: Bench, pod: PodInfo, group: str) -> None:
        self.bench = bench
        self.pod = pod
        self.state = CycleState()
        self.state.group = group

    def nodes(self) -> list[str]:
        """Where the pod can go; nowhere if PreFilter turns it away."""
        plugin, snapshot = self.bench.plugin, self.bench.snapshot
        view = NodeView(snapshot, snapshot.live_rows())
        refused = plugin.pre_filter(self.state, self.pod, view)
        if refused is not None and refused.rejected:
            return []
        codes = plugin.filter(self.state, self.pod, view).codes
        return [name for name, code in zip(view.names(), codes.tolist(), strict=True) if not code]

    def reserve(self, node: str) -> Status | None:
        return self.bench.plugin.reserve(self.state, self.pod, node)

    def unreserve(self, node: str) -> None:
        self.bench.plugin.unreserve(self.state, self.pod, node)

    def planned(self, node: str) -> Mapping[str, Any]:
        """What PreBind would write."""
        return self.bench.plugin.planned(self.state, self.pod, node)

    async def bind(self, node: str) -> Status | None:
        return await self.bench.plugin.pre_bind(self.state, self.pod, node)
