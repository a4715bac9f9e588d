"""The handle: everything that a plugin may reach of its scheduler.

The operator supplies the implementations; tests supply fakes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from ..metrics import SchedulerMetrics
from ..model.meta import ObjectMeta
from ..model.pod_info import PodInfo
from ..snapshot.reader import SnapshotReader
from ..snapshot.view import NodeView
from .api import Api
from .cycle_state import CycleState
from .extender import Victims
from .nominator import Nominator, Trial
from .pod_group import DisruptionUnit
from .status import Status
from .verdicts import Diagnosis

T = TypeVar("T")
Obj = TypeVar("Obj", bound="HasMetadata", default=Any)
"""The type of a kind's objects."""
Obj_co = TypeVar("Obj_co", covariant=True, default=Any)

MAX_WAIT_SECONDS = 15 * 60.0
"""The longest that Permit may hold a pod."""


@dataclass(frozen=True, slots=True)
class WatchedKind(Generic[Obj]):
    """A kind of object that a plugin wants to have listed and watched: `WatchedKind[Permit]` is a kind of `Permit`s.

    Attributes:
        resource: the name that its cluster events carry, `<plural>.<version>.<group>` for a kind of one's own.
        path: of the list over all namespaces, e.g. `/apis/scheduling.x-k8s.io/v1alpha1/podgroups`.
        type: the struct to decode; its fields are all that is kept.
        optional: whether scheduling starts without it when the API does not serve it (yet).
        kind: the objects' kind where it is not `resource`, as with two kinds of one name.
    """

    resource: str
    path: str
    type: type[Obj]
    optional: bool = False
    kind: str = ""

    def describes(self, api_version: str, kind: str) -> bool:
        """Whether an object with this apiVersion (left out: of any) and kind is one of these."""
        group, _, _ = api_version.rpartition("/")
        return kind == (self.kind or self.resource) and (not api_version or group == self.group)

    @property
    def group(self) -> str:
        """The API group, "" for the core's."""
        parts = self.path.split("/")
        return parts[2] if parts[1] == "apis" else ""

    @property
    def api_version(self) -> str:
        """What objects write as their apiVersion."""
        return self.path.rpartition("/")[0].removeprefix("/apis/").removeprefix("/api/")

    @property
    def plural(self) -> str:
        """How paths name the kind."""
        return self.path.rpartition("/")[2]

    @property
    def name(self) -> str:
        """What objects write as their kind."""
        return self.kind or self.resource


class HasMetadata(Protocol):
    """A decoded object."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""
        ...


class Timer(Protocol):
    """A pending call."""

    def cancel(self) -> None:
        """Do not call."""
        ...


class Clock(Protocol):
    """Time as the engine sees it."""

    def now(self) -> float:
        """Seconds on a monotonic clock."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch, for timestamps that people and the API read."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the event loop after this time, unless the timer is cancelled."""
        ...


class Lister(Protocol[Obj_co]):
    """The objects of one watched kind, as last seen."""

    def get(self, key: str) -> Obj_co | None:
        """The object with this `namespace/name` (or name, when not namespaced)."""
        ...

    def list(self) -> Iterable[Obj_co]:
        """All objects, in no order."""
        ...


class EventSink(Protocol):
    """Where Events for people go. Never blocks."""

    def event(
        self, regarding: PodInfo, *, kind: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        """Record an Event of type `kind` (Normal or Warning) about a pod, with another that has to do with it."""
        ...


class ConditionWriter(Protocol):
    """Writes the PodScheduled condition and the nomination of pods. Never blocks."""

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Set PodScheduled to False; `nominated_node` None leaves the nomination as it is, "" clears it."""
        ...

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        """Set the nomination alone; "" clears it."""
        ...

    def forget(self, uid: str) -> None:
        """The pod is gone: nothing that is still to be written of it is."""
        ...


class Binder(Protocol):
    """Writes bindings to the API."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod; success when the API accepted it."""
        ...


class WaitingPod(Protocol):
    """A pod that Permit holds."""

    @property
    def pod(self) -> PodInfo:
        """The pod."""
        ...

    @property
    def node_name(self) -> str:
        """The node it is reserved on."""
        ...

    @property
    def pending_plugins(self) -> frozenset[str]:
        """Plugins that have not allowed it yet."""
        ...

    def allow(self, plugin: str) -> None:
        """`plugin` no longer holds the pod; when none does, it goes on to be bound."""
        ...

    def reject(self, plugin: str, message: str) -> None:
        """Turn the pod away in `plugin`'s name."""
        ...


class WaitingPods(Protocol):
    """All pods that Permit holds, of all profiles."""

    def get(self, uid: str) -> WaitingPod | None:
        """The waiting pod with this UID."""
        ...

    def __iter__(self) -> Iterator[WaitingPod]:
        """Every waiting pod, in the order they began to wait. Allowing or rejecting while iterating is fine."""
        ...


class Handle(Protocol):
    """What a plugin gets at construction and may keep."""

    @property
    def profile_name(self) -> str:
        """The schedulerName that this profile answers to."""
        ...

    @property
    def snapshot(self) -> SnapshotReader:
        """Nodes and the pods on them, assumed ones included."""
        ...

    @property
    def waiting_pods(self) -> WaitingPods:
        """Pods that Permit holds."""
        ...

    @property
    def clock(self) -> Clock:
        """Time."""
        ...

    @property
    def stopwatch(self) -> Callable[[], float]:
        """Seconds by which is measured how long something takes. The clock may stand still while a pod is decided."""
        ...

    @property
    def events(self) -> EventSink:
        """Events for people."""
        ...

    @property
    def binder(self) -> Binder:
        """Writes bindings."""
        ...

    @property
    def api(self) -> Api:
        """Reads and writes other objects, in `async` extension points only."""
        ...

    @property
    def metrics(self) -> SchedulerMetrics:
        """Metrics."""
        ...

    @property
    def nominator(self) -> Nominator:
        """Pods that are nominated to a node."""
        ...

    def may_report(self) -> bool:
        """Whether people are to read now what is wrong with pods: this process leads, and knows the whole cluster."""
        ...

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    def lister(self, kind: WatchedKind[Obj]) -> Lister[Obj]:
        """Objects of a kind that the plugin declared in `watches`. Call it whenever objects are read, not before.

        Raises KeyError for a kind that no plugin of any profile declared.
        """
        ...

    def end_nomination(self, pod: PodInfo) -> None:
        """End the pod's nomination in this process, and retry the pods that wait for the capacity."""
        ...

    def activate(self, pods: Mapping[str, PodInfo]) -> None:
        """Move these pods (by `namespace/name`) to the active queue, wherever in the queue they are."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Let this run on the event loop beside everything else. It is cancelled when the process ends."""
        ...

    def paced(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """`work`, for a task of its own within one of the plugin's, as by `asyncio.gather`.

        No step of it is taken while a decision is under way, as of what is given to `spawn`.
        """
        ...

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """What the plugins of all profiles keep together under `key`; made by whoever asks first."""
        ...


class PreemptionHandle(Handle, Protocol):
    """What a `PreemptionPlugin` gets: it also tries what would be if pods came or went (upstream: `PluginsRunner`)."""

    def trial(self) -> AbstractContextManager[Trial]:
        """Put pods on nodes and take them off inside a `with`; when it ends all is as before. Trials nest."""
        ...

    def run_filter_plugins_with_nominated_pods(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, without: Collection[str] = ()
    ) -> Diagnosis:
        """Ask the profile's Filter plugins about `nodes`, as they are in the trials around the call.

        Like every search it also asks what would be if the pods nominated to a node, of the pod's priority or higher,
        were on it already. `state` has the pod's PreFilter notes and is not changed. Plugins named in `without` are
        left out. kube-scheduler's RunFilterPluginsWithNominatedPods.

        Raises Unfinished when one of them has long work left. A plugin that lets that through is called once more when
        the work is done; one that follows a decision calls `work_out` and asks again. Raises TypeError for a state
        that is not an attempt's.
        """
        ...

    def work_out(self, state: CycleState, pod: PodInfo) -> None:
        """Do what a Filter plugin has left to do."""
        ...

    def ask_extenders(
        self, state: CycleState, pod: PodInfo, victims: Mapping[str, Victims]
    ) -> Mapping[str, Victims] | Status | None:
        """Which of these evictions the extenders agree with, by node, and whom they would evict instead.

        `victims` itself where no extender has to be asked, a Status where they fail, and None while they have yet to
        answer: whatever PostFilter answers then counts for nothing, for the pod is decided again once they have
        answered. kube-scheduler's callExtenders.
        """
        ...

    def nodes_asked_about(self, state: CycleState) -> Collection[str] | None:
        """The nodes whose evictions extenders were asked about in this attempt; None when they were not asked."""
        ...

    def filters_depend_on_cluster(self, state: CycleState, *, without: Collection[str] = ()) -> bool:
        """Whether a Filter plugin that has not skipped the pod, and is not in `without`, looks beyond each node.

        If none does, nodes can be tried together: what happens on one changes no verdict about another.
        """
        ...

    def filter_epoch(self, state: CycleState) -> Hashable:
        """A value that changes with what the Filter plugins go by besides the pod, the node and the pods on it.

        That is also which of them skip the pod. Says nothing about plugins that look beyond each node.
        """
        ...

    def disruption_unit(self, pod: PodInfo) -> DisruptionUnit | None:
        """Pods that run and need this one, as plugins know them; None for a pod that may be evicted by itself."""
        ...

    def preempt(self, uid: str, plugin: str) -> bool:
        """Turn a pod away that has a node but is not bound: Permit holds it, or PreBind is under way.

        Returns whether that was done; if not, the pod is bound, or about to be, and can only be deleted.
        """
        ...
