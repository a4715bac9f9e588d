"""The questions to extenders about a pod in one attempt, and their answers; kept in the attempt's state.

`framework.scheduler.extenders` asks them, and the cycles use the answers. A decision never waits for an extender: the
pod is set aside during the call, and decided again with the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..contract.extender import Victims
from ..contract.status import Status
from ..model.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class PreemptionQuestion:
    """The question to extenders before a pod evicts others.

    Attributes:
        victims: by node, the pods that the pod would evict there.
        pods: by node, all pods there by UID; an extender may name any of them.
    """

    victims: Mapping[str, Victims]
    pods: Mapping[str, Mapping[str, PodInfo]]


@dataclass(slots=True)
class Consultation:
    """The questions to extenders about one pod in one attempt, and their answers.

    Attributes:
        nominated_first: whether the nominated node comes before all others.
        only_nominated: whether extenders were asked about the nominated node alone.
        consulted_nodes: the names of the nodes that plugins allow, about which extenders are consulted.
        node_names: the names of those of them that extenders allow too.
        statuses: by name, why a node is not allowed, if an extender gave a reason.
        refused: the names of nodes that are out of the question in this attempt: an extender gave a reason, or allowed
            none of those that it was asked about.
        scores: by extender, the scores of nodes times its weight, on the scale of plugins' scores.
        error: set if an extender failed that is not ignorable.
        repeated: the record of a group's repeated questions; None for a pod without one.
        preemption: the question, open or answered, which pods the pod may evict.
        evictions: its answer: by node, the pods that the pod may evict there; a status if extenders failed.
        if_cleared: the questions about nodes that the pod could have if pods were evicted for its group.
    """

    nominated_first: bool = True
    only_nominated: bool = False
    consulted_nodes: frozenset[str] = frozenset()
    node_names: frozenset[str] = frozenset()
    statuses: Mapping[str, Status] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    error: Status | None = None
    repeated: RepeatedQuestions | None = None
    preemption: PreemptionQuestion | None = None
    evictions: Mapping[str, Victims] | Status | None = None
    if_cleared: IfCleared | None = None


@dataclass(slots=True)
class RepeatedQuestions:
    """How far a group has come in one attempt by asking extenders again; its members share one.

    Attributes:
        most_placed: the most members that were placed with the answers so far.
        in_vain: how many rounds in a row have not placed more.
        over: whether the group is decided with the answers that there are.
    """

    most_placed: int = -1
    in_vain: int = 0
    over: bool = False


@dataclass(slots=True)
class IfCleared(Consultation):
    """The extenders' answers about nodes that a group's member could have after evictions, and about these evictions.

    Attributes:
        heard: whether they have answered which nodes they let through.
        agreed: by node, the UIDs of the pods whose eviction they have agreed to.
        rounds: how often they were asked about evictions for the group.
        in_vain: how often they have agreed to all of these.
    """

    heard: bool = False
    agreed: dict[str, frozenset[str]] = field(default_factory=dict)
    rounds: int = 0
    in_vain: int = 0
