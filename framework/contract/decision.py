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

LEFT_ALONE = "LeftAlone"
"""Noted in the state of a pod that PreFilter turned away unseen, because its group was refused a moment ago."""
REFUSED_AS_ONE = "RefusedAsOne"
"""Noted in the state of a member when PreFilter turned its group away as a whole: no other member is asked then."""


@dataclass(frozen=True, slots=True)
class PodDecision:
    """What the scheduling cycle of one pod came to.

    Attributes:
        pod: the pod.
        state: the notes that plugins wrote in the attempt.
        node_name: the node it was placed on; "" for none.
        status: why it was not placed; None when it was.
        unschedulable_plugins: the plugins that turned it away.
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
        """Whether it says nothing new: the reason for which the pod's group was refused before still holds."""
        return self.state.get(LEFT_ALONE) is not None


@dataclass(frozen=True, slots=True)
class GroupDecision:
    """What the trial of a whole group came to.

    Attributes:
        plugin: the name of the group's plugin.
        group: as its `group_of` named it.
        status: the one status that all members get, `reject_group`'s answer; None when the group's quorum was placed.
        cause: the status that `reject_group` was asked about.
        placed: how many members fit in the trial.
        missing: how many had to.
        members: each member that was tried, as it was refused or placed by itself, in the order tried.
        waiting: all members that wait, the most important first, whether they were tried or not.
        no_domain: with a topology, what the search for a domain came to when none could take the group.
        state: the notes that PodGroupPostFilter plugins wrote.
        post_filter: what PodGroupPostFilter came to, as a sentence; "" when it was not asked.
        parts: of a tree, what each of its leaves came to, by its key: None for one that has what it needs.
        asked: of one that was refused, the group as it was tried, a tree with its parts.
        waiting_in: those that wait in each leaf of it, by its key, the most important first.
        untried: where some were not tried any more, one of each kind of them, as it would be decided about by itself.
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
    asked: Part | None = None
    waiting_in: Mapping[str, Sequence[PodInfo]] = field(default_factory=dict)
    untried: Sequence[PodDecision] = ()

    @property
    def evictions(self) -> Evictions | None:
        """The pods that preemption evicts for the group, if that makes enough capacity."""
        found = self.state.get(Evictions.KEY)
        return found if isinstance(found, Evictions) else None


RESERVATIONS = "reservations"
"""`Handle.shared(RESERVATIONS, dict)`: what is reserved for a waiting group, a sentence for people, by `plugin/id`."""


@dataclass(frozen=True, slots=True)
class Evictions:
    """Whom preemption would evict, for `explain` and `why`. Kept in the pod's, or the group's, state under `KEY`.

    Attributes:
        node_name: the node that the pod is to get; "" for a group.
        victims: the pods, most important first, without those that are on their way out already.
        nodes: where each victim runs, by its UID.
        forbidden_by: the PodDisruptionBudget (`namespace/name`) that would not let a victim go, by the pod's UID.
        placement: for a group, the node that each member is to get, by `namespace/name`.
    """

    KEY: ClassVar = "Evictions"

    node_name: str
    victims: tuple[PodInfo, ...]
    nodes: Mapping[str, str] = field(default_factory=dict)
    forbidden_by: Mapping[str, str] = field(default_factory=dict)
    placement: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TotalCapacity:
    """How much has to be free for a group, all nodes together. PreFilter writes it to a member's state under `KEY`.

    Attributes:
        amounts: by resource, without what members have that run.
        nodes: bool, shape (height,): the nodes that count.
        free: whether that much is.
    """

    KEY: ClassVar = "TotalCapacity"

    amounts: Mapping[str, int]
    nodes: Mask
    free: bool


class DecisionFollower(Plugin[Args]):
    """Acts on what was decided. Each method does nothing unless it is overridden.

    They are called before the pod goes back to the queue or on to be bound, and may use everything of the handle that
    does not await. An exception is logged and changes nothing. What may take long passes a `checkpoint` now and then.
    """

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """The pod was let into the queue (`status` is None), or is kept out of it for now, by whichever plugin."""

    def on_pod_decision(self, decision: PodDecision) -> None:
        """A pod that was tried by itself was placed or refused. Called once for each scheduling cycle."""

    def on_pod_released(self, decision: PodDecision) -> None:
        """A pod gave back the node that was reserved for it: `status` says why it is not bound to `node_name`.

        Called after Unreserve, and unlike that never in a trial. A node that it is nominated to here stays its own.
        """

    def on_group_decision(self, decision: GroupDecision) -> None:
        """A group that was tried as a whole was placed or refused. Its members get no `on_pod_decision`."""
