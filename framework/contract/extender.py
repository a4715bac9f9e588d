"""Extenders: what a webhook of the configuration may be asked, and what is kept of its answers in a pod's attempt.

The operator supplies extenders, `framework.scheduler.extenders` asks them, the cycles go by what they answered. A
decision never waits for one: the pod is put aside while it is asked, and decided again with the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..model.pod_info import PodInfo
from .status import Status

EXTENDER = "Extender"
"""Stands for extenders among the plugins that turned a pod away (kube-scheduler's ExtenderName)."""
MAX_EXTENDER_PRIORITY = 10
"""An extender's highest score."""


class ExtenderError(Exception):
    """An extender did not answer, or said that it failed; the text is for people."""


@dataclass(frozen=True, slots=True)
class ExtenderFilterResult:
    """An extender's answer to filter: the nodes that it leaves, and why not others, by name."""

    node_names: Sequence[str]
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_and_unresolvable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetaVictims:
    """Pods by UID that would be evicted from a node, and how many PodDisruptionBudgets forbid it of."""

    uids: Sequence[str]
    violations: int = 0


@dataclass(frozen=True, slots=True)
class Victims:
    """Pods that would be evicted from a node, and how many of them PodDisruptionBudgets forbid it of.

    Attributes:
        pods: the pods, most important first.
        violations: how many of them no budget lets go.
    """

    pods: Sequence[PodInfo]
    violations: int = 0


class Extender(Protocol):
    """A webhook. What it does not take part in it need not be asked; every verb raises ExtenderError and nothing else.

    Attributes:
        name: for people, and for its scores.
        weight: what its scores count.
        ignorable: whether a failure of its is passed over.
        is_filter, is_prioritizer, is_binder, supports_preemption: which verbs it has.
    """

    name: str
    weight: int
    ignorable: bool
    is_filter: bool
    is_prioritizer: bool
    is_binder: bool
    supports_preemption: bool

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether it wants to see such a pod."""
        ...

    async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
        """Which of the nodes can run the pod."""
        ...

    async def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        """How good nodes are, 0 to 10."""
        ...

    async def process_preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        """Which of the nodes would do, and whom the pod would evict there."""
        ...

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Bind the pod."""
        ...


@dataclass(frozen=True, slots=True)
class PreemptionQuestion:
    """What extenders are asked before a pod evicts others.

    Attributes:
        victims: by node, whom the pod would evict there.
        pods: by node, all pods there by UID; an extender may name any of them.
    """

    victims: Mapping[str, Victims]
    pods: Mapping[str, Mapping[str, PodInfo]]


@dataclass(slots=True)
class Consultation:
    """What extenders have been asked about one pod in one attempt, and what they answered.

    Attributes:
        nominated_first: whether the node that the pod is nominated to comes before all others.
        only_nominated: whether that is the only one that was asked about.
        asked: the nodes that plugins let through.
        node_names: those of them that extenders let through as well.
        statuses: why not others, by name, where an extender gave a reason.
        scores: by extender, the score of nodes, times its weight, on the scale of plugins' scores.
        error: set when an extender failed that is not ignorable.
        outdated: set when the nodes that extenders let through do not fit any more by the time they have answered.
        preemption: what is to be asked, or was, of whom the pod may evict.
        evictions: the answer to it: by node, whom the pod may evict there; a status when it may not be had.
        if_cleared: the same for nodes that the pod could have if others were evicted, where its group looks for these.
    """

    nominated_first: bool = True
    only_nominated: bool = False
    asked: frozenset[str] = frozenset()
    node_names: frozenset[str] = frozenset()
    statuses: Mapping[str, Status] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    error: Status | None = None
    outdated: bool = False
    preemption: PreemptionQuestion | None = None
    evictions: Mapping[str, Victims] | Status | None = None
    if_cleared: IfCleared | None = None


@dataclass(slots=True)
class IfCleared(Consultation):
    """What extenders say of nodes that a member of a group could have if pods were evicted, and of evicting these.

    Attributes:
        heard: whether they have answered which nodes they let through.
        agreed: by node, the UIDs of the pods whose eviction they have agreed to.
        rounds: how often they were asked about evictions.
    """

    heard: bool = False
    agreed: dict[str, frozenset[str]] = field(default_factory=dict)
    rounds: int = 0
