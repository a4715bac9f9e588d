"""The points at which plugins are called: their names in metrics and messages, and the answers that are legal there.

`PluginCalls` receives one with every call. The extension points have kube-scheduler's names and words; the others, such
as those of a `GroupPlugin`, have the name of the method.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..contract.legal import LEGAL_STATUSES, REJECTIONS
from ..contract.plugin import PreFilterResult, Wait
from ..contract.status import Code, Status
from ..contract.verdicts import Verdicts


@dataclass(frozen=True, eq=False)
class Point:
    """A point at which plugins are called.

    Attributes:
        name: as in metrics.
        words: what stands in front of an error there; `{}` is the plugin's name.
        legal: the codes that a plugin may answer, see `LEGAL_STATUSES`. Any other is an error.
        answers: the types of answers besides None.
    """

    name: str
    words: str
    legal: Collection[Code] = ()
    answers: tuple[type, ...] = (Status,)

    @cached_property
    def skips(self) -> bool:
        """Whether SKIP is legal at this point."""
        return Code.SKIP in self.legal


def _asked(name: str, words: str) -> Point:
    """A point where an answer of the plugin's stands in a tuple, checked by then: see `PluginCalls.ask`."""
    return Point(name, words, (), (tuple,))


def _of_group(method: str) -> Point:
    """A method of `GroupPlugin`."""
    return _asked(method, f'running {method} on group plugin "{{}}"')


# The queue.
CONCERNS = Point("Concerns", 'asking plugin "{}" whether the pod concerns it', (), (bool,))
PRE_ENQUEUE = Point("PreEnqueue", 'running PreEnqueue plugin "{}"', LEGAL_STATUSES["pre_enqueue"])
QUEUE_SORT = Point("QueueSort", 'running QueueSort plugin "{}"', (), (object,))
QUEUEING_HINT = _asked("QueueingHint", 'running QueueingHintFn of plugin "{}"')

TENANTS_MOVED = _asked("TenantsMoved", 'asking plugin "{}" whose turn may have changed')
TENANT_OF = _asked("TenantOf", 'asking plugin "{}" for the tenant of a namespace')
TURN_OF = _asked("TurnOf", 'asking plugin "{}" for the turn of a tenant')

# The scheduling cycle.
PRE_FILTER = Point(
    "PreFilter", 'running PreFilter plugin "{}"', LEGAL_STATUSES["pre_filter"], (Status, PreFilterResult)
)
ADD_POD = Point("PreFilterExtensionAddPod", 'running AddPod on PreFilter plugin "{}"', LEGAL_STATUSES["add_pod"])
REMOVE_POD = Point(
    "PreFilterExtensionRemovePod", 'running RemovePod on PreFilter plugin "{}"', LEGAL_STATUSES["remove_pod"]
)
FILTER = Point("Filter", 'running "{}" filter plugin', (), (Verdicts,))
FILTER_WORK = Point(FILTER.name, FILTER.words, (), (bool,))
FILTER_EPOCH = _asked("FilterEpoch", 'running FilterEpoch on filter plugin "{}"')
ACCEPTS_WITH_FEWER_PODS = _asked("AcceptsWithFewerPods", 'running AcceptsWithFewerPods on filter plugin "{}"')
CAPACITY = Point("Capacity", 'running Capacity of filter plugin "{}"', (), (np.ndarray,))
POST_FILTER = Point("PostFilter", 'running PostFilter plugin "{}"', LEGAL_STATUSES["post_filter"], (tuple,))
PRE_SCORE = Point("PreScore", 'running PreScore plugin "{}"', LEGAL_STATUSES["pre_score"])
SCORE = Point("Score", 'running Score plugins: plugin "{}" failed with', (), (object,))
SCORE_EPOCH = _asked("ScoreEpoch", 'running ScoreEpoch on score plugin "{}"')
NORMALIZE = Point("NormalizeScore", 'running Normalize on Score plugins: plugin "{}" failed with', (), (object,))
RESERVE = Point("Reserve", 'running Reserve plugin "{}"', LEGAL_STATUSES["reserve"])
UNRESERVE = Point("Unreserve", 'running Unreserve plugin "{}"')
PERMIT = Point("Permit", 'running Permit plugin "{}"', LEGAL_STATUSES["permit"], (Status, Wait))

# The binding cycle.
PRE_BIND_PRE_FLIGHT = Point(
    "PreBindPreFlight", 'running PreBindPreFlight "{}"', LEGAL_STATUSES["pre_bind_pre_flight"] | REJECTIONS
)
PRE_BIND = Point("PreBind", 'running PreBind plugin "{}"', LEGAL_STATUSES["pre_bind"])
PLANNED = _asked("Planned", 'running Planned on PreBind plugin "{}"')
BIND = Point("Bind", 'running Bind plugin "{}"', LEGAL_STATUSES["bind"])
POST_BIND = Point("PostBind", 'running PostBind plugin "{}"')

# Groups.
GROUP_OF = _of_group("GroupOf")
PRIORITY = _of_group("Priority")
MISSING = _of_group("Missing")
FAULT = _of_group("Fault")
REJECT_GROUP = _of_group("RejectGroup")
REJECT_TRIAL = _of_group("RejectTrial")
REJECT_MEMBER = _of_group("RejectMember")
REJECT_PART = _of_group("RejectPart")
TOPOLOGY = _of_group("Topology")
PLACED_MEMBERS = _of_group("PlacedMembers")
TREE = _of_group("Tree")
PART_OF = _of_group("PartOf")
PREEMPTION_PRIORITY = _of_group("PreemptionPriority")
MAY_PREEMPT = _of_group("MayPreempt")
PREEMPTS_AS = _of_group("PreemptsAs")
UID = _of_group("UID")
EVICTION_RULE = _asked("EvictionRule", 'running EvictionRule plugin "{}"')
EVICTION_LIMIT = _asked("EvictionLimit", 'running EvictionLimit plugin "{}"')
MAY_CLAIM = _asked("MayClaim", 'asking plugin "{}" whether pods may claim capacity back')
DISRUPTION = _asked("Disruption", 'running Disruption plugin "{}"')
DISRUPTION_EPOCH = _asked("DisruptionEpoch", 'running DisruptionEpoch on Disruption plugin "{}"')
POD_GROUP_POST_FILTER = Point(
    "PodGroupPostFilter", 'error in "{}" PodGroupPostFilter plugins', LEGAL_STATUSES["pod_group_post_filter"], (tuple,)
)
PLACEMENT_SCORE = Point("PlacementScore", 'running PlacementScore plugins: plugin "{}" failed with', (), (np.ndarray,))

# Capacity that is reserved.
RESERVED_SHARES = _asked("ReservedShares", 'asking plugin "{}" how much it reserves')
STARTS = _asked("Starts", 'asking plugin "{}" when those that wait start')

# Notifications of plugins.
FOLLOW = Point("Follow", 'notifying plugin "{}"', (), (object,))
