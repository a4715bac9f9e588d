"""What the queue is told when it is built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from ..contract.plugin import QueuedPod
from ..contract.status import Status
from ..model.pod_info import PodInfo
from .backoff_queue import BackoffPolicy
from .hints import Registrations

SortKey = Callable[[QueuedPod], tuple[Hashable, ...] | Status]
PreEnqueue = Callable[[PodInfo, str], Status | None]
HasRoom = Callable[[str | None, Collection[PodInfo], frozenset[str], bool], bool]


@dataclass(frozen=True, slots=True)
class QueueRules:
    """What the profiles' plugins say about the queue. None of the functions may call the queue.

    A function that raises, or answers an ERROR or something else than is asked for, keeps its pod out: see `Admission`.

    Attributes:
        sort_key: the QueueSort plugin's key: smaller goes first. Keys are tuples of numbers and strings, and at one
            position all have either.
        pre_enqueue: `(pod, plugin)` to the first rejection by a PreEnqueue plugin of the pod's profile, stamped with
            its name; None or success when the pod may enter. `plugin`, unless empty, is asked before the others.
        group_of: the id of the group a pod belongs to; None for a pod by itself.
        registrations: which events help whom.
        has_room: `(group, pods, rejectors, may_evict)` to whether what the group lacks, or without one a pod by itself,
            could find room at all, before anything is tried, also by evicting others if it may; `pods` has one of each
            signature that waits. True also where not all plugins that count room are among the rejectors, for their
            events would not be heard, and where very many signatures wait.
        awaits_victims: whether pods are on their way out from nodes that one of these pods is promised.
        promised_to_others: `(pod, node)` to whether the pod is promised another node, and this one is to others.
        signature_plugins: by profile, the plugins whose refusals go by nothing but the pod's signature and the cluster.
        class_plugins: by profile, the plugins whose refusals go by what its equivalence class has in common, too.
        sort_plugin: the name of the QueueSort plugin.
        on_error: called with each pod that an error of a plugin keeps out, so that people are told.
    """

    sort_key: SortKey
    pre_enqueue: PreEnqueue
    group_of: Callable[[PodInfo], str | Status | None]
    registrations: Registrations
    has_room: HasRoom = lambda group, pods, rejectors, may_evict: True
    awaits_victims: Callable[[Iterable[PodInfo]], bool] = lambda pods: False
    promised_to_others: Callable[[PodInfo, str], bool] = lambda pod, node_name: False
    signature_plugins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    class_plugins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sort_plugin: str = ""
    on_error: Callable[[PodInfo, Status], None] = lambda pod, status: None


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """What the administrator sets.

    Attributes:
        backoff: initial and longest backoff.
        unschedulable_seconds: an entity that no event has helped for this long is tried all the same.
        most_at_once: plugins are asked about so many pods in one go; what concerns more is done in steps.
    """

    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)
    unschedulable_seconds: float = 300.0
    most_at_once: int = 256
