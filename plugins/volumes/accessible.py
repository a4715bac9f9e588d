"""Where volumes and storage capacities are accessible, and which of many each node gets.

A cluster may have a local volume or a capacity for each of its nodes, so places are evaluated, not nodes. A volume that
names one value of one label is looked up by the node's own value; other descriptions cost a look at all nodes, once for
all volumes with the same description.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from muster.framework.contract import Mask, NodeView
from muster.framework.contract.columns import LabelColumn, any_picks
from muster.framework.model.label_selector import LabelSelector
from muster.framework.model.node_selector import usable
from muster.framework.model.pod import NodeSelectorRequirement, NodeSelectorTerm

Numbers = npt.NDArray[np.intp]
NONE = int(np.iinfo(np.intp).max)
"""The number that stands for none; greater than any other."""

Place = tuple[NodeSelectorTerm, ...] | None
"""Well-formed terms of which one must pick the node, by its labels alone; None for everywhere."""


def place_of(terms: Iterable[NodeSelectorTerm] | None) -> Place:
    """The place that these terms describe by labels. What they ask of fields has to be well formed, no more."""
    if terms is None:
        return None
    found = [msgspec.structs.replace(term, match_fields=()) for term in usable(terms)]
    return None if any(not term.match_expressions for term in found) else tuple(found)


def place_selected(selector: LabelSelector | None) -> Place:
    """The nodes that a label selector picks; none without a selector."""
    if selector is None:
        return ()
    wanted = (NodeSelectorRequirement(key, "In", (value,)) for key, value in selector.match_labels.items())
    others = (NodeSelectorRequirement(each.key, each.operator, each.values) for each in selector.match_expressions)
    expressions = (*wanted, *others)
    return usable([NodeSelectorTerm(expressions)]) if expressions else None


def is_at(place: Place, nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes are at the place."""
    return np.ones(len(nodes), np.bool_) if place is None else any_picks(place, nodes)


class AccessiblePlaces:
    """The places of a row of things, numbered from 0 in the order in which they are to be taken."""

    __slots__ = ("_count", "_everywhere", "_general", "_number_of", "_pins")

    def __init__(self, places: Iterable[Place]) -> None:
        numbers: dict[Place, int] = {}
        self._number_of: Numbers = np.array([numbers.setdefault(place, len(numbers)) for place in places], np.intp)
        self._count = len(numbers)
        self._everywhere = numbers.get(None)
        self._pins: dict[str, _Pins] = {}
        self._general: list[tuple[int, Place]] = []
        for place, number in numbers.items():
            pin = _pin(place or ())
            if pin is not None:
                self._pins.setdefault(pin[0], _Pins()).add(pin[1], number)
            elif place is not None:
                self._general.append((number, place))

    def first(self, things: Numbers, nodes: NodeView, depth: int = 1) -> Sequence[Numbers]:
        """The first of `things` (ascending), the second and so on that each node can have; NONE where no more are left.

        Each intp, of shape (nodes,); at most `depth` of them.
        """
        found: list[Numbers] = []
        for _ in range(depth):
            if not len(things):
                break
            numbers, leaders = np.unique(self._number_of[things], return_index=True)
            leader_of: Numbers = np.full(self._count, NONE, np.intp)
            leader_of[numbers] = things[leaders]
            found += self._spread(leader_of, nodes)
            things = np.delete(things, leaders)
        if depth == 1 or len(found) < 2:
            return [np.minimum.reduce(found)] if found else []
        return list(np.sort(np.stack(found), axis=0)[:depth])

    def _spread(self, leader_of: Numbers, nodes: NodeView) -> Iterator[Numbers]:
        """For each way of describing a place, the number that each node gets by it."""
        if self._everywhere is not None and leader_of[self._everywhere] != NONE:
            yield np.full(len(nodes), leader_of[self._everywhere], np.intp)
        for key, pins in self._pins.items():
            column = nodes.snapshot.labels.column(key)
            yield pins.by_value(leader_of, column)[nodes.of(column.ids)]
        for number, place in self._general:
            if leader_of[number] != NONE:
                yield np.where(is_at(place, nodes), leader_of[number], NONE)


class _Pins:
    """Places that are one value each of the same label."""

    __slots__ = ("_ids", "_known", "_numbers", "_values")

    def __init__(self) -> None:
        self._values: list[str] = []
        self._numbers: list[int] = []
        self._known: tuple[list[str], int] = ([], -1)
        self._ids: Numbers = np.zeros(0, np.intp)

    def add(self, value: str, number: int) -> None:
        """Nodes with this value are at `number`."""
        self._values.append(value)
        self._numbers.append(number)

    def by_value(self, leader_of: Numbers, column: LabelColumn) -> Numbers:
        """The leader of each of the column's values; the last entry is for nodes without one."""
        if self._known[0] is not column.values or self._known[1] != len(column.values):
            self._ids = np.fromiter(map(column.id_of, self._values), np.intp, len(self._values))
            self._known = (column.values, len(column.values))
        table: Numbers = np.full(len(column.values) + 1, NONE, np.intp)
        table[self._ids] = leader_of[self._numbers]
        return table


def _pin(place: Sequence[NodeSelectorTerm]) -> tuple[str, str] | None:
    """The label and its only value, if the place is described by just that."""
    if len(place) != 1 or len(place[0].match_expressions) != 1:
        return None
    [expression] = place[0].match_expressions
    if expression.operator != "In" or len(expression.values) != 1:
        return None
    return expression.key, expression.values[0]
