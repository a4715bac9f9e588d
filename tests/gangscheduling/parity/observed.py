"""The outcome of a situation on the API, and its scheduler's choices: values that `verdict` compares."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.parity.choices import Choice
from tests.parity.world import Condition


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """A member of a group.

    Attributes:
        node, nominated: the names of nodes, without what tells the sides apart; "" for none.
        conditions: all that it has.
        choice: why it is on its node; None where no other passed.
        scores: what kube-scheduler scored then; nothing of Muster's.
    """

    node: str = ""
    nominated: str = ""
    conditions: tuple[Condition, ...] = ()
    choice: Choice | None = None
    scores: Mapping[str, int] = field(default_factory=dict)

    @property
    def reported(self) -> Condition | None:
        """The condition PodScheduled."""
        return next((each for each in self.conditions if each.type == "PodScheduled"), None)


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A PodGroup with its members by name.

    Attributes:
        quorum: how many of them it needs.
        constrained: whether it has to be in one domain.
        domains: where its bound members are.
        conditions: all that it has.
        placements: how kube-scheduler scored the domains when it last chose among several, without the pods that it may
            evict if it did so in order to evict; nothing of Muster's.
    """

    quorum: int
    constrained: bool
    domains: frozenset[str]
    conditions: tuple[Condition, ...]
    pods: Mapping[str, ObservedPod]
    placements: Mapping[str, int] = field(default_factory=dict)

    @property
    def bound(self) -> frozenset[str]:
        """Members that have nodes."""
        return frozenset(name for name, pod in self.pods.items() if pod.node)

    @property
    def has_quorum(self) -> bool:
        """Whether as many members have nodes as it needs."""
        return len(self.bound) >= self.quorum

    @property
    def said(self) -> Condition | None:
        """The condition PodGroupInitiallyScheduled."""
        return next((each for each in self.conditions if each.type == "PodGroupInitiallyScheduled"), None)


@dataclass(frozen=True, slots=True)
class Observed:
    """A whole situation: its groups by name, and which pods of low priority have been evicted."""

    groups: Mapping[str, ObservedGroup]
    evicted: frozenset[str] = frozenset()

    @property
    def transient(self) -> bool:
        """Whether kube-scheduler will try again: it has not heard of a group everywhere yet, or of some of its pods."""
        return any(
            (group.said is not None and "plugins: not found" in group.said.message) or _partly_told(group)
            for group in self.groups.values()
        )


def _partly_told(group: ObservedGroup) -> bool:
    reported = [pod.reported is not None for pod in group.pods.values() if not pod.node]
    return any(reported) and not all(reported)
