"""Resource amounts as columns: what each node offers and what the pods on it have claimed.

The snapshot feeds it; the resource plugins and the gang plugin read it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..model.pod_info import PodSignature
from ..model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

Amounts = npt.NDArray[np.int64]
_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE)


class ResourceColumns:
    """Amounts by resource and row; milli-cores for cpu, whole units otherwise.

    Attributes:
        allocatable: int64, shape (resources, capacity). 0 where a node does not offer the resource.
        requested: int64, shape (resources, capacity): sum of the pods' effective requests.
        nonzero: int64, shape (2, capacity): cpu and memory, with defaults for containers that request none.
        allowed_pods: int64, shape (capacity,): how many pods the node takes.
        pod_count: int64, shape (capacity,): how many it has.
        offered: bool, shape (resources, capacity): whether the node names the resource at all.
    """

    __slots__ = ("_index", "allocatable", "allowed_pods", "names", "nonzero", "offered", "pod_count", "requested")

    def __init__(self, capacity: int) -> None:
        self.names: list[str] = list(_FIRST)
        self._index = {name: index for index, name in enumerate(_FIRST)}
        self.allocatable = np.zeros((len(_FIRST), capacity), np.int64)
        self.requested = np.zeros((len(_FIRST), capacity), np.int64)
        self.offered = np.zeros((len(_FIRST), capacity), np.bool_)
        self.nonzero = np.zeros((2, capacity), np.int64)
        self.allowed_pods = np.zeros(capacity, np.int64)
        self.pod_count = np.zeros(capacity, np.int64)

    def index(self, resource: str) -> int:
        """The row of `resource` in the two-dimensional columns; a resource not seen before gets one."""
        known = self._index.get(resource)
        if known is None:
            known = self._index[resource] = len(self.names)
            self.names.append(resource)
            width = self.allocatable.shape[1]
            self.allocatable = np.vstack([self.allocatable, np.zeros((1, width), np.int64)])
            self.requested = np.vstack([self.requested, np.zeros((1, width), np.int64)])
            self.offered = np.vstack([self.offered, np.zeros((1, width), np.bool_)])
        return known

    def amount(self, column: Amounts, resource: str, row: int) -> int:
        """`column[resource, row]`; 0 for a resource that neither a node nor a pod ever named."""
        known = self._index.get(resource)
        return 0 if known is None else int(column[known, row])

    def offered_in_all(self) -> dict[str, int]:
        """What all nodes offer together, by resource."""
        return dict(zip(self.names, self.allocatable.sum(axis=1).tolist(), strict=True))

    def set_allocatable(self, row: int, amounts: Mapping[str, int]) -> None:
        """The node in `row` now offers exactly these amounts."""
        indices = {self.index(resource): amount for resource, amount in amounts.items() if resource != PODS}
        self.allocatable[:, row] = 0
        self.offered[:, row] = False
        for index, amount in indices.items():
            self.allocatable[index, row] = amount
            self.offered[index, row] = True
        self.allowed_pods[row] = amounts.get(PODS, 0)

    def add(self, row: int, signature: PodSignature) -> None:
        """A pod of this signature is now on `row`."""
        self._change(row, signature, 1)

    def remove(self, row: int, signature: PodSignature) -> None:
        """A pod of this signature is no longer on `row`."""
        self._change(row, signature, -1)

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        for name in ("allocatable", "requested", "offered", "nonzero"):
            column = getattr(self, name)
            room = np.zeros((column.shape[0], capacity - column.shape[1]), column.dtype)
            setattr(self, name, np.hstack([column, room]))
        for name in ("allowed_pods", "pod_count"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(capacity - len(column), column.dtype)]))

    def _change(self, row: int, signature: PodSignature, sign: int) -> None:
        for resource, amount in signature.requests.items():
            index = self.index(resource)
            self.requested[index, row] += sign * amount
        cpu, memory = signature.nonzero
        self.nonzero[0, row] += sign * cpu
        self.nonzero[1, row] += sign * memory
        self.pod_count[row] += sign
