"""The plugin contract: what a plugin may implement, what it receives and what it may answer.

What belongs here: extension points, statuses, verdicts, cycle state, cluster events and the handle. What does not:
anything that runs plugins, and behaviour of any kind: helpers are in `muster.framework.authoring`, the books of groups
in `muster.framework.groups`, the object model in `muster.framework.model`. Every other name that a plugin author needs
is exported from this package, `contract.columns` or `contract.arguments`; a name that is not exported does not belong
to the contract.
"""

from ..config.args.models import PluginArgs
from ..config.fields import Int64, Text
from ..config.problems import Problem, invalid
from ..metrics import DevicesResult, EntityType, PreemptionResult, SchedulerMetrics
from ..model.meta import ObjectMeta, Wire
from ..model.node import Node
from ..model.pod import Pod
from ..model.pod_info import PodInfo, PodSignature
from ..snapshot.journal import DependsOn
from ..snapshot.partitions import Partition
from ..snapshot.reader import SnapshotReader
from ..snapshot.view import NodeInfo, NodeView
from ..work import Worker, at_each, checkpoint
from .api import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Api, ApiError, pod_path
from .cycle_state import CycleState, LongWork, Unfinished
from .decision import (
    LEFT_ALONE,
    QUOTA_EXCEEDED,
    REFUSED_AS_ONE,
    RESERVATIONS,
    DecisionFollower,
    Evictions,
    GroupDecision,
    PodDecision,
    TotalCapacity,
    WaitingTogether,
)
from .events import Action, ClusterEvent, EventRegistration, EventResource, Hint, HintAbout, HintFunction
from .eviction import HIGHEST_USER_PRIORITY, EvictionLimit, EvictionRule, EvictionWait
from .extender import Victims
from .group import (
    Disruption,
    DisruptionPlugin,
    EvictionLimitPlugin,
    EvictionRulePlugin,
    GroupPlugin,
    ObjectFollower,
    PodFollower,
)
from .group_tree import COMPOSITE_PREFIX, IMPOSSIBLE, EntityGroup, Part, Shortage, entity_group
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
    Counts,
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
from .pod_group import (
    DisruptionUnit,
    Placed,
    PodGroupInfo,
    PodGroupTrial,
    TrialFailed,
    with_preemption,
    with_reservation,
)
from .quota import QuotaKind, QuotaReport, QuotaUse
from .reservation import CapacityReserver, Start, StartForecaster
from .status import Code, Status
from .tenants import TenantOrderPlugin
from .topology import Favour, NoDomain, Topology, rank
from .verdicts import Codes, Diagnosis, Mask, StatusTable, Verdicts, fit_error
from .whole_nodes import WHOLE_NODES, NodeCondition, WholeNode

__all__ = [
    "ALLOW",
    "COMPOSITE_PREFIX",
    "HIGHEST_USER_PRIORITY",
    "IMPOSSIBLE",
    "LEFT_ALONE",
    "MAX_NODE_SCORE",
    "MAX_WAIT_SECONDS",
    "MERGE_PATCH",
    "QUOTA_EXCEEDED",
    "REFUSED_AS_ONE",
    "RESERVATIONS",
    "STRATEGIC_MERGE_PATCH",
    "WHOLE_NODES",
    "Action",
    "Api",
    "ApiError",
    "BindPlugin",
    "Binder",
    "CapacityPlugin",
    "CapacityReserver",
    "Clock",
    "ClusterEvent",
    "Code",
    "Codes",
    "ConditionWriter",
    "Counts",
    "CycleState",
    "DecisionFollower",
    "DependsOn",
    "DevicesResult",
    "Diagnosis",
    "Disruption",
    "DisruptionPlugin",
    "DisruptionUnit",
    "EnqueueExtensions",
    "EntityGroup",
    "EntityType",
    "EventRegistration",
    "EventResource",
    "EventSink",
    "EvictionLimit",
    "EvictionLimitPlugin",
    "EvictionRule",
    "EvictionRulePlugin",
    "EvictionWait",
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
    "PreemptionResult",
    "Problem",
    "QueueSortPlugin",
    "QueuedPod",
    "QuotaKind",
    "QuotaReport",
    "QuotaUse",
    "ReservePlugin",
    "SchedulerMetrics",
    "ScorePlugin",
    "Scores",
    "Shortage",
    "SnapshotReader",
    "Start",
    "StartForecaster",
    "Status",
    "StatusTable",
    "TenantOrderPlugin",
    "Text",
    "Timer",
    "Topology",
    "TotalCapacity",
    "Trial",
    "TrialFailed",
    "Unfinished",
    "Verdicts",
    "Victims",
    "Wait",
    "WaitingPod",
    "WaitingPods",
    "WaitingTogether",
    "WatchedKind",
    "WholeNode",
    "Wire",
    "Worker",
    "at_each",
    "checkpoint",
    "entity_group",
    "fit_error",
    "invalid",
    "pod_path",
    "rank",
    "with_preemption",
    "with_reservation",
]
