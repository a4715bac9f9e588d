"""The plugin contract: what a plugin may implement, what it is given and what it may answer.

What belongs here: extension points, statuses, verdicts, cycle state, cluster events and the handle. What does not:
anything that runs plugins. Everything a plugin author needs is re-exported from this package.
"""

from ..snapshot.journal import DependsOn
from ..snapshot.view import NodeInfo, NodeView
from .api import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Api, ApiError
from .cycle_state import CycleState
from .events import Action, ClusterEvent, EventRegistration, EventResource, Hint
from .group import GroupPlugin, ObjectFollower, PodFollower
from .handle import (
    Binder,
    Clock,
    ConditionWriter,
    EventSink,
    Handle,
    Lister,
    Timer,
    WaitingPod,
    WaitingPods,
    WatchedKind,
)
from .normalizing import normalize_to_highest
from .per_node import PerNodeFilter, PerNodeScore
from .per_signature import PerSignature
from .plugin import (
    BindPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from .status import Code, Status
from .verdicts import Diagnosis, StatusTable, Verdicts

__all__ = [
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "Action",
    "Api",
    "ApiError",
    "BindPlugin",
    "Binder",
    "Clock",
    "ClusterEvent",
    "Code",
    "ConditionWriter",
    "CycleState",
    "DependsOn",
    "Diagnosis",
    "EnqueueExtensions",
    "EventRegistration",
    "EventResource",
    "EventSink",
    "FilterPlugin",
    "GroupPlugin",
    "Handle",
    "Hint",
    "Lister",
    "NodeInfo",
    "NodeView",
    "ObjectFollower",
    "PerNodeFilter",
    "PerNodeScore",
    "PerSignature",
    "PermitPlugin",
    "Plugin",
    "PodFollower",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterExtensions",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortPlugin",
    "ReservePlugin",
    "ScorePlugin",
    "Status",
    "StatusTable",
    "Timer",
    "Verdicts",
    "WaitingPod",
    "WaitingPods",
    "WatchedKind",
    "normalize_to_highest",
]
