"""The plugin contract: what a plugin may implement, what it is given and what it may answer.

What belongs here: extension points, statuses, verdicts, cycle state, cluster events and the handle. What does not:
anything that runs plugins, and behaviour of any kind: helpers are in `muster.framework.authoring`, the books of groups
in `muster.framework.groups`. Every other name that a plugin author needs is exported from this package, those of the
object model and the snapshot included; a name that is not exported is no part of the contract.
"""

from ..config.args.models import PluginArgs
from ..config.fields import Int64, Text
from ..config.problems import Problem, invalid
from ..metrics import SchedulerMetrics
from ..model.meta import ObjectMeta, Wire
from ..model.node import Node
from ..model.pod import Pod
from ..model.pod_info import PodInfo, PodSignature
from ..snapshot.journal import DependsOn
from ..snapshot.partitions import Partition
from ..snapshot.reader import SnapshotReader
from ..snapshot.view import NodeInfo, NodeView
from ..work import checkpoint
from .api import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Api, ApiError
from .cycle_state import CycleState, LongWork, Unfinished
from .decision import (
    LEFT_ALONE,
    PROMISES,
    REFUSED_AS_ONE,
    DecisionFollower,
    Evictions,
    GroupDecision,
    PodDecision,
    RoomInAll,
)
from .events import Action, ClusterEvent, EventRegistration, EventResource, Hint, HintAbout, HintFunction
from .extender import Victims
from .group import Disruption, DisruptionPlugin, GroupPlugin, ObjectFollower, PodFollower
from .group_tree import Part, Shortage
from .group_view import GroupId, GroupKind, GroupStatus, GroupView, JoiningPod
from .handle import (
    MAX_WAIT_SECONDS,
    Binder,
    Clock,
    ConditionWriter,
    EventSink,
    Handle,
    HasMetadata,
    Lister,
    PreemptionHandle,
    Timer,
    WaitingPod,
    WaitingPods,
    WatchedKind,
)
from .nominator import Nominator, Trial
from .plugin import (
    ALLOW,
    MAX_NODE_SCORE,
    BindPlugin,
    CapacityPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    PlacementScorePlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreemptionPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    Scores,
    Wait,
)
from .pod_group import DisruptionUnit, Placed, PodGroupInfo, PodGroupTrial, TrialFailed
from .status import Code, Status
from .topology import Favour, NoDomain, Topology
from .verdicts import Codes, Diagnosis, Mask, StatusTable, Verdicts, fit_error
from .whole_nodes import WHOLE_NODES, NodeCondition, WholeNode

__all__ = [
    "ALLOW",
    "LEFT_ALONE",
    "MAX_NODE_SCORE",
    "MAX_WAIT_SECONDS",
    "MERGE_PATCH",
    "PROMISES",
    "REFUSED_AS_ONE",
    "STRATEGIC_MERGE_PATCH",
    "WHOLE_NODES",
    "Action",
    "Api",
    "ApiError",
    "BindPlugin",
    "Binder",
    "CapacityPlugin",
    "Clock",
    "ClusterEvent",
    "Code",
    "Codes",
    "ConditionWriter",
    "CycleState",
    "DecisionFollower",
    "DependsOn",
    "Diagnosis",
    "Disruption",
    "DisruptionPlugin",
    "DisruptionUnit",
    "EnqueueExtensions",
    "EventRegistration",
    "EventResource",
    "EventSink",
    "Evictions",
    "Favour",
    "FilterPlugin",
    "GroupDecision",
    "GroupId",
    "GroupKind",
    "GroupPlugin",
    "GroupStatus",
    "GroupView",
    "Handle",
    "HasMetadata",
    "Hint",
    "HintAbout",
    "HintFunction",
    "Int64",
    "JoiningPod",
    "Lister",
    "LongWork",
    "Mask",
    "NoDomain",
    "Node",
    "NodeCondition",
    "NodeInfo",
    "NodeView",
    "Nominator",
    "ObjectFollower",
    "ObjectMeta",
    "Part",
    "Partition",
    "PermitPlugin",
    "Placed",
    "PlacementScorePlugin",
    "Plugin",
    "PluginArgs",
    "Pod",
    "PodDecision",
    "PodFollower",
    "PodGroupInfo",
    "PodGroupPostFilterPlugin",
    "PodGroupTrial",
    "PodInfo",
    "PodSignature",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterExtensions",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "PreemptionHandle",
    "PreemptionPlugin",
    "Problem",
    "QueueSortPlugin",
    "QueuedPod",
    "ReservePlugin",
    "RoomInAll",
    "SchedulerMetrics",
    "ScorePlugin",
    "Scores",
    "Shortage",
    "SnapshotReader",
    "Status",
    "StatusTable",
    "Text",
    "Timer",
    "Topology",
    "Trial",
    "TrialFailed",
    "Unfinished",
    "Verdicts",
    "Victims",
    "Wait",
    "WaitingPod",
    "WaitingPods",
    "WatchedKind",
    "WholeNode",
    "Wire",
    "checkpoint",
    "fit_error",
    "invalid",
]
