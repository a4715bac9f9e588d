"""The handle: everything that a plugin may reach of its scheduler.

The operator supplies the implementations; tests supply fakes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Iterator, Mapping, Sequence
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
from .eviction import EvictionRule
from .extender import Victims
from .group_preemption import DisruptionUnit
from .nominator import Nominator, Trial
from .status import Status
from .verdicts import Diagnosis, Mask

T = TypeVar("T")
Obj = TypeVar("Obj", bound="HasMetadata", default=Any)
"""The type of a kind's objects."""
Obj_co = TypeVar("Obj_co", covariant=True, default=Any)

MAX_WAIT_SECONDS = 15 * 60.0
"""The longest time that a pod may wait at Permit."""


@dataclass(frozen=True, slots=True)
class WatchedKind(Generic[Obj]):
    """A kind of object that a plugin lists and watches: `WatchedKind[Approval]` is a kind of `Approval`s.

    Attributes:
        resource: the name in its cluster events. A kind of `EventResource` has the name there; any other kind is named
            `<plural>.<version>.<group>`, as by kube-scheduler's plugins. Only PriorityClass and DeviceTaintRule, kinds
            of Kubernetes itself, are named by their `kind`. Recordings have these names.
        path: of the list over all namespaces, e.g. `/apis/scheduling.x-k8s.io/v1alpha1/podgroups`.
        type: the struct to decode; only its fields are kept.
        optional: whether scheduling starts without it while the API does not serve it.
        kind: the `kind` of its objects if that is not `resource`, as with two kinds of the same name.
    """

    resource: str
    path: str
    type: type[Obj]
    optional: bool = False
    kind: str = ""

    def describes(self, api_version: str, kind: str) -> bool:
        """Whether objects of this kind have this apiVersion ("" for any) and kind."""
        group, _, _ = api_version.rpartition("/")
        return kind == (self.kind or self.resource) and (not api_version or group == self.group)

    @property
    def group(self) -> str:
        """The API group, "" for the core's."""
        parts = self.path.split("/")
        return parts[2] if parts[1] == "apis" else ""

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return self.path.rpartition("/")[0].removeprefix("/apis/").removeprefix("/api/")

    @property
    def plural(self) -> str:
        """The name of the kind in paths."""
        return self.path.rpartition("/")[2]

    @property
    def name(self) -> str:
        """The `kind` of its objects."""
        return self.kind or self.resource


class HasMetadata(Protocol):
    """A decoded object."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""
        ...


class Timer(Protocol):
    """A pending call."""

    def cancel(self) -> None:
        """Cancel the call."""
        ...


class Clock(Protocol):
    """Time as the engine sees it."""

    def now(self) -> float:
        """Seconds on a monotonic clock."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch, for timestamps in the API and for users."""
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
    """Records Events for users. Never blocks."""

    def event(
        self, regarding: PodInfo, *, type: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        """Record an Event about a pod, and optionally a related pod; `type` is Normal or Warning."""
        ...


class ConditionWriter(Protocol):
    """Writes the PodScheduled condition and the nomination of pods. Never blocks."""

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Set PodScheduled to False; `nominated_node` None leaves the nomination as it is, "" clears it."""
        ...

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        """Set only the nomination; "" clears it."""
        ...

    def forget(self, uid: str) -> None:
        """The pod is gone: pending writes about it are dropped."""
        ...


class Binder(Protocol):
    """Writes bindings to the API."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod; success when the API accepted it."""
        ...


class WaitingPod(Protocol):
    """A pod that waits at Permit, on its node."""

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
        """`plugin` lets the pod pass; the pod is bound once every plugin that it waits for has allowed it."""
        ...

    def reject(self, plugin: str, message: str) -> None:
        """Reject the pod in `plugin`'s name."""
        ...


class WaitingPods(Protocol):
    """All pods that wait at Permit, of all profiles."""

    def get(self, uid: str) -> WaitingPod | None:
        """The waiting pod with this UID."""
        ...

    def __iter__(self) -> Iterator[WaitingPod]:
        """Every waiting pod, in the order in which their waits began. Pods may be allowed or rejected during the
        iteration.
        """
        ...


class Handle(Protocol):
    """The services of the engine that a plugin receives when it is created, and may keep."""

    @property
    def profile_name(self) -> str:
        """The schedulerName of this profile."""
        ...

    @property
    def snapshot(self) -> SnapshotReader:
        """Nodes and the pods on them, assumed ones included."""
        ...

    @property
    def waiting_pods(self) -> WaitingPods:
        """Pods that wait at Permit."""
        ...

    @property
    def clock(self) -> Clock:
        """The engine's clock."""
        ...

    @property
    def stopwatch(self) -> Callable[[], float]:
        """Seconds for measuring how long something takes. `clock` may stand still while a pod is decided."""
        ...

    @property
    def events(self) -> EventSink:
        """Records Events for users."""
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
        """The engine's metrics."""
        ...

    @property
    def nominator(self) -> Nominator:
        """Pods that are nominated to a node."""
        ...

    def may_report(self) -> bool:
        """Whether to report now what is wrong with pods: this process leads, and knows the whole cluster."""
        ...

    def report_gate(self, pod: PodInfo, message: str) -> None:
        """Report a pod that the plugin gates until a person decides otherwise, by an Event and the condition.

        The condition PodScheduled gets the reason SchedulingGated, so autoscalers add no nodes for the pod. For plugins
        that follow PreEnqueue. A repetition is not reported again, and a process that does not lead reports the pod
        when it leads. The condition later names the next reason for which the pod is gated, if there is one.
        """
        ...

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    def lister(self, kind: WatchedKind[Obj]) -> Lister[Obj]:
        """Objects of a kind that the plugin declared in `watches`. Call it at each use, and do not keep the lister.

        Raises KeyError for a kind that no plugin of any profile declared.
        """
        ...

    def end_nomination(self, pod: PodInfo) -> None:
        """End the pod's nomination in this process, and retry the pods that wait for the capacity."""
        ...

    def activate(self, pods: Mapping[str, PodInfo]) -> None:
        """Move these pods (by `namespace/name`) to the active queue, wherever they are in the queue."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this on the event loop beside all other work. It is cancelled when the process ends."""
        ...

    def paced(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """`work` made fit to be a separate task inside one of the plugin's tasks, for example with `asyncio.gather`.

        No step of it runs while a decision is in progress, as with work given to `spawn`.
        """
        ...

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """State that the plugin's instances of all profiles share under `key`; the first call creates it."""
        ...


class PreemptionHandle(Handle, Protocol):
    """The handle of a `PreemptionPlugin`: it also tries what happens if pods are removed or added (upstream:
    `PluginsRunner`).
    """

    def trial(self) -> AbstractContextManager[Trial]:
        """Add pods to nodes and remove them within a `with` block; its end undoes everything. Trials nest."""
        ...

    def run_filter_plugins_with_nominated_pods(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, without: Collection[str] = ()
    ) -> Diagnosis:
        """Ask the profile's Filter plugins about `nodes` in the state of the surrounding trials.

        As in every search, the first pass counts the pods nominated to a node, of the pod's priority or higher, as if
        they were on it. `state` has the pod's PreFilter notes and is not changed. Plugins named in `without` are
        skipped. kube-scheduler's RunFilterPluginsWithNominatedPods.

        Raises Unfinished when one of them has long work left. A plugin that does not catch it is called again when the
        work is done; a plugin that follows a decision calls `work_out` and asks again. Raises TypeError for a state
        that is not an attempt's.
        """
        ...

    def work_out(self, state: CycleState, pod: PodInfo) -> None:
        """Do the long work that a Filter plugin has left."""
        ...

    def ask_extenders(
        self, state: CycleState, pod: PodInfo, victims: Mapping[str, Victims]
    ) -> Mapping[str, Victims] | Status | None:
        """Which of these evictions the extenders accept, by node, and which victims they name instead.

        `victims` itself if no extender has to be asked, a Status if they fail, and None if their answers are still
        missing: the result of PostFilter is then ignored, because the pod is decided again with the answers.
        kube-scheduler's callExtenders.
        """
        ...

    def nodes_asked_about(self, state: CycleState) -> Collection[str] | None:
        """The nodes whose evictions extenders were asked about in this attempt; None when they were not asked."""
        ...

    def filters_depend_on_cluster(self, state: CycleState) -> bool:
        """Whether a Filter plugin that applies to the pod reads pods beyond each node.

        If none does, nodes can be tried together: a change on one affects no verdict about another.
        """
        ...

    def verdicts_are_kept(self, state: CycleState, *, without: Collection[str] = ()) -> bool:
        """Whether verdicts about the pod hold while a node, the pods on it and `filter_epoch` are the same.

        Filter plugins in `without` are left out.
        """
        ...

    def filter_epoch(self, state: CycleState) -> Hashable:
        """A value that changes with everything on which Filter plugins depend besides the pod, the node and the pods on
        it.

        This includes which of them skip the pod. It does not cover plugins whose verdicts are not kept.
        """
        ...

    def accepting_with_fewer_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Mask:
        """bool, shape (nodes,): which nodes are accepted by all Filter plugins whose verdicts are not kept.

        They would also accept these nodes without any of the pods on them: see `FilterPlugin.accepts_with_fewer_pods`.
        """
        ...

    def eviction_rule(self, members: Sequence[PodInfo], missing: int, priority: int, reason: str) -> EvictionRule:
        """Which pods may be evicted so that `missing` of these waiting pods are placed, and from when on.

        `reason` is that of the condition PodScheduled which they get otherwise. Not to be asked in a trial.
        """
        ...

    def disruption_unit(self, pod: PodInfo) -> DisruptionUnit | None:
        """Running pods that need this one, as plugins know them; None for a pod that may be evicted alone."""
        ...

    def disruption_epoch(self) -> Hashable:
        """A value that changes with all on which `disruption_unit` depends besides the pods that have nodes."""
        ...

    def preempt(self, uid: str, plugin: str) -> bool:
        """Reject a pod that has a node but is not bound, because it waits at Permit or PreBind is in progress.

        Returns whether that was possible; if not, the pod is bound or about to be, and can only be deleted.
        """
        ...
