"""Node selectors over columns: which of many nodes are picked, decided once a distinct label value.

NodeAffinity and topology spread call it. The rules are those of `muster.framework.model.node_selector`, and the answers
are the same as asking that about each node.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import numpy.typing as npt

from ..model.node_selector import NAME_FIELD, NodeRequirement, accepts
from ..model.pod import NodeSelectorRequirement, NodeSelectorTerm
from .labels import ABSENT, LabelColumn
from .view import NodeView

Mask = npt.NDArray[np.bool_]


def admitted(requirement: NodeRequirement, nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes will do."""
    passing = np.ones(len(nodes), np.bool_)
    for key, value in requirement.labels.items():
        column = nodes.snapshot.labels.column(key)
        passing &= nodes.of(column.ids) == column.id_of(value)
    if requirement.terms is not None:
        passing &= any_picks(requirement.terms, nodes)
    return passing


def any_picks(terms: Iterable[NodeSelectorTerm], nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes one of the well-formed terms picks."""
    picked = np.zeros(len(nodes), np.bool_)
    for term in terms:
        picked |= picked_by(term, nodes)
    return picked


def picked_by(term: NodeSelectorTerm, nodes: NodeView) -> Mask:
    """bool, shape (nodes,): which nodes a well-formed term picks."""
    picked = np.ones(len(nodes), np.bool_)
    for requirement in term.match_expressions:
        column = nodes.snapshot.labels.column(requirement.key)
        picked &= _accepting(requirement, column, nodes.of(column.ids))
    for requirement in term.match_fields:
        picked &= _field_accepting(requirement, nodes)
    return picked


def _accepting(requirement: NodeSelectorRequirement, column: LabelColumn, ids: npt.NDArray[np.int32]) -> Mask:
    accepting: Mask
    match requirement.operator:
        case "In":
            accepting = _among(requirement.values, column, ids)
        case "NotIn":
            accepting = ~_among(requirement.values, column, ids)
        case "Exists":
            accepting = ids != ABSENT
        case "DoesNotExist":
            accepting = ids == ABSENT
        case _:
            accepting = column.where(partial(accepts, requirement), absent=False)[ids]
    return accepting


def _among(values: tuple[str, ...], column: LabelColumn, ids: npt.NDArray[np.int32]) -> Mask:
    if len(values) == 1:
        only: Mask = ids == column.id_of(values[0])
        return only
    table = np.zeros(len(column.values), np.bool_)
    table[[known for value in values if (known := column.id_of(value)) >= 0]] = True
    return table[ids]


def _field_accepting(requirement: NodeSelectorRequirement, nodes: NodeView) -> Mask:
    value, wanted = requirement.values[0], requirement.operator == "In"
    if requirement.key != NAME_FIELD:
        return np.full(len(nodes), (value == "") == wanted)
    row = nodes.snapshot.row_of(value)
    named: Mask = nodes.indices() == (-1 if row is None else row)
    return named if wanted else ~named
