"""The extension points: one base class each, named as in kube-scheduler, with vectors in place of per-node calls.

A plugin is a class that derives from `Plugin` through the base classes of the points that it extends. The runtime
creates one instance per profile and calls it from the event loop only, so plugins need no locks. Where a Status may be
answered, None means success.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel
from typing_extensions import TypeVar

from ..model.pod_info import PodInfo
from ..snapshot.journal import DependsOn
from ..snapshot.partitions import Partition
from ..snapshot.reader import SnapshotReader
from ..snapshot.view import NodeView
from .cycle_state import CycleState
from .events import EventRegistration
from .handle import Handle, PreemptionHandle, WatchedKind
from .pod_group import PodGroupInfo, PodGroupTrial
from .recorded import RecordedContents
from .status import Code, Status
from .verdicts import Diagnosis, Verdicts


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod that waits to be scheduled. The queue owns and changes it; everyone else reads.

    Attributes:
        info: the pod as last seen.
        timestamp: when it last entered the queue, seconds on the engine's clock.
        first_seen: when it entered the queue for the first time.
        attempts: scheduling attempts so far.
        group_priority: the priority that its group queues with, if that has one of its own.
    """

    info: PodInfo
    timestamp: float
    first_seen: float
    attempts: int = 0
    group_priority: int | None = None

    @property
    def priority(self) -> int:
        """The priority that it queues with."""
        return self.info.priority if self.group_priority is None else self.group_priority


Scores = npt.NDArray[np.int64]
MAX_NODE_SCORE = 100
Args = TypeVar("Args", default=Any)
"""The type of a plugin's arguments: its `args_model`, or None."""


class Plugin(ABC, Generic[Args]):
    """Base of all plugins. `FilterPlugin[MyArgs]` says of what type the arguments are; so may every other base.

    Class attributes:
        name: the name in configuration, messages and metrics.
        args_model: pydantic model of `pluginConfig[].args`; None when the plugin takes none.
        watches: kinds of objects, besides pods and nodes, that the plugin lists through the handle.
        recorded: what these objects and the arguments hold, for copies of recordings with other names.
    """

    name: ClassVar[str]
    args_model: ClassVar[type[BaseModel] | None] = None
    watches: ClassVar[tuple[WatchedKind, ...]] = ()
    recorded: ClassVar[RecordedContents] = RecordedContents()

    handle: Handle

    def __init__(self, args: Args, handle: Handle) -> None:
        """Keep `args`, an instance of `args_model` or None where there is none, and `handle`."""
        self.args = args
        self.handle = handle

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the plugin has anything to do for such a pod. Asked once a signature, so that others cost nothing.

        False stands for SKIP at PreFilter, PreScore and PreBindPreFlight, for success at Reserve, Unreserve and Permit,
        and for a Score of 0 on every node: the plugin is not called there. Every other point is as without it. The
        answer must follow from the pod's signature and from whether it has volumes, and never change.
        """
        return True


class EnqueueExtensions(Plugin[Args]):
    """Tells which events may help the pods that this plugin rejected. A plugin without it is asked on every event."""

    @abstractmethod
    def events_to_register(self) -> Sequence[EventRegistration]:
        """Called once, when the profile is built."""


class PreEnqueuePlugin(Plugin[Args]):
    """Decides whether a pod may enter the active queue at all."""

    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Called when a pod is about to enter the active or backoff queue; a rejection gates it. Must be fast.

        Legal statuses: success, a rejection, ERROR.
        """


class QueueSortPlugin(Plugin[Args]):
    """Orders the active queue. A profile has exactly one, and all profiles have the same."""

    @abstractmethod
    def sort_key(self, queued: QueuedPod) -> tuple[Hashable, ...]:
        """The place of a pod in the queue: smaller goes first. Called when the pod enters the active queue.

        Keys of different pods must be comparable, and their order total.
        """


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """The only nodes that can pass, by name. The runtime intersects the sets of all plugins."""

    node_names: frozenset[str]


class PreFilterPlugin(Plugin[Args]):
    """Looks at the pod once before nodes are looked at."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
        """Called once an attempt with a view of all nodes.

        SKIP leaves this plugin's Filter out; UNSCHEDULABLE lets the other PreFilters run and then turns the pod away;
        UNSCHEDULABLE_AND_UNRESOLVABLE turns it away at once. Unless it is overridden, there is nothing to prepare.

        Legal statuses: success, SKIP, a rejection, ERROR.
        """
        return None


class PreFilterExtensions(Plugin[Args]):
    """Keeps PreFilter's notes true while pods are tried on or taken off nodes."""

    @abstractmethod
    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        """`added` has just been put on `node_name` in a trial for `pod`.

        Legal statuses: success, ERROR.
        """

    @abstractmethod
    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        """`removed` has just been taken off `node_name` in a trial for `pod`.

        Legal statuses: success, ERROR.
        """


class FilterPlugin(Plugin[Args]):
    """Says which nodes can run the pod.

    `filter_depends_on` says what a verdict depends on; see `DependsOn`. Verdicts that depend on the pod's signature and
    on the node alone are remembered for pods of that signature and computed again for changed nodes only. By default
    nothing is remembered.
    """

    filter_depends_on: ClassVar[DependsOn] = DependsOn.CLUSTER
    refuses_alike: ClassVar[bool] = False
    """Whether its verdicts go by nothing of the pod but its spec, namespace, labels and controller. Of pods that have
    these in common, one that no node can take then speaks for all."""

    @abstractmethod
    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """A verdict for each of `nodes`. Called with any set of nodes: all, some, one.

        Legal statuses: a rejection, ERROR.
        """

    def filter_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """A value that changes whenever something else that kept verdicts depend on has changed."""
        return None


class CapacityPlugin(FilterPlugin[Args]):
    """A filter that counts: it knows how many equal pods a node can take, not only whether it takes one more."""

    @abstractmethod
    def capacity(self, pod: PodInfo, nodes: NodeView) -> Scores:
        """int64, shape (nodes,): how many pods of this one's signature each node could take; never too few.

        Must go by the signature, the nodes and the pods on them alone. A group that needs more than all nodes together
        could take is not tried.
        """


class PreemptionPlugin(Plugin[Args]):
    """A plugin that tries what would be if pods came or went: its handle offers that.

    It extends no point by itself; a PostFilter plugin that preempts derives from both.
    """

    handle: PreemptionHandle

    def __init__(self, args: Args, handle: PreemptionHandle) -> None:
        """Keep `args` and `handle`."""
        super().__init__(args, handle)


class PostFilterPlugin(Plugin[Args]):
    """Tries to help a pod that no node can run, e.g. by preemption."""

    @abstractmethod
    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """`(nominated node or None, status)`. Success or ERROR ends the round; UNSCHEDULABLE asks the next plugin.

        What may take long passes a `checkpoint` now and then; nothing happens in the cluster meanwhile.

        Legal statuses: success, a rejection, ERROR.
        """


class PodGroupPostFilterPlugin(Plugin[Args]):
    """Tries to help a group whose members do not fit together, e.g. by preemption."""

    @abstractmethod
    def pod_group_post_filter(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> tuple[Mapping[str, str] | None, Status | None]:
        """`(node by UID of each nominated member, status)`; None leaves nominations as they are.

        Success or ERROR ends the round, and so does UNSCHEDULABLE_AND_UNRESOLVABLE; UNSCHEDULABLE asks the next plugin.
        It may take long, so it passes a `checkpoint` now and then; nothing happens in the cluster meanwhile. `state` is
        the group's.

        Legal statuses: success, a rejection, ERROR.
        """


class PreScorePlugin(Plugin[Args]):
    """Prepares scoring."""

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Called once with the nodes that passed every filter. SKIP leaves this plugin's Score out.

        Unless it is overridden, there is nothing to prepare.

        Legal statuses: success, SKIP, ERROR.
        """
        return None


class ScorePlugin(Plugin[Args]):
    """Ranks the nodes that can run the pod. `score_depends_on` works as `filter_depends_on` does.

    Where scores are remembered, so is what `normalize_score` makes of them for the same nodes, so it goes by scores
    alone.
    """

    score_depends_on: ClassVar[DependsOn] = DependsOn.CLUSTER

    @abstractmethod
    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """int64, shape (nodes,). Without normalising, 0 to 100; more is better."""

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        """Bring the scores of all feasible nodes into 0 to 100. Must not write into `scores`."""
        return scores

    def score_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """A value that changes whenever something else that remembered scores depend on has changed."""
        return None


class PlacementScorePlugin(Plugin[Args]):
    """Ranks the topology domains that can take a group."""

    @abstractmethod
    def score_placements(self, pods: Sequence[PodInfo], domains: Partition, snapshot: SnapshotReader) -> Scores:
        """int64, shape (domains,), 0 to 100: how good each domain is with all of `pods` on nodes of it.

        Asked before any is tried, about all members, and after a trial about those that fit. The score of a domain must
        not fall as pods are added: what is said of all members is the most that a trial in it may come to.
        """


class ReservePlugin(Plugin[Args]):
    """Keeps a plugin's own books when a pod is assumed on a node."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Called after the pod was assumed. A failure undoes every Reserve in reverse order.

        Legal statuses: success, a rejection, ERROR.
        """

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Undo `reserve`. Must not fail, must be idempotent, and may come without a `reserve` before it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Permit's answer that holds the pod on its node.

    Attributes:
        seconds: after that time the pod is turned away; `MAX_WAIT_SECONDS` at the longest.
        reasons: what the pod waits for, for people.
    """

    seconds: float
    reasons: tuple[str, ...] = ()


ALLOW: Final = Status(Code.SUCCESS)
"""Permit's answer that lets the pod go on."""


class PermitPlugin(Plugin[Args]):
    """Lets a reserved pod through, turns it away, or holds it."""

    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        """`ALLOW`, or None, lets the pod go on to be bound; a rejection turns it away; `Wait` holds it.

        Called after Reserve. A held pod goes on when every plugin that holds it has called `WaitingPod.allow`.

        Legal statuses: success, a rejection, ERROR.
        """


class PreBindPlugin(Plugin[Args]):
    """Does what must be done before the pod is bound, e.g. binding its volumes."""

    @abstractmethod
    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Whether there is anything to do: success, or SKIP to leave `pre_bind` out. Must be fast and do no I/O.

        Legal statuses: success, SKIP, ERROR.
        """

    @abstractmethod
    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Called in the binding cycle. Anything but success sends the pod back to the queue.

        Legal statuses: success, a rejection, ERROR.
        """

    def planned(self, state: CycleState, pod: PodInfo, node_name: str) -> Mapping[str, Any]:
        """What `pre_bind` would write, now that the pod is reserved on the node: plain data by topic.

        Explanations show it. Pure; nothing unless it is overridden.
        """
        return {}


class BindPlugin(Plugin[Args]):
    """Binds the pod to its node."""

    @abstractmethod
    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """SKIP passes the pod on to the next Bind plugin.

        Legal statuses: success, SKIP, a rejection, ERROR.
        """


class PostBindPlugin(Plugin[Args]):
    """Is called for every pod that was bound."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Called after the binding was accepted."""


POINTS: Mapping[str, type[Plugin]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "placementScore": PlacementScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
    "podGroupPostFilter": PodGroupPostFilterPlugin,
}


def extension_points(plugin: type[Plugin]) -> frozenset[str]:
    """The points that a plugin class extends."""
    return frozenset(point for point, base in POINTS.items() if issubclass(plugin, base))
