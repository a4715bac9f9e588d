"""Extenders: what a configured webhook may be asked, and what it answers.

The operator supplies extenders, and `framework.scheduler.extenders` calls them. A decision never waits for one: the pod
is set aside during the call, and decided again with the answers (`framework.runtime.consultation`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..model.pod_info import PodInfo

EXTENDER = "Extender"
"""Stands for extenders among the plugins that turned a pod away (kube-scheduler's ExtenderName)."""
MAX_EXTENDER_PRIORITY = 10
"""An extender's highest score."""


class ExtenderError(Exception):
    """An extender did not answer, or answered that it failed; the text is for users."""


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
    """A webhook. Only the verbs that it supports are called; each raises ExtenderError and nothing else.

    Attributes:
        name: the name for users, and of its scores.
        weight: the weight of its scores.
        ignorable: whether its failures are ignored.
        is_filter, is_prioritizer, is_binder, supports_preemption: whether it supports the verb.
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
        """Ask which of the nodes can run the pod."""
        ...

    async def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        """The scores of nodes, 0 to 10."""
        ...

    async def process_preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        """Ask which of the nodes would do, and which pods would be evicted there."""
        ...

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Bind the pod."""
        ...
