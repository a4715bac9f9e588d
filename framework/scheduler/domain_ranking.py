"""Which of the domains that can take a group it gets: the order of trials, when to stop, and the choice.

The search for a domain calls it. A ranking knows before any trial how good each domain can be at most, so the search
stops as soon as no other domain can be better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from ..model.pod_info import PodInfo
from ..work import checkpoint
from .domain_order import Counts, DomainCapacity, highest_first, tightest_first
from .node_choice import Choose

_MOST = 100
"""The highest share of members."""


class Fits(Protocol):
    """A domain that took enough members."""

    @property
    def number(self) -> int:
        """The domain."""
        ...

    @property
    def placed(self) -> Sequence[PodInfo]:
        """The members that fit."""
        ...


F = TypeVar("F", bound=Fits)


class DomainRanking(Protocol):
    """An order of domains, and a choice among them."""

    def order(self, missing: int) -> list[int]:
        """Domains to try, the most promising first, without those that have no capacity for `missing` members."""
        ...

    def is_best(self, number: int, placed: Sequence[PodInfo]) -> bool:
        """Whether this domain is the first."""
        ...

    def best(self, fitting: Sequence[F]) -> F:
        """The one to take of those that took enough members."""
        ...


class Tightest:
    """The first domain that takes the group: they are tried in the order of what is left over."""

    def __init__(self, capacity: DomainCapacity, members: int) -> None:
        self._capacity = capacity
        self._members = members

    def order(self, missing: int) -> list[int]:
        """The smallest hole first."""
        return tightest_first(self._capacity, missing, self._members)

    def is_best(self, number: int, placed: Sequence[PodInfo]) -> bool:
        """Always: the smallest domain is tried first, and the first that fits is the best."""
        return True

    def best(self, fitting: Sequence[F]) -> F:
        """The only one."""
        return fitting[0]


class PlacementScores(NamedTuple):
    """The scores of a profile's PlacementScore plugins.

    Attributes:
        of: the weighted scores of all domains with these members in each.
        members_weight: the weight of the share of members that have a node.
        rising: whether no score falls as members are added, because no weight is negative.
    """

    of: Callable[[Sequence[PodInfo]], Counts]
    members_weight: int
    rising: bool


class ByPlacementScore:
    """kube-scheduler's ranking: the scores of PlacementScore plugins, and the share of members that have a node.

    `members` are to be placed, `placed` have a node already.
    """

    def __init__(
        self,
        capacity: DomainCapacity,
        members: Sequence[PodInfo],
        placed: int,
        scores: PlacementScores,
        *,
        choose: Choose,
    ) -> None:
        self._capacity = capacity
        self._members = members
        self._placed = placed
        self._scores = scores
        self._choose = choose
        self._highest = scores.of(members)
        fit = np.minimum(capacity.members, len(members))
        self._bounds = self._highest + self._count(fit, placed + len(members))
        self._left: list[int] = []
        self._top = -1

    def order(self, missing: int) -> list[int]:
        """The highest bound first, equals in any order."""
        mixed = np.arange(len(self._bounds))
        for index in range(len(mixed) - 1, 0, -1):
            other = self._choose(index + 1)
            mixed[index], mixed[other] = mixed[other], mixed[index]
        self._left = highest_first(self._capacity, missing, self._bounds, mixed)
        return self._left

    def is_best(self, number: int, placed: Sequence[PodInfo]) -> bool:
        """Bounds hold once one domain has taken all members: until then the shares are of an unknown most."""
        after = self._left[self._left.index(number) + 1 :]
        if len(placed) == len(self._members):
            self._top = max(self._top, int(self._highest[number]) + _MOST * self._scores.members_weight)
        return self._scores.rising and self._top >= 0 and (not after or int(self._bounds[after[0]]) <= self._top)

    def best(self, fitting: Sequence[F]) -> F:
        """The highest total; of equals the first tried."""
        most = self._placed + max(len(each.placed) for each in fitting)
        totals: list[int] = []
        for each in fitting:
            placed = each.placed
            scores = self._highest if len(placed) == len(self._members) else self._scores.of(placed)
            totals.append(int(scores[each.number]) + int(self._count(np.array(len(placed)), most)))
            checkpoint()
        return fitting[totals.index(max(totals))]

    def _count(self, fit: Counts, most: int) -> Counts:
        """PodGroupPodsCount: members with a node, in per cent of those in the domain that has most, weighted."""
        share: Counts = (self._placed + fit) * _MOST // most * self._scores.members_weight
        return share
