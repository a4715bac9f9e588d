"""What the queue is told when it is built."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from ..contract.queued_pod import QueuedPod
from ..contract.status import Status
from ..model.pod_info import PodInfo
from .backoff import BackoffPolicy
from .hints import Registrations

SortKey = Callable[[QueuedPod], tuple[Hashable, ...]]
PreEnqueue = Callable[[PodInfo, str], Status | None]


@dataclass(frozen=True, slots=True)
class QueueRules:
    """What the profiles' plugins say about the queue. None of the functions may raise or call the queue.

    Attributes:
        sort_key: the QueueSort plugin's key: smaller goes first. All its keys have the same length.
        pre_enqueue: `(pod, plugin)` to the first rejection by a PreEnqueue plugin of the pod's profile, stamped with
            its name; None or success when the pod may enter. `plugin`, unless empty, is asked before the others.
        group_of: the id of the group a pod belongs to; None for a pod by itself.
        registrations: which events help whom.
    """

    sort_key: SortKey
    pre_enqueue: PreEnqueue
    group_of: Callable[[PodInfo], str | None]
    registrations: Registrations


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """What the administrator sets.

    Attributes:
        backoff: initial and longest backoff.
        unschedulable_seconds: an entry that no event has helped for this long is tried all the same.
    """

    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)
    unschedulable_seconds: float = 300.0
