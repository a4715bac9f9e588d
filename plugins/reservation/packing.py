"""Packing: from free capacity on nodes to the node of each member.

Pure. Members of one kind go to the nodes on which most of them fit. Slices go to parts of the nodes one after another,
each as a whole. Other work may run after each kind of member.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from muster.framework.contract import checkpoint

Amounts = npt.NDArray[np.int64]
"""int64, shape (resources,) or (nodes, resources)."""
Nodes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Need:
    """The need of equal members.

    Attributes:
        amounts: int64, shape (resources,): the amount that each of them takes.
        count: the number of members.
        nodes: bool, shape (nodes,): the nodes that could run them with enough free capacity.
    """

    amounts: Amounts
    count: int
    nodes: npt.NDArray[np.bool_]

    def of(self, domain: Nodes) -> Need:
        """The need on the nodes of `domain` alone, numbered by their positions there."""
        return replace(self, nodes=self.nodes[domain])


@dataclass(frozen=True, slots=True)
class Slices:
    """Equal slices, each of which has to be together in one part of the nodes.

    Attributes:
        needs: the needs of one slice.
        times: the number of slices.
        parts: the nodes of each part; no node is in two parts.
    """

    needs: Sequence[Need]
    times: int
    parts: Sequence[Nodes]

    @property
    def count(self) -> int:
        """The number of members in all slices."""
        return self.times * sum(need.count for need in self.needs)

    def of(self, domain: Nodes) -> Slices:
        """The slices on the nodes of `domain` alone, numbered by their positions there."""
        place = np.full(len(self.needs[0].nodes), -1, np.intp)
        place[domain] = np.arange(len(domain))
        inside = [place[self.parts[number]] for number in np.flatnonzero(self.sums(place >= 0)).tolist()]
        needs = [need.of(domain) for need in self.needs]
        return Slices(needs, self.times, [part[part >= 0] for part in inside])

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """float64, shape (parts,): the sum of the nodes' values in each part."""
        if not self.parts:
            return np.zeros(0)
        starts = np.cumsum([0, *(len(part) for part in self.parts[:-1])])
        return np.add.reduceat(values[np.concatenate(self.parts)], starts, dtype=np.float64)


Asked: TypeAlias = Need | Slices
Packed: TypeAlias = tuple[tuple[int, ...], ...]
"""For each of the `kinds`, the node of each member."""


def kinds(asked: Sequence[Asked]) -> Iterator[Need]:
    """The kinds of members: a plan has the nodes of each of them."""
    for each in asked:
        if isinstance(each, Slices):
            yield from each.needs
        else:
            yield each


class Cost(NamedTuple):
    """The capacity that has to become free at unknown times, the worst part first: the smaller of two costs is better.

    Attributes:
        blocked: the number of members that wait for long-lived pods; alone if the end of these pods is known.
        moved: the number of members that lack capacity on nodes that were not chosen before.
        lacking: the number of members that lack capacity.
        missing: the missing capacity, summed over members as shares of their requests.
    """

    blocked: int = 0
    moved: int = 0
    lacking: int = 0
    missing: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """The sum of both costs."""
        return Cost(
            self.blocked + other.blocked,
            self.moved + other.moved,
            self.lacking + other.lacking,
            self.missing + other.missing,
        )


FREE = Cost()
"""The cost of a plan that needs only capacity that becomes free at known times."""


@dataclass(frozen=True, slots=True)
class EventualCapacity:
    """The capacity that becomes free when pods have ended that do not end soon for certain.

    Attributes:
        open_ended: int64, shape (nodes, resources): the capacity of all these pods.
        long_lived: int64, same shape: the part of it that long-lived pods use.
        chosen: bool, shape (nodes,): nodes that were chosen before and should be chosen again.
    """

    open_ended: Amounts
    long_lived: Amounts
    chosen: npt.NDArray[np.bool_]

    def of(self, part: Nodes) -> EventualCapacity:
        """The eventual capacity of the nodes of `part` alone, numbered by their positions there."""
        return EventualCapacity(self.open_ended[part], self.long_lived[part], self.chosen[part])

    @property
    def short_lived(self) -> Amounts:
        """int64, shape (nodes, resources): the capacity of the pods that are not long-lived."""
        return self.open_ended - self.long_lived

    def in_use(self, known: Amounts) -> npt.NDArray[np.float64]:
        """float64, shape (nodes,): the share of these pods in all capacity that can be free; `known` is free anyway."""
        share: npt.NDArray[np.float64] = (self.open_ended / np.maximum(known + self.open_ended, 1)).max(axis=1)
        return share


def pack(free: Amounts, asked: Sequence[Asked]) -> Packed | None:
    """Nodes for all members, on few nodes if that is easy; None if not all members fit."""
    return _put(_Left(free.copy()), asked)


def pack_later(known: Amounts, later: EventualCapacity, asked: Sequence[Asked]) -> tuple[Packed, Cost] | None:
    """Nodes for all members, and the cost: capacity that is free at a known time is taken first, then the cheapest."""
    left = _Left(known.copy(), later)
    found = _put(left, asked)
    return None if found is None else (found, left.cost)


@dataclass(slots=True)
class _Left:
    """The capacity that is left beside the members placed so far.

    Attributes:
        known: int64, shape (nodes, resources): the capacity that is free at a known time; negative where members wait
            for capacity that becomes free later.
        later: the capacity that may become free besides.
        cost: the cost of the members that wait for it.
    """

    known: Amounts
    later: EventualCapacity | None = None
    cost: Cost = FREE

    def take(self, need: Need) -> tuple[int, ...]:
        """Put members on nodes: all of them, or as many as fit."""
        fits, later = _capacity(self.known, need), self.later
        if later is None:
            return _take(self.known, need, fits, np.argsort(-fits, kind="stable"))
        nodes = _take(self.known, need, fits, np.lexsort((-fits, ~later.chosen)))
        if len(nodes) < need.count:
            nodes += self._wait(need, need.count - len(nodes), later, later.short_lived, blocked=False)
        if len(nodes) < need.count:
            nodes += self._wait(need, need.count - len(nodes), later, later.open_ended, blocked=True)
        return nodes

    def _wait(
        self, need: Need, count: int, later: EventualCapacity, freed: Amounts, *, blocked: bool
    ) -> tuple[int, ...]:
        """Put up to `count` members where they fit once `freed` is free too; the places that lack least come first.

        No member fits into the capacity that is free anyway, so only the first member on a node can use some of it.
        """
        fits = np.minimum(_capacity(self.known + freed, need), count)
        asked = need.amounts > 0
        lacks = (need.amounts - np.maximum(self.known, 0))[:, asked] / need.amounts[asked]
        first, moved = np.maximum(lacks, 0.0).max(axis=1, initial=0.0), ~later.chosen
        nodes = np.flatnonzero(fits)
        nodes = nodes[np.lexsort((first[nodes], moved[nodes]))][:count]
        places = np.repeat(nodes, fits[nodes])
        again = np.ones(len(places), np.bool_)
        again[np.cumsum(fits[nodes]) - fits[nodes]] = False
        missing = np.where(again, 1.0, first[places])
        best = np.lexsort((missing, moved[places]))[:count]
        taken = places[best]
        np.subtract.at(self.known, taken, need.amounts)
        cost = Cost(blocked * len(taken), int(moved[taken].sum()), len(taken), float(missing[best].sum()))
        self.cost = self.cost.plus(cost)
        return tuple(taken.tolist())

    def candidates(self, slices: Slices) -> Sequence[Nodes]:
        """The parts that may take a slice, those first in which the least capacity has to become free."""
        if self.later is None:
            found = np.flatnonzero(self._enough(slices, self.known))
            return [slices.parts[number] for number in found.tolist()]
        later = self.later
        soon = self._enough(slices, self.known + later.short_lived)
        found = np.flatnonzero(self._enough(slices, self.known + later.open_ended))
        chosen = slices.sums(later.chosen) > 0
        in_use = slices.sums(later.in_use(self.known)) / [len(part) for part in slices.parts]
        order = np.lexsort((in_use[found], ~chosen[found], ~soon[found]))
        return [slices.parts[number] for number in found[order].tolist()]

    def _enough(self, slices: Slices, free: Amounts) -> npt.NDArray[np.bool_]:
        """bool, shape (parts,): which parts may take a slice."""
        enough = np.ones(len(slices.parts), np.bool_)
        for need in slices.needs:
            enough &= slices.sums(_capacity(free, need)) >= need.count
        return enough

    def of(self, part: Nodes) -> _Left:
        """A copy for the nodes of `part` alone, numbered by their positions there."""
        return _Left(self.known[part], None if self.later is None else self.later.of(part), self.cost)

    def put_back(self, part: Nodes, copy: _Left) -> None:
        """Take over the placements of the copy."""
        self.known[part] = copy.known
        self.cost = copy.cost


def _put(left: _Left, asked: Sequence[Asked]) -> Packed | None:
    found: list[tuple[int, ...]] = []
    for each in asked:
        if isinstance(each, Slices):
            together = _put_slices(left, each)
            if together is None:
                return None
            found += together
            continue
        nodes = left.take(each)
        checkpoint()
        if len(nodes) < each.count:
            return None
        found.append(nodes)
    return tuple(found)


def _put_slices(left: _Left, slices: Slices) -> list[tuple[int, ...]] | None:
    """Put one slice after another; a part that does not take a slice is not tried for the next."""
    found: list[list[int]] = [[] for _ in slices.needs]
    times = slices.times
    for part in left.candidates(slices):
        needs = [need.of(part) for need in slices.needs]
        while times:
            inside = left.of(part)
            together = _put(inside, needs)
            if together is None:
                break
            left.put_back(part, inside)
            times -= 1
            for nodes, more in zip(found, together, strict=True):
                nodes += part[np.array(more, np.intp)].tolist()
        if not times:
            return [tuple(nodes) for nodes in found]
    return None


def _capacity(free: Amounts, need: Need) -> npt.NDArray[np.int64]:
    """int64, shape (nodes,): the number of such members that each node could take."""
    asked = need.amounts > 0
    fits = np.full(len(free), need.count, np.int64)
    if asked.any():
        fits = np.minimum(fits, (free[:, asked] // need.amounts[asked]).min(axis=1))
    return np.where(need.nodes, np.maximum(fits, 0), 0)


def _take(left: Amounts, need: Need, fits: npt.NDArray[np.int64], order: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """Put as many members on nodes as fit, in this order; `left` is the free capacity."""
    before = np.cumsum(fits[order]) - fits[order]
    taken = np.clip(need.count - before, 0, fits[order])
    used = order[taken > 0]
    left[used] -= taken[taken > 0, None] * need.amounts
    return tuple(np.repeat(order, taken).tolist())
