"""Node selectors over columns: which of many nodes are selected, decided once per distinct label value.

NodeAffinity and topology spread call it. The rules are those of `muster.framework.model.node_selector`, and the answers
equal those about each node alone. Keys that no node has are never searched for, so a pod may name any number of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from ..model.alternatives import Alternatives
from ..model.label_test import Conjunction, LabelTest
from ..model.node_selector import NodeRequirement
from ..model.pod import NodeSelectorTerm
from ..model.preferences import LabelWeights, Preferences
from .labels import ABSENT, LabelColumn
from .view import NodeView

_MANY_TERMS = 16
_FEW_VALUES = 4

Mask = npt.NDArray[np.bool_]
Weights = npt.NDArray[np.int64]


def admitted(requirement: NodeRequirement, nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes will do."""
    columns = nodes.snapshot.labels
    if any(key not in columns.keys for key in requirement.labels):
        return np.zeros(len(nodes), np.bool_)
    passing = np.ones(len(nodes), np.bool_)
    for key, value in requirement.labels.items():
        column = columns.column(key)
        passing &= nodes.of(column.ids) == column.id_of(value)
    if requirement.alternatives is not None:
        passing &= picked(requirement.alternatives, nodes)
    return passing


def any_picks(terms: Iterable[NodeSelectorTerm], nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes one of the well-formed terms picks."""
    return picked(Alternatives(terms), nodes)


def picked(alternatives: Alternatives, nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes the alternatives pick."""
    columns = nodes.snapshot.labels
    if any(key not in columns.keys for key in alternatives.lenient):
        return np.ones(len(nodes), np.bool_)
    found = _named(alternatives.names, nodes)
    for key in alternatives.keys & columns.keys:
        column = columns.column(key)
        ids = nodes.of(column.ids)
        for test in alternatives.tests(key):
            found |= _accepting(test, column, ids)
    if alternatives.several:
        found |= _picked_by_several(alternatives, nodes)
    return found


def _picked_by_several(alternatives: Alternatives, nodes: NodeView) -> Mask:
    """Which nodes are picked by terms that look at more than one thing.

    Of very many terms the answer for all nodes is remembered as long as these stay as they are: several plugins ask.
    """
    if len(alternatives.several) < _MANY_TERMS:
        return _any_of(alternatives.several, nodes)
    snapshot = nodes.snapshot
    position, known = snapshot.node_journal.position, snapshot.labels.remembered.get(alternatives)
    if known is None or known[0] != position:
        if len(nodes) < snapshot.height // 2:
            return _any_of(alternatives.several, nodes)
        known = position, _any_of(alternatives.several, NodeView(snapshot, None))
        snapshot.labels.remembered[alternatives] = known
    return nodes.of(known[1])


def _any_of(conjunctions: Iterable[Conjunction], nodes: NodeView) -> Mask:
    found, labels = np.zeros(len(nodes), np.bool_), _Labels(nodes)
    for conjunction in conjunctions:
        if (by_it := _picked_by(conjunction, nodes, labels)) is not None:
            found |= by_it
    return found


def worth(preferences: Preferences, nodes: NodeView) -> Weights:
    """int64, shape (nodes,): the sum of the weights of all terms that pick the node."""
    columns = nodes.snapshot.labels
    total = np.full(len(nodes), preferences.nowhere, np.int64)
    for key in preferences.keys & columns.keys:
        column = columns.column(key)
        weights = preferences.weights(key)
        total += (_weights_of(weights, column) - weights.absent)[nodes.of(column.ids)]
    if preferences.names:
        total += _named_weights(preferences.names, nodes)
    labels = _Labels(nodes)
    for weight, conjunction in preferences.several:
        if (by_it := _picked_by(conjunction, nodes, labels)) is not None:
            total += weight * by_it
    return total


def _picked_by(conjunction: Conjunction, nodes: NodeView, labels: _Labels) -> Mask | None:
    """Which nodes a term picks; None when there is none."""
    columns = nodes.snapshot.labels
    if any(test.present and key not in columns.keys for key, test in conjunction.tests.items()):
        return None
    found = _named([conjunction.name], nodes) if conjunction.name is not None else np.ones(len(nodes), np.bool_)
    if conjunction.other_names:
        found &= ~_named(conjunction.other_names, nodes)
    for key, test in conjunction.tests.items():
        if key in columns.keys:
            labels.of(key).narrow(found, test)
    return found


class _Labels:
    """The labels of some nodes, while many terms are looked at."""

    def __init__(self, nodes: NodeView) -> None:
        self._nodes = nodes
        self._by_key: dict[str, _Label] = {}

    def of(self, key: str) -> _Label:
        """The label's values on these nodes, kept for further requirements."""
        found = self._by_key.get(key)
        if found is None:
            column = self._nodes.snapshot.labels.column(key)
            found = self._by_key[key] = _Label(column, self._nodes.of(column.ids))
        return found


class _Label:
    """One label of these nodes: comparing their values takes less time than looking them up in a table."""

    def __init__(self, column: LabelColumn, ids: npt.NDArray[np.int32]) -> None:
        self._column = column
        self._ids = ids
        self._numbers: tuple[npt.NDArray[np.int64], Mask] | None = None

    def narrow(self, found: Mask, test: LabelTest) -> None:
        """Leave of the nodes that were found those that the test accepts."""
        among = test.among
        if test.absent or (among is not None and len(among) != 1) or len(test.without) > _FEW_VALUES:
            found &= _accepting(test, self._column, self._ids)
            return
        absent = None if test.present else self._ids == ABSENT
        passing = found if absent is None else found.copy()
        if test.present:
            passing &= self._ids != ABSENT
        for value in among or ():
            passing &= self._ids == self._column.id_of(value)
        for value in test.without:
            if (known := self._column.id_of(value)) >= 0:
                passing &= self._ids != known
        if test.over is not None or test.under is not None:
            _keep_between(passing, test, *self._numbers_of())
        if absent is not None:
            found &= passing | absent

    def _numbers_of(self) -> tuple[npt.NDArray[np.int64], Mask]:
        if self._numbers is None:
            numbers, valid = self._column.numbers()
            self._numbers = numbers[self._ids], valid[self._ids]
        return self._numbers


def _keep_between(passing: Mask, test: LabelTest, numbers: npt.NDArray[np.int64], valid: Mask) -> None:
    """Leave of what passes the numbers that lie between the test's bounds."""
    passing &= valid
    if test.over is not None:
        passing &= numbers > test.over
    if test.under is not None:
        passing &= numbers < test.under


def _accepting(test: LabelTest, column: LabelColumn, ids: npt.NDArray[np.int32]) -> Mask:
    if test.present and test.among is not None and len(test.among) == 1 and test == LabelTest(test.among, present=True):
        only: Mask = ids == column.id_of(next(iter(test.among)))
        return only
    accepting: Mask = _accepted_values(test, column).take(ids)
    return accepting


def _accepted_values(test: LabelTest, column: LabelColumn) -> Mask:
    """bool, shape (values,): a table to be indexed with ids."""
    if test.absent:
        table = np.zeros(len(column.values), np.bool_)
    elif test.among is not None:
        table = np.zeros(len(column.values), np.bool_)
        table[_ids(test.among, column)] = True
    else:
        table = np.ones(len(column.values), np.bool_)
    table[_ids(test.without, column)] = False
    if test.over is not None or test.under is not None:
        _keep_between(table, test, *column.numbers())
    table[ABSENT] = not test.present
    return table


def _ids(values: Iterable[str], column: LabelColumn) -> list[int]:
    return [known for value in values if (known := column.id_of(value)) >= 0]


def _weights_of(weights: LabelWeights, column: LabelColumn) -> Weights:
    """int64, shape (values,): what each value is worth, the label's absence included."""
    table = np.full(len(column.values), weights.present, np.int64)
    for value, weight in weights.values.items():
        if (known := column.id_of(value)) >= 0:
            table[known] += weight
    if weights.over or weights.under:
        numbers, valid = column.numbers()
        bounds, sums = _sums(weights.over)
        table += np.where(valid, sums[np.searchsorted(bounds, numbers, "left")], 0)
        bounds, sums = _sums(weights.under)
        table += np.where(valid, sums[-1] - sums[np.searchsorted(bounds, numbers, "right")], 0)
    table[ABSENT] = weights.absent
    return table


def _sums(by_bound: Mapping[int, int]) -> tuple[Weights, Weights]:
    """The bounds in order, and before each of them and after the last the sum of the weights so far."""
    bounds = sorted(by_bound)
    sums = np.cumsum([0, *(by_bound[bound] for bound in bounds)], dtype=np.int64)
    return np.array(bounds, np.int64), sums


def _named(names: Iterable[str], nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes have one of the names."""
    rows = [row for name in names if (row := nodes.snapshot.row_of(name)) is not None]
    if nodes.rows is not None:
        return np.isin(nodes.rows, rows)
    found = np.zeros(len(nodes), np.bool_)
    found[rows] = True
    return found


def _named_weights(names: Mapping[str, int], nodes: NodeView) -> Weights:
    by_row = np.zeros(nodes.snapshot.height, np.int64)
    for name, weight in names.items():
        if (row := nodes.snapshot.row_of(name)) is not None:
            by_row[row] = weight
    return by_row[nodes.indices()]
