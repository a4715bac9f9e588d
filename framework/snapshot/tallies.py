"""Tallies: how many of the pods that a question selects are on each node, updated with every pod.

Pods are counted under a trait, something that many of them have in common, such as their labels. A question selects
traits, and its tally has a count for each row. The cost of a pod does not depend on the number of running pods: traits
and questions find each other through keys when the first of either kind appears; afterwards a pod changes one number in
each tally that includes it. Questions that pick the same traits share a tally: pods with a label of their own each,
such as those of a StatefulSet, ask as many questions as there are pods. Questions that were not asked lately are
dropped, and traits are dropped with their last pod. A tally without a trait takes no memory for its zeros, so many
questions that no running pod answers can be remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import xor
from typing import Generic, Protocol, TypeVar
from weakref import ref

import numpy as np
import numpy.typing as npt

from .domains import Domains, Nodes, Subset, zeros

TraitT = TypeVar("TraitT", bound=Hashable)
TraitT_contra = TypeVar("TraitT_contra", contravariant=True)

ANY: Hashable = None
"""The key under which those are found that have no better one."""


class Question(Protocol[TraitT_contra]):
    """Picks traits. Equal questions count as one."""

    @property
    def keys(self) -> Iterable[Hashable]:
        """A trait that it picks has one of these keys, too."""
        ...

    def weigh(self, trait: TraitT_contra) -> int:
        """The weight that each pod with the trait adds to the count; 0 for a trait that is not picked."""
        ...

    def __hash__(self) -> int: ...


class Tally:
    """The count of the questions that pick the same traits, with the same weights.

    Attributes:
        counts: int32, shape (capacity,): the sum over the pods on each row. Not to be written to, nor to be kept.
        traits: how many traits they pick. Without any, all counts are zero.
        mark: a number that tallies of the same traits and weights share, and hardly any others.
        questions: how many questions they are.
    """

    __slots__ = ("_domains", "counts", "mark", "questions", "traits")

    _MOST_DOMAINS = 16

    def __init__(self, capacity: int) -> None:
        self.counts: npt.NDArray[np.int32] = zeros(capacity, np.int32)
        self.traits = self.mark = self.questions = 0
        self._domains: OrderedDict[tuple[str, ref[Subset] | None], Domains] = OrderedDict()

    def domains(self, snapshot: Nodes, key: str, subset: Subset | None = None) -> Domains:
        """The sums over the domains of a label key, of all nodes or those of a subset, as of now.

        The subset is not kept alive: it can hold a megabyte of a pod's terms, and the pod may be gone.
        """
        if not self.traits:
            empty = Domains(snapshot, self, key)
            empty.refresh(subset)
            return empty
        place = (key, None if subset is None else ref(subset))
        known = self._domains.get(place)
        if known is None:
            known = self._domains[place] = Domains(snapshot, self, key)
            if len(self._domains) > self._MOST_DOMAINS:
                self._domains.popitem(last=False)
        else:
            self._domains.move_to_end(place)
        known.refresh(subset)
        return known

    def change(self, row: int, amount: int) -> None:
        """The count of `row` grows by `amount`."""
        self.counts[row] += amount
        for domains in self._domains.values():
            domains.change(row, amount)

    def add_trait(self, mark: int) -> None:
        """The questions pick one trait more."""
        if not self.traits:
            self.counts = np.zeros(len(self.counts), np.int32)
        self.traits += 1
        self.mark ^= mark

    def remove_trait(self, mark: int) -> None:
        """The questions pick one trait less, with which no pod runs any more."""
        self.traits -= 1
        self.mark ^= mark
        if not self.traits:
            self.counts = zeros(len(self.counts), np.int32)
            self._domains.clear()

    def grow(self, capacity: int) -> None:
        """Grow the columns to `capacity` rows."""
        if self.traits:
            self.counts = np.concatenate([self.counts, np.zeros(capacity - len(self.counts), np.int32)])
        else:
            self.counts = zeros(capacity, np.int32)


class _Known(Generic[TraitT]):
    """Where the pods with a trait are, and by tally the weight with which they count in it."""

    __slots__ = ("_counts", "rows", "tallies")

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.tallies: dict[Tally, int] = {}
        self._counts: tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]] | None = None

    def change(self, row: int, amount: int) -> None:
        """So many more pods are on the row, or fewer. Raises KeyError for fewer than none."""
        count = (self.rows[row] if amount < 0 else self.rows.get(row, 0)) + amount
        if count:
            self.rows[row] = count
        else:
            del self.rows[row]
        self._counts = None
        for tally, weight in self.tallies.items():
            tally.change(row, amount * weight)

    def mark(self, weight: int) -> int:
        """The part of the trait, with this weight, in the mark of a tally."""
        return hash((id(self), weight))

    def counts(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
        """The rows and how many pods are on each, kept for the next question until one of them changes."""
        if self._counts is None:
            length = len(self.rows)
            rows = np.fromiter(self.rows.keys(), np.intp, length)
            self._counts = rows, np.fromiter(self.rows.values(), np.int32, length)
        return self._counts


class Tallies(Generic[TraitT]):
    """Traits of one kind, and the questions about them, of which `limit` are remembered."""

    def __init__(self, capacity: int, *, keys_of: KeysOf[TraitT], limit: int = 1024) -> None:
        self._capacity = capacity
        self._keys_of = keys_of
        self._limit = limit
        self._known: dict[TraitT, _Known[TraitT]] = {}
        self._traits: dict[Hashable, dict[TraitT, None]] = {}
        self._questions: dict[Hashable, dict[Question[TraitT], None]] = {}
        self._asked: OrderedDict[Question[TraitT], Tally] = OrderedDict()

    def add(self, trait: TraitT, row: int) -> None:
        """A pod with the trait is now on `row`."""
        known = self._known.get(trait)
        if known is None:
            known = self._meet(trait)
        known.change(row, 1)

    def remove(self, trait: TraitT, row: int) -> None:
        """A pod with the trait is no longer on `row`.

        Raises KeyError when none was.
        """
        known = self._known[trait]
        known.change(row, -1)
        if not known.rows:
            self._forget(trait)

    def tally(self, question: Question[TraitT]) -> Tally:
        """The count of the question, as of now and from now on."""
        tally = self._asked.get(question)
        if tally is None:
            tally = self._ask(question)
        else:
            self._asked.move_to_end(question)
        return tally

    def grow(self, capacity: int) -> None:
        """Grow the columns to `capacity` rows."""
        self._capacity = capacity
        for tally in set(self._asked.values()):
            tally.grow(capacity)

    def traits(self) -> Mapping[TraitT, Mapping[int, int]]:
        """The number of pods with each trait, by row."""
        return {trait: known.rows for trait, known in self._known.items()}

    def wrong(self) -> Iterator[Question[TraitT]]:
        """Questions whose tally is not the sum over the traits, for the self-check."""
        for question, tally in self._asked.items():
            expected = np.zeros(len(tally.counts), np.int32)
            for trait, known in self._known.items():
                for row, count in known.rows.items():
                    expected[row] += count * question.weigh(trait)
            if not np.array_equal(expected, tally.counts):
                yield question

    def _meet(self, trait: TraitT) -> _Known[TraitT]:
        """A trait that no pod had before. Of questions that shared a tally, those that now differ are dropped."""
        known = self._known[trait] = _Known()
        picking: dict[Tally, dict[Question[TraitT], int]] = {}
        for key in self._keys_of(trait):
            self._traits.setdefault(key, {})[trait] = None
            for question in self._questions.get(key, ()):
                if weight := question.weigh(trait):
                    picking.setdefault(self._asked[question], {})[question] = weight
        for tally, weights in picking.items():
            weight, *others = set(weights.values())
            if len(weights) == tally.questions and not others:
                known.tallies[tally] = weight
                tally.add_trait(known.mark(weight))
            else:
                for question in weights:
                    self._drop(question)
        return known

    def _forget(self, trait: TraitT) -> None:
        known = self._known.pop(trait)
        for tally, weight in known.tallies.items():
            tally.remove_trait(known.mark(weight))
        for key in self._keys_of(trait):
            _discard(self._traits, key, trait)

    def _ask(self, question: Question[TraitT]) -> Tally:
        picked = list(self._picked(question))
        tally = self._asked[question] = _shared(picked) or self._count(picked)
        tally.questions += 1
        for key in question.keys:
            self._questions.setdefault(key, {})[question] = None
        if len(self._asked) > self._limit:
            self._drop(next(iter(self._asked)))
        return tally

    def _count(self, picked: Sequence[tuple[_Known[TraitT], int]]) -> Tally:
        tally = Tally(self._capacity)
        rows, amounts = [], []
        for known, weight in picked:
            known.tallies[tally] = weight
            tally.add_trait(known.mark(weight))
            there, counts = known.counts()
            rows.append(there)
            amounts.append(counts if weight == 1 else weight * counts)
        if rows:
            np.add.at(tally.counts, np.concatenate(rows), np.concatenate(amounts))
        return tally

    def _drop(self, question: Question[TraitT]) -> None:
        tally = self._asked.pop(question)
        tally.questions -= 1
        for key in question.keys:
            _discard(self._questions, key, question)
        if not tally.questions:
            for known, _ in self._picked(question):
                known.tallies.pop(tally, None)

    def _picked(self, question: Question[TraitT]) -> Iterator[tuple[_Known[TraitT], int]]:
        """The tally of each trait that the question picks, once, with its weight."""
        found: dict[TraitT, None] = {}
        for key in question.keys:
            found.update(self._traits.get(key, {}))
        for trait in found:
            if weight := question.weigh(trait):
                yield self._known[trait], weight


def _shared(picked: Sequence[tuple[_Known[TraitT], int]]) -> Tally | None:
    """The tally of other questions that pick exactly these traits, with these weights; None where they pick none."""
    if not picked:
        return None
    mark = reduce(xor, (known.mark(weight) for known, weight in picked))
    for tally in picked[0][0].tallies:
        alike = tally.mark == mark and tally.traits == len(picked)
        if alike and all(known.tallies.get(tally) == weight for known, weight in picked):
            return tally
    return None


class KeysOf(Protocol[TraitT_contra]):
    """Gives the keys of a trait."""

    def __call__(self, trait: TraitT_contra, /) -> Iterable[Hashable]: ...


Member = TypeVar("Member")


def _discard(index: dict[Hashable, dict[Member, None]], key: Hashable, member: Member) -> None:
    """Take a member out, and the key with its last."""
    members = index.get(key)
    if members is not None:
        members.pop(member, None)
        if not members:
            del index[key]
