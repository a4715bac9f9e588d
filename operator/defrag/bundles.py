"""Bundles: the sets of single pods of one node that make places for waiting pods, without a needless one.

`choices` puts bundles of several nodes together. Equal pods of a node stand for each other, so that a node with a
hundred equal pods has one bundle of each size. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from muster.framework.contract import Placed

from .capacity import FreeCapacity
from .movable import MovableUnit

_MOST_SETS = 300
"""The sets of one size that are looked at on a node."""

Chosen = tuple[MovableUnit, ...]
Likeness = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Single pods of one node, with the number of places that they make when they leave."""

    units: Chosen
    places: int


class NodeBundles:
    """The bundles of one node, by size.

    Attributes:
        fewest: a lower bound of the size of a bundle.
        gain: the places that are made if all pods leave.
        cut: whether bundles of a size that was asked for may be missing.
    """

    def __init__(self, node: str, units: Sequence[MovableUnit], capacity: FreeCapacity) -> None:
        self._node = node
        self._capacity = capacity
        self._classes = classes_of(units)
        self._before = capacity.places(node)
        pods = [*pods_of(units)]
        self._by_size: list[list[Bundle]] = []
        self._largest = capacity.most(node, pods)
        self.fewest = capacity.fewest(node, pods)
        self.gain = capacity.places(node, pods) - self._before
        self.cut = False

    def up_to(self, size: int) -> list[Bundle]:
        """The bundles of at most so many pods, the smallest first."""
        while len(self._by_size) < min(size, self._largest):
            self._by_size.append(self._of_size(len(self._by_size) + 1))
        return [bundle for bundles in self._by_size[:size] for bundle in bundles]

    def _of_size(self, size: int) -> list[Bundle]:
        if size < self.fewest:
            return []
        found = []
        sets = _sets(self._classes, size)
        for chosen in islice(sets, _MOST_SETS):
            places = self._places(chosen)
            if places > self._before and all(self._places(_without(chosen, at)) < places for at in range(size)):
                found.append(Bundle(chosen, places - self._before))
        self.cut = self.cut or next(sets, None) is not None
        return found

    def _places(self, chosen: Chosen) -> int:
        return self._capacity.places(self._node, pods_of(chosen))


def classes_of(units: Iterable[MovableUnit]) -> list[list[MovableUnit]]:
    """The single pods of a node, equal ones together."""
    found: dict[Likeness, list[MovableUnit]] = {}
    for unit in units:
        found.setdefault(likeness(unit), []).append(unit)
    return [*found.values()]


def likeness(unit: MovableUnit) -> Likeness:
    """A key that is equal for equal single pods of one node. Pods with volumes or claims of their own are not equal."""
    if unit.group:
        return unit.name, 0, 0, ""
    [(pod, node)] = unit.pods
    spec = pod.pod.spec
    return node, id(pod.signature), id(pod.label_set), pod.uid if spec.volumes or spec.resource_claims else ""


def pods_of(units: Iterable[MovableUnit]) -> Iterator[Placed]:
    """All pods of these units."""
    return (placed for unit in units for placed in unit.pods)


def _sets(classes: Sequence[Sequence[MovableUnit]], size: int) -> Iterator[Chosen]:
    """The sets of so many pods, of each class the first ones."""
    if size == 0:
        yield ()
    elif classes and size <= sum(map(len, classes)):
        first, *others = classes
        for count in range(min(size, len(first)), -1, -1):
            for rest in _sets(others, size - count):
                yield (*first[:count], *rest)


def _without(chosen: Chosen, at: int) -> Chosen:
    return (*chosen[:at], *chosen[at + 1 :])
