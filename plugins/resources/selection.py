"""Selections: some resources of some nodes, from the snapshot's resource columns.

A selection is computed once per pod signature; a selection of neighbouring resources is a slice, which copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from muster.framework.contract import NodeView
from muster.framework.contract.columns import Amounts

Selection = slice | npt.NDArray[np.intp]


def select(indices: Sequence[int]) -> Selection:
    """The selection of these rows of the resource columns, in this order."""
    first = indices[0] if indices else 0
    if list(indices) == list(range(first, first + len(indices))):
        return slice(first, first + len(indices))
    return np.array(indices, np.intp)


def pick(columns: Amounts, selection: Selection, nodes: NodeView) -> Amounts:
    """int64, shape (selected, nodes). May share memory with `columns`: do not write."""
    within = nodes.within
    if isinstance(selection, slice) or isinstance(within, slice):
        return columns[selection, within]
    return columns[selection[:, np.newaxis], within]
