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
from .group_preemption import PodGroupInfo, PodGroupTrial
from .handle import Handle, PreemptionHandle, WatchedKind
from .recorded import RecordedContents
from .status import Code, Status
from .verdicts import Diagnosis, Mask, Verdicts


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod that waits to be scheduled. The queue owns and changes it; all other code only reads it.

    Attributes:
        info: the pod as last seen.
        timestamp: when it last entered the queue, seconds on the engine's clock.
        first_seen: when it entered the queue for the first time.
        attempts: scheduling attempts so far.
        group_priority: the priority with which its group is queued, if the group has one of its own.
    """

    info: PodInfo
    timestamp: float
    first_seen: float
    attempts: int = 0
    group_priority: int | None = None

    @property
    def priority(self) -> int:
        """The priority with which the pod is queued."""
        return self.info.priority if self.group_priority is None else self.group_priority


Scores = npt.NDArray[np.int64]
"""A score for each node or domain, from 0 to `MAX_NODE_SCORE` where it is not to be normalized."""
Counts = npt.NDArray[np.int64]
"""A number of pods for each node."""
MAX_NODE_SCORE = 100
Args = TypeVar("Args", default=Any)
"""The type of a plugin's arguments: its `args_model`, or None."""


class Plugin(ABC, Generic[Args]):
    """Base of all plugins. `FilterPlugin[MyArgs]` gives the type of the arguments, and so does every other base.

    Class attributes:
        name: the name in configuration, messages and metrics.
        args_model: pydantic model of `pluginConfig[].args`; None when the plugin takes none.
        watches: kinds of objects, besides pods and nodes, that the plugin lists through the handle.
        recorded: the contents of these objects and of the arguments, for anonymous copies of recordings.
    """

    name: ClassVar[str]
    args_model: ClassVar[type[BaseModel] | None] = None
    watches: ClassVar[tuple[WatchedKind, ...]] = ()
    recorded: ClassVar[RecordedContents] = RecordedContents()

    handle: Handle

    def __init__(self, args: Args, handle: Handle) -> None:
        """Keep `args`, an instance of `args_model` or None without a model, and `handle`."""
        self.args = args
        self.handle = handle

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the plugin applies to such a pod. Asked once per signature, so that it costs other pods nothing.

        False means SKIP at PreFilter, PreScore and PreBindPreFlight, success at Reserve, Unreserve and Permit, and a
        score of 0 on every node: the plugin is not called there. All other points are unaffected. The answer must
        follow from the pod's signature and from whether it has volumes, and never change.
        """
        return True


class EnqueueExtensions(Plugin[Args]):
    """Declares which events may help the pods that the plugin rejected.

    Without it, every event retries the pods that the plugin rejected.
    """

    @abstractmethod
    def events_to_register(self) -> Sequence[EventRegistration]:
        """The events, each with a hint if not every such event helps. Called once, when the profile is built.

        An empty sequence means that no event helps, and the plugin activates its pods itself.
        """


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
    """Looks at the pod once before any node is looked at."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
        """Called once an attempt with a view of all nodes.

        SKIP skips this plugin's Filter; UNSCHEDULABLE lets the other PreFilters run and then rejects the pod;
        UNSCHEDULABLE_AND_UNRESOLVABLE and PENDING reject it at once. The default does nothing.

        Legal statuses: success, SKIP, a rejection, ERROR.
        """
        return None


class PreFilterExtensions(Plugin[Args]):
    """Keeps PreFilter's notes consistent while pods are added to or removed from nodes in a trial."""

    @abstractmethod
    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        """`added` was just added to `node_name` in a trial for `pod`.

        Legal statuses: success, ERROR.
        """

    @abstractmethod
    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        """`removed` was just removed from `node_name` in a trial for `pod`.

        Legal statuses: success, ERROR.
        """


class FilterPlugin(Plugin[Args]):
    """Decides which nodes can run the pod.

    `filter_depends_on` declares what a verdict depends on; see `DependsOn`. Verdicts that depend only on the pod's
    signature and on the node are cached for pods of that signature, and computed again for changed nodes only. By
    default nothing is cached.
    """

    filter_depends_on: ClassVar[DependsOn] = DependsOn.CLUSTER
    rejects_alike: ClassVar[bool] = False
    """Whether its verdicts depend on nothing of the pod but its spec, namespace, labels and controller. If no node can
    take one such pod, the result holds for all pods that have these in common.
    """

    @abstractmethod
    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """A verdict for each of `nodes`. Called with any set of nodes: all, some, one.

        Legal statuses: a rejection, ERROR.
        """

    def filter_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """A value that changes whenever anything else changes on which cached verdicts depend."""
        return None

    def accepts_with_fewer_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Mask:
        """bool, shape (nodes,): which nodes it accepts as they are, and would accept without any of the pods on them.

        What preemption found on these nodes for a pod of the same signature is reused for this one. Only asked of a
        plugin that is `DependsOn.OBJECTS`. By default there is no such node.
        """
        return np.zeros(len(nodes), np.bool_)


class CapacityPlugin(FilterPlugin[Args]):
    """A filter that computes how many equal pods a node can take, not only whether it can take one more."""

    @abstractmethod
    def capacity(self, pod: PodInfo, nodes: NodeView) -> Counts:
        """int64, shape (nodes,): how many pods of this one's signature each node could take; never too few.

        Must depend only on the signature, the nodes and the pods on them, and on what `filter_epoch` says: the answer
        is kept while these are the same. Of a group that needs more than all nodes together could take, only the first
        of the last equal members is tried and, for the reason, members without capacity until too few are left for the
        quorum; all are tried if another plugin's filter applies to them and reads pods.
        """


class PreemptionPlugin(Plugin[Args]):
    """A plugin that tries what happens if pods are removed or added, with methods of its handle.

    It extends no point by itself; a PostFilter plugin that preempts derives from both.
    """

    handle: PreemptionHandle

    def __init__(self, args: Args, handle: PreemptionHandle) -> None:
        """Keep `args` and `handle`."""
        super().__init__(args, handle)


class PostFilterPlugin(Plugin[Args]):
    """Tries to help a pod that no node can run, for example by preemption."""

    @abstractmethod
    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """`(nominated node or None, status)`. Success or ERROR ends the round; UNSCHEDULABLE asks the next plugin.

        Long work passes a `checkpoint` now and then; the cluster state does not change meanwhile.

        Legal statuses: success, a rejection, ERROR.
        """


class PodGroupPostFilterPlugin(Plugin[Args]):
    """Tries to help a group whose members do not fit together, for example by preemption."""

    @abstractmethod
    def pod_group_post_filter(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> tuple[Mapping[str, str] | None, Status | None]:
        """`(node by UID of each nominated member, status)`; None leaves nominations as they are.

        Success or ERROR ends the round, and so does UNSCHEDULABLE_AND_UNRESOLVABLE; UNSCHEDULABLE asks the next plugin.
        Long work passes a `checkpoint` now and then; the cluster state does not change meanwhile. `state` is the
        group's, which followers find in the `GroupDecision`; for members beyond the quorum (`GroupPlugin.preempts_as`),
        it is that of the first of them, in its `PodDecision`.

        Legal statuses: success, a rejection, ERROR.
        """


class PreScorePlugin(Plugin[Args]):
    """Prepares scoring."""

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Called once with the nodes that passed every filter. SKIP skips this plugin's Score.

        The default does nothing.

        Legal statuses: success, SKIP, ERROR.
        """
        return None


class ScorePlugin(Plugin[Args]):
    """Ranks the nodes that can run the pod. `score_depends_on` works as `filter_depends_on` does.

    Where scores are cached, the result of `normalize_score` for the same nodes is cached too, so it must depend on the
    scores alone.
    """

    score_depends_on: ClassVar[DependsOn] = DependsOn.CLUSTER

    @abstractmethod
    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """int64, shape (nodes,). Without `normalize_score`, 0 to 100; more is better."""

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        """Scale the scores of all feasible nodes to 0 to 100. Must not write into `scores`."""
        return scores

    def score_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """A value that changes whenever anything else changes on which cached scores depend."""
        return None


class PlacementGeneratePlugin(Plugin[Args]):
    """Has groups that favour the placement score placed in their topology's domains, which the engine computes.

    In a profile without such a plugin, these groups are placed on any nodes. A profile has one at most.
    """


class PlacementScorePlugin(Plugin[Args]):
    """Ranks the topology domains that can take a group.

    Where `counts_members`, what counts besides `score_placements` is how many members of the group have a node with
    those that the domain takes, in per cent of the number with the domain that takes most.
    """

    counts_members: ClassVar[bool] = False

    @abstractmethod
    def score_placements(self, pods: Sequence[PodInfo], domains: Partition, snapshot: SnapshotReader) -> Scores:
        """int64, shape (domains,), 0 to 100: how good each domain is with all of `pods` on nodes of it.

        Called before any trial with all members, and after a trial with the members that fit. The score of a domain
        must not fall as pods are added: the score for all members is the upper bound of a trial in that domain.
        """


class ReservePlugin(Plugin[Args]):
    """Maintains a plugin's own state when a pod is assumed on a node, or placed there in a trial."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Called after the pod was assumed, or placed in a group's trial. A failure undoes every Reserve in reverse
        order.

        Legal statuses: success, a rejection, ERROR.
        """

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Undo `reserve`. Must not fail, must be idempotent, and may be called without `reserve` before it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Permit's answer that lets the pod wait on its node.

    Attributes:
        seconds: the time after which the pod is rejected; `MAX_WAIT_SECONDS` at most.
        reasons: what the pod waits for, for users.
    """

    seconds: float
    reasons: tuple[str, ...] = ()


ALLOW: Final = Status(Code.SUCCESS)
"""Permit's answer that lets the pod pass."""


class PermitPlugin(Plugin[Args]):
    """Lets a reserved pod pass, rejects it, or lets it wait."""

    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        """`ALLOW`, or None, lets the pod pass to Bind; a rejection rejects it; with `Wait` it waits.

        Called after Reserve. A waiting pod passes when every plugin for which it waits has called `WaitingPod.allow`.

        Legal statuses: success, a rejection, ERROR.
        """


class PreBindPlugin(Plugin[Args]):
    """Does the work that must precede the binding, for example binding the pod's volumes."""

    @abstractmethod
    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Success if `pre_bind` has work to do, SKIP if not. Must be fast and do no I/O.

        Legal statuses: success, SKIP, ERROR.
        """

    @abstractmethod
    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Called in the binding cycle. Any other answer than success returns the pod to the queue.

        Legal statuses: success, a rejection, ERROR.
        """

    def planned(self, state: CycleState, pod: PodInfo, node_name: str) -> Mapping[str, Any]:
        """The writes that `pre_bind` would make after the pod was reserved on the node: plain data by topic.

        Explanations show it. Pure. The default is nothing.
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
    """Called for every pod that was bound."""

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
    "placementGenerate": PlacementGeneratePlugin,
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
