"""Node selectors over columns: which of many nodes are picked, decided once a distinct label value.

NodeAffinity and topology spread call it. The rules are those of `muster.framework.model.node_selector`, and the answers
are the same as asking that about each node. Keys that no node has are never looked at, so that a pod may name any
number of them.
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
    for conjunction in alternatives.several:
        if (by_it := _picked_by(conjunction, nodes)) is not None:
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
    for weight, conjunction in preferences.several:
        if (by_it := _picked_by(conjunction, nodes)) is not None:
            total += weight * by_it
    return total


def _picked_by(conjunction: Conjunction, nodes: NodeView) -> Mask | None:
    """Which nodes a term picks; None when there is none."""
    columns = nodes.snapshot.labels
    if any(test.present and key not in columns.keys for key, test in conjunction.tests.items()):
        return None
    found = _named([conjunction.name], nodes) if conjunction.name is not None else np.ones(len(nodes), np.bool_)
    if conjunction.other_names:
        found &= ~_named(conjunction.other_names, nodes)
    for key, test in conjunction.tests.items():
        if key in columns.keys:
            column = columns.column(key)
            found &= _accepting(test, column, nodes.of(column.ids))
    return found


def _accepting(test: LabelTest, column: LabelColumn, ids: npt.NDArray[np.int32]) -> Mask:
    if test.present and test.among is not None and len(test.among) == 1 and test == LabelTest(test.among, present=True):
        only: Mask = ids == column.id_of(next(iter(test.among)))
        return only
    accepting: Mask = _accepted_values(test, column)[ids]
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
        numbers, valid = column.numbers()
        table &= valid
        if test.over is not None:
            table &= numbers > test.over
        if test.under is not None:
            table &= numbers < test.under
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
