"""Putting members on nodes: what is free in, and where each of them goes out.

Pure. Members of one kind go to nodes on which most of them fit. Slices go to parts of the nodes one after another, each
whole. Work is let in after each kind of member that is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Steps

Amounts = npt.NDArray[np.int64]
"""int64, shape (resources,) or (nodes, resources)."""
Nodes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Need:
    """Members that are alike.

    Attributes:
        amounts: int64, shape (resources,): what each of them takes.
        count: how many there are.
        nodes: bool, shape (nodes,): which nodes could run them if enough were free.
    """

    amounts: Amounts
    count: int
    nodes: npt.NDArray[np.bool_]

    def of(self, domain: Nodes) -> Need:
        """The same where there are some nodes alone, which are numbered as they stand in `domain`."""
        return replace(self, nodes=self.nodes[domain])


@dataclass(frozen=True, slots=True)
class Slices:
    """Members so many of which at a time have to be together.

    Attributes:
        needs: those of one slice.
        times: how many slices are alike.
        parts: nodes, in one of which a slice has to be; no node is in two of them.
    """

    needs: Sequence[Need]
    times: int
    parts: Sequence[Nodes]

    @property
    def count(self) -> int:
        """How many members there are."""
        return self.times * sum(need.count for need in self.needs)

    def of(self, domain: Nodes) -> Slices:
        """The same where there are some nodes alone, which are numbered as they stand in `domain`."""
        place = np.full(len(self.needs[0].nodes), -1, np.intp)
        place[domain] = np.arange(len(domain))
        inside = [place[self.parts[number]] for number in np.flatnonzero(self.sums(place >= 0)).tolist()]
        needs = [need.of(domain) for need in self.needs]
        return Slices(needs, self.times, [part[part >= 0] for part in inside])

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """float64, shape (parts,): what values of nodes come to in each part."""
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


def pack(free: Amounts, asked: Sequence[Asked]) -> Steps[Packed | None]:
    """Nodes for all members, on as few nodes as come easily; None where they are not found."""
    return (yield from _put(_Left(free.copy()), asked))


def pack_later(known: Amounts, open_ended: Amounts, asked: Sequence[Asked]) -> Steps[Packed | None]:
    """The same where first what is free at a known time is taken, then nodes where pods without an end have least.

    `open_ended` is what these have.
    """
    return (yield from _put(_Left(known.copy(), _Later(open_ended, known + open_ended)), asked))


@dataclass(frozen=True, slots=True)
class _Later:
    """What may come free besides, when pods without a known end have ended: what they have, and what is left then."""

    open_ended: Amounts
    most: Amounts

    def in_use(self) -> npt.NDArray[np.float64]:
        """float64, shape (nodes,): which share of a node they have."""
        share: npt.NDArray[np.float64] = (self.open_ended / np.maximum(self.most + self.open_ended, 1)).max(axis=1)
        return share


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of the nodes beside members that are put there: what is free at a known time, then `later`."""

    known: Amounts
    later: _Later | None = None

    def take(self, need: Need) -> tuple[int, ...]:
        """Put members on nodes: all of them, or as many as find room."""
        nodes = _take(self.known, need, need.count, _capacity(self.known, need))
        if self.later is None:
            return nodes
        most, lacking = self.later.most, need.count - len(nodes)
        np.subtract.at(most, np.array(nodes, np.intp), need.amounts)
        if not lacking:
            return nodes
        order = np.argsort(self.later.in_use(), kind="stable")
        more = _take(most, need, lacking, _capacity(most, need), order)
        np.subtract.at(self.known, np.array(more, np.intp), need.amounts)
        return nodes + more

    def candidates(self, slices: Slices) -> Sequence[Nodes]:
        """The parts that may take a slice; those first in which pods without a known end have least."""
        free = self.known if self.later is None else self.later.most
        enough = np.ones(len(slices.parts), np.bool_)
        for need in slices.needs:
            enough &= slices.sums(_capacity(free, need)) >= need.count
        found = np.flatnonzero(enough)
        if self.later is not None:
            in_use = slices.sums(self.later.in_use()) / [len(part) for part in slices.parts]
            found = found[np.argsort(in_use[found], kind="stable")]
        return [slices.parts[number] for number in found.tolist()]

    def of(self, part: Nodes) -> _Left:
        """A copy of the same of some nodes alone, which are numbered as they stand in `part`."""
        later = None if self.later is None else _Later(self.later.open_ended[part], self.later.most[part])
        return _Left(self.known[part], later)

    def put_back(self, part: Nodes, copy: _Left) -> None:
        """What was done to the copy counts."""
        self.known[part] = copy.known
        if self.later is not None and copy.later is not None:
            self.later.most[part] = copy.later.most


def _put(left: _Left, asked: Sequence[Asked]) -> Steps[Packed | None]:
    found: list[tuple[int, ...]] = []
    for each in asked:
        if isinstance(each, Slices):
            together = yield from _put_slices(left, each)
            if together is None:
                return None
            found += together
            continue
        nodes = left.take(each)
        yield False
        if len(nodes) < each.count:
            return None
        found.append(nodes)
    return tuple(found)


def _put_slices(left: _Left, slices: Slices) -> Steps[list[tuple[int, ...]] | None]:
    """One slice after another; a part that does not take one takes none of those behind it."""
    found: list[list[int]] = [[] for _ in slices.needs]
    times = slices.times
    for part in left.candidates(slices):
        needs = [need.of(part) for need in slices.needs]
        while times:
            inside = left.of(part)
            together = yield from _put(inside, needs)
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
    """int64, shape (nodes,): how many such members each node could take."""
    asked = need.amounts > 0
    fits = np.full(len(free), need.count, np.int64)
    if asked.any():
        fits = np.minimum(fits, (free[:, asked] // need.amounts[asked]).min(axis=1))
    return np.where(need.nodes, np.maximum(fits, 0), 0)


def _take(
    left: Amounts, need: Need, count: int, fits: npt.NDArray[np.int64], order: npt.NDArray[np.intp] | None = None
) -> tuple[int, ...]:
    """Put up to `count` members on nodes, those first that take most, or as `order` says; `left` is what is free."""
    order = np.argsort(-fits, kind="stable") if order is None else order
    before = np.cumsum(fits[order]) - fits[order]
    taken = np.clip(count - before, 0, fits[order])
    used = order[taken > 0]
    left[used] -= taken[taken > 0, None] * need.amounts
    return tuple(np.repeat(order, taken).tolist())
