"""Resource amounts as columns: what each node offers and what the pods on it have claimed.

The snapshot writes them; the resource plugins and the gang plugin read them. Users may request resources of any name,
so only resources that nodes offer have a column. A claim on another resource is stored separately, in memory
proportional to the pod that makes it, until a node offers the resource or the pod is removed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..model.pod_info import PodSignature
from ..model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

Amounts = npt.NDArray[np.int64]
_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE)
_FREE = ""

MOST_RESOURCES = 1024
"""Resources that nodes may offer together, with up to 8,192 rows; one more counts as not offered."""
LEAST_MOST_RESOURCES = 256
"""The same with any number of rows. In between, columns times rows are bounded: each takes 17 bytes."""
_MOST_AMOUNTS = MOST_RESOURCES * 8192
MOST_RESOURCES_OF_A_NODE = 64
"""Resources that one node may offer, so that no node takes the columns of all others."""

log = logging.getLogger(__name__)


class ResourceColumns:
    """Amounts by resource and row; milli-cores for cpu, whole units otherwise.

    Attributes:
        names: the resource of each column; "" for a column that is free.
        layout: changes when a resource gets a column or loses it: what `index` said before may not hold any more.
        allocatable: int64, shape (columns, capacity). 0 where a node does not offer the resource.
        requested: int64, shape (columns, capacity): sum of the pods' effective requests.
        nonzero: int64, shape (2, capacity): cpu and memory, with defaults for containers that request none.
        allowed_pods: int64, shape (capacity,): how many pods the node takes.
        pod_count: int64, shape (capacity,): how many it has.
        offered: bool, shape (columns, capacity): whether the node names the resource at all.
    """

    __slots__ = (
        "_index",
        "_unoffered",
        "allocatable",
        "allowed_pods",
        "layout",
        "names",
        "nonzero",
        "offered",
        "pod_count",
        "requested",
    )

    def __init__(self, capacity: int) -> None:
        self.names: list[str] = list(_FIRST)
        self.layout = 0
        self._index = {name: index for index, name in enumerate(_FIRST)}
        self._unoffered: dict[str, dict[int, int]] = {}
        self.allocatable = np.zeros((len(_FIRST), capacity), np.int64)
        self.requested = np.zeros((len(_FIRST), capacity), np.int64)
        self.offered = np.zeros((len(_FIRST), capacity), np.bool_)
        self.nonzero = np.zeros((2, capacity), np.int64)
        self.allowed_pods = np.zeros(capacity, np.int64)
        self.pod_count = np.zeros(capacity, np.int64)

    def index(self, resource: str) -> int | None:
        """The column of `resource` for as long as `layout` does not change; None for one that no node offers."""
        return self._index.get(resource)

    def amount(self, column: Amounts, resource: str, row: int) -> int:
        """`column[resource, row]`, also of a resource that no node offers."""
        known = self._index.get(resource)
        if known is not None:
            return int(column[known, row])
        return self._unoffered.get(resource, {}).get(row, 0) if column is self.requested else 0

    def unoffered(self) -> Mapping[str, Mapping[int, int]]:
        """The requests of pods for resources that no node offers, by resource and row."""
        return self._unoffered

    def offered_in_all(self) -> dict[str, int]:
        """The amounts that all nodes offer together, by resource."""
        totals = self.allocatable.sum(axis=1).tolist()
        return {name: total for name, total in zip(self.names, totals, strict=True) if name != _FREE}

    def free_in_all(self, resource: str, rows: npt.NDArray[np.intp]) -> int:
        """The free amount of a resource on these rows together; rows with too many pods count as full.

        Of `pods`, how many more they take; of a resource that no node offers, nothing.
        """
        if resource == PODS:
            free = self.allowed_pods[rows] - self.pod_count[rows]
        else:
            index = self.index(resource)
            if index is None:
                return 0
            free = self.allocatable[index, rows] - self.requested[index, rows]
        return int(np.maximum(free, 0).sum())

    def set_allocatable(self, row: int, amounts: Mapping[str, int]) -> None:
        """The node in `row` now offers exactly these amounts."""
        before = np.flatnonzero(self.offered[:, row]).tolist()
        self.allocatable[:, row] = 0
        self.offered[:, row] = False
        for resource, amount in _bounded(amounts).items():
            index = self._column(resource)
            if index is not None:
                self.allocatable[index, row] = amount
                self.offered[index, row] = True
        for index in before:
            if index >= len(_FIRST) and not self.offered[index].any():
                self._give_back(index)
        self.allowed_pods[row] = amounts.get(PODS, 0)

    def add(self, row: int, signature: PodSignature) -> None:
        """A pod of this signature is now on `row`."""
        self._change(row, signature, 1)

    def remove(self, row: int, signature: PodSignature) -> None:
        """A pod of this signature is no longer on `row`."""
        self._change(row, signature, -1)

    def grow(self, capacity: int) -> None:
        """Grow the columns to `capacity` rows."""
        for name in ("allocatable", "requested", "offered", "nonzero"):
            column = getattr(self, name)
            added = np.zeros((column.shape[0], capacity - column.shape[1]), column.dtype)
            setattr(self, name, np.hstack([column, added]))
        for name in ("allowed_pods", "pod_count"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(capacity - len(column), column.dtype)]))

    def _column(self, resource: str) -> int | None:
        """The column of a resource that a node offers: its own, or a free one with the claims made so far."""
        known = self._index.get(resource)
        if known is not None:
            return known
        most = most_resources(self.allocatable.shape[1])
        if len(self._index) >= most:
            log.warning(
                "Nodes offer too many resources, one counts as not offered",
                extra={"pairs": {"resource": resource, "most": most}},
            )
            return None
        if _FREE not in self.names:
            self._widen(most)
        index = self.names.index(_FREE)
        self.names[index] = resource
        self._index[resource] = index
        for row, amount in self._unoffered.pop(resource, {}).items():
            self.requested[index, row] = amount
        self.layout += 1
        return index

    def _give_back(self, index: int) -> None:
        """The column is free. What pods have claimed of its resource is counted by itself from now on."""
        resource = self.names[index]
        rows = np.flatnonzero(self.requested[index]).tolist()
        if rows:
            self._unoffered[resource] = {row: int(self.requested[index, row]) for row in rows}
        self.requested[index] = 0
        self.names[index] = _FREE
        del self._index[resource]
        self.layout += 1

    def _widen(self, most: int) -> None:
        """Add free columns, as many as there are, so that many resources are copied few times."""
        count, capacity = self.allocatable.shape
        more = min(count, most - count)
        self.names += [_FREE] * more
        self.allocatable = np.vstack([self.allocatable, np.zeros((more, capacity), np.int64)])
        self.requested = np.vstack([self.requested, np.zeros((more, capacity), np.int64)])
        self.offered = np.vstack([self.offered, np.zeros((more, capacity), np.bool_)])

    def _change(self, row: int, signature: PodSignature, sign: int) -> None:
        for resource, amount in signature.requests.items():
            index = self._index.get(resource)
            if index is not None:
                self.requested[index, row] += sign * amount
            elif amount:
                self._change_unoffered(resource, row, sign * amount)
        cpu, memory = signature.nonzero
        self.nonzero[0, row] += sign * cpu
        self.nonzero[1, row] += sign * memory
        self.pod_count[row] += sign

    def _change_unoffered(self, resource: str, row: int, amount: int) -> None:
        claims = self._unoffered.setdefault(resource, {})
        claims[row] = claims.get(row, 0) + amount
        if not claims[row]:
            del claims[row]
            if not claims:
                del self._unoffered[resource]


def most_resources(rows: int) -> int:
    """The resources that nodes may offer together, in columns of so many rows."""
    return min(MOST_RESOURCES, max(LEAST_MOST_RESOURCES, _MOST_AMOUNTS // rows))


def _bounded(amounts: Mapping[str, int]) -> Mapping[str, int]:
    """The resources of a node that get columns: all, unless it offers more than it may."""
    named = {resource: amount for resource, amount in amounts.items() if resource != PODS}
    if len(named) <= MOST_RESOURCES_OF_A_NODE:
        return named
    log.warning(
        "A node offers too many resources, some count as not offered",
        extra={"pairs": {"resources": len(named), "most": MOST_RESOURCES_OF_A_NODE}},
    )
    kept = [*_FIRST, *sorted(set(named).difference(_FIRST))][:MOST_RESOURCES_OF_A_NODE]
    return {resource: named[resource] for resource in kept if resource in named}
