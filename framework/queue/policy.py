"""What the queue asks of others, and what the administrator sets.

`scheduler.profiles` answers for the plugins of all profiles; tests answer for themselves. None of the answers may call
the queue. One that raises, is an ERROR, or is something else than is asked for, keeps its pod out: see `Admission`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..contract.plugin import QueuedPod
from ..contract.status import Status
from ..model.pod_info import PodInfo
from .backoff_queue import BackoffPolicy
from .hints import Registrations


class QueuePolicy(Protocol):
    """What the profiles' plugins say of pods and groups, and what is known of capacity for them."""

    @property
    def sort_plugin(self) -> str:
        """The name of the QueueSort plugin."""
        ...

    @property
    def registrations(self) -> Registrations:
        """Which events may help whom."""
        ...

    @property
    def signature_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose refusals go by nothing but the pod's signature and the cluster."""
        ...

    @property
    def class_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose refusals go by what its equivalence class has in common, too."""
        ...

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...] | Status:
        """The QueueSort plugin's key, smaller first. At one position all keys have numbers, or all have strings."""
        ...

    def pre_enqueue(self, pod: PodInfo, first: str) -> Status | None:
        """The first rejection by a PreEnqueue plugin, stamped with its name; None or success when the pod may enter.

        Plugin `first`, unless it is empty, is asked before the others.
        """
        ...

    def group_of(self, pod: PodInfo) -> str | Status | None:
        """The id of the group that a pod belongs to; None for a pod by itself."""
        ...

    def has_capacity(
        self, group: str | None, pods: Collection[PodInfo], rejectors: frozenset[str], *, may_evict: bool
    ) -> bool:
        """Whether what the group lacks, or without one a pod by itself, could fit at all, before anything is tried.

        Also by evicting others, if it may. `pods` has one of each signature that waits. True also where not all plugins
        that count capacity are among the rejectors, for their events would not be heard, and where very many signatures
        wait.
        """
        ...

    def awaits_victims(self, pods: Iterable[PodInfo]) -> bool:
        """Whether pods are on their way out from nodes that one of these pods is nominated to."""
        ...

    def is_nominated_elsewhere(self, pod: PodInfo, node_name: str) -> bool:
        """Whether the pod is nominated to another node, and others are to this one."""
        ...

    def kept_out(self, pod: PodInfo, status: Status) -> None:
        """An error of a plugin keeps the pod out, which people are to be told."""
        ...


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """What the administrator sets.

    Attributes:
        backoff: initial and longest backoff.
        unschedulable_seconds: an entity that no event has helped for this long is tried all the same.
        most_at_once: plugins are asked about so many pods in one go; what concerns more is left to `settle`.
    """

    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)
    unschedulable_seconds: float = 300.0
    most_at_once: int = 256
