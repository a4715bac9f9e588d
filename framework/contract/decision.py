"""Consequences of decisions, for plugins that keep state of their own about them.

Deciding is pure: `why`, `explain` and `simulate` also call PreEnqueue, PreFilter, Filter, PostFilter, PreScore, Score
and `GroupPlugin.reject_group`, any number of times, and nothing that these methods do may outlive the answer. What a
plugin has to do about a decision (deny a group for a while, evict a victim, arm a timer, notify its controller), it
does here: only the code that acts on a decision calls these methods. Findings of PreFilter or PostFilter that a
follower needs are passed on in the attempt's `CycleState`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ..model.pod_info import PodInfo
from ..snapshot.view import Rows
from .cycle_state import CycleState
from .group_tree import Part
from .plugin import Args, Plugin
from .status import Status
from .topology import NoDomain
from .verdicts import Mask

QUOTA_EXCEEDED = "QuotaExceeded"
"""The reason of the condition PodScheduled of pods that wait for quota, and of the condition of their group.

Autoscalers add nodes for pods with the reason Unschedulable alone.
"""
LEFT_ALONE = "LeftAlone"
"""Noted in the state of a pod that PreFilter rejected without a trial, because its group was rejected a moment ago."""
REJECTED_AS_ONE = "RejectedAsOne"
"""Noted in a member's state when PreFilter rejected its group as a whole: no other member is tried then."""


@dataclass(frozen=True, slots=True)
class PodDecision:
    """The result of the scheduling cycle of one pod.

    Attributes:
        pod: the pod.
        state: the notes that plugins wrote in the attempt.
        node_name: the node on which it was placed; "" for none.
        status: why it was not placed; None if it was.
        unschedulable_plugins: the plugins that rejected it.
        within: rows of the only nodes that it may have, ascending: the topology domain of its group; None for all.
    """

    pod: PodInfo
    state: CycleState
    node_name: str
    status: Status | None
    unschedulable_plugins: frozenset[str] = frozenset()
    within: Rows | None = None

    @property
    def left_alone(self) -> bool:
        """Whether the decision contains nothing new: the reason for the last rejection of the group is still valid."""
        return self.state.get(LEFT_ALONE) is not None


@dataclass(frozen=True, slots=True)
class GroupDecision:
    """The result of the trial of a whole group.

    Attributes:
        plugin: the name of the group's plugin.
        group: its id, as the plugin's `group_of` named it.
        status: the one status that all members get, `reject_group`'s answer; None when the group's quorum was placed.
        cause: the status that was passed to `reject_group`.
        placed: how many members fit in the trial.
        missing: how many had to.
        members: each member that was tried, as it was rejected or placed by itself, in the order tried.
        waiting: all waiting members, the most important first, whether they were tried or not.
        no_domain: with a topology, the result of the search for a domain if none could take the group.
        state: the notes that PodGroupPostFilter plugins wrote.
        post_filter: the result of PodGroupPostFilter, as a sentence; "" if it was not asked.
        parts: for a tree, the result of each of its leaves, by its key: None for a leaf that has what it needs.
        tried_as: for a rejection, the group as it was tried, a tree with its parts.
        waiting_in: the waiting members of each leaf, by its key, the most important first.
        untried: if some members were not tried, one of each kind of them, as it would be decided alone.
    """

    plugin: str
    group: str
    status: Status | None
    cause: Status | None
    placed: int
    missing: int
    members: Sequence[PodDecision]
    waiting: Sequence[PodInfo]
    no_domain: NoDomain | None = None
    state: CycleState = field(default_factory=CycleState)
    post_filter: str = ""
    parts: Mapping[str, Status | None] = field(default_factory=dict)
    tried_as: Part | None = None
    waiting_in: Mapping[str, Sequence[PodInfo]] = field(default_factory=dict)
    untried: Sequence[PodDecision] = ()

    @property
    def evictions(self) -> Evictions | None:
        """The pods that preemption evicts for the group, if their eviction frees enough capacity."""
        found = self.state.get(Evictions.KEY)
        return found if isinstance(found, Evictions) else None


RESERVATIONS = "reservations"
"""`Handle.shared(RESERVATIONS, dict)`: the reservation of a waiting group, a sentence for users, by `EntityGroup`."""


@dataclass(frozen=True, slots=True)
class Evictions:
    """The pods that preemption would evict, for `explain` and `why`. Kept in the pod's or group's state under `KEY`.

    Attributes:
        node_name: the node that the pod is to get; "" for a group.
        victims: the pods, most important first, without those that are terminating already.
        nodes: where each victim runs, by its UID.
        forbidden_by: the PodDisruptionBudget (`namespace/name`) that forbids an eviction, by the pod's UID.
        placement: for a group, the node that each member is to get, by `namespace/name`.
    """

    KEY: ClassVar = "Evictions"

    node_name: str
    victims: tuple[PodInfo, ...]
    nodes: Mapping[str, str] = field(default_factory=dict)
    forbidden_by: Mapping[str, str] = field(default_factory=dict)
    placement: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WaitingTogether:
    """The members of a group that are tried together. Written to the state of each of them under `KEY`.

    Attributes:
        pods: the waiting members.
        missing: how many of them have to be placed.
    """

    KEY: ClassVar = "WaitingTogether"

    pods: Sequence[PodInfo]
    missing: int


@dataclass(frozen=True, slots=True)
class TotalCapacity:
    """The capacity that a group needs, on all nodes together. PreFilter writes it to a member's state under `KEY`.

    Attributes:
        amounts: by resource, without the amounts of running members.
        nodes: bool, shape (height,): the nodes that count.
        free: whether that much is free.
    """

    KEY: ClassVar = "TotalCapacity"

    amounts: Mapping[str, int]
    nodes: Mask
    free: bool


class DecisionFollower(Plugin[Args]):
    """Carries out the consequences of decisions. Each method does nothing by default.

    They are called before the pod returns to the queue or goes on to Bind, and may use everything of the handle that
    does not await. An exception is logged and changes nothing. Long work passes a `checkpoint` now and then.
    """

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """The pod was admitted to the queue (`status` is None), or is kept out of it for now, by whichever plugin."""

    def on_pod_decision(self, decision: PodDecision) -> None:
        """A single pod was placed or rejected. Called once for each scheduling cycle."""

    def on_pod_released(self, decision: PodDecision) -> None:
        """A pod gave up the node that was reserved for it: `status` says why it is not bound to `node_name`.

        Called after Unreserve, but never in a trial. If the plugin nominates the pod to a node here, the nomination
        stays.
        """

    def on_group_decision(self, decision: GroupDecision) -> None:
        """A group that was tried as a whole was placed or rejected.

        Members decided with the group get no `on_pod_decision`; members tried alone afterwards do.
        """
