"""Capacities: how much storage of a class a CSI driver can still create, and for which nodes.

Claims that need provisioning are checked against it if their driver tracks capacity. The rules are those of
`hasEnoughCapacity` in kube-scheduler's volume binder.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muster.framework.contract import NodeView
from muster.framework.model.quantity import nanos, value
from muster.framework.model.volumes import CSIStorageCapacity

from .accessible import NONE, AccessiblePlaces, Numbers, place_selected

_UNKNOWN = -1


class Capacities:
    """The CSIStorageCapacity objects of one class."""

    def __init__(self) -> None:
        self._by_key: dict[str, CSIStorageCapacity] = {}
        self._sorted = True
        self._numbers: dict[str, int] = {}
        self._limits: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._free: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._places = AccessiblePlaces(())

    def put(self, capacity: CSIStorageCapacity) -> None:
        """There is this object, as it is now."""
        key = capacity.metadata.key
        before = self._by_key.get(key)
        self._by_key[key] = capacity
        if before is None or before.node_topology != capacity.node_topology or not self._sorted:
            self._sorted = False
        else:
            self._read(self._numbers[key], capacity)

    def remove(self, capacity: CSIStorageCapacity) -> None:
        """The object is gone."""
        if self._by_key.pop(capacity.metadata.key, None) is not None:
            self._sorted = False

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def room_for(self, size: int, nodes: NodeView) -> Numbers:
        """intp, shape (nodes,): the number of a capacity of at least `size` bytes for each node; NONE for none."""
        if not self._sorted:
            self._sort()
        found = self._places.first(np.flatnonzero(self._limits >= size), nodes)
        return found[0] if found else np.full(len(nodes), NONE, np.intp)

    def free(self, numbers: Numbers) -> npt.NDArray[np.int64]:
        """Bytes that are free in all in the capacities with these numbers."""
        return self._free[numbers]

    def _sort(self) -> None:
        listed = sorted(self._by_key)
        self._numbers = {key: number for number, key in enumerate(listed)}
        self._limits = np.zeros(len(listed), np.int64)
        self._free = np.zeros(len(listed), np.int64)
        for number, key in enumerate(listed):
            self._read(number, self._by_key[key])
        self._places = AccessiblePlaces(place_selected(self._by_key[key].node_topology) for key in listed)
        self._sorted = True

    def _read(self, number: int, capacity: CSIStorageCapacity) -> None:
        """The largest volume size, if the driver reports it, or else the total free capacity, which is less exact."""
        limit = limit_of(capacity)
        self._limits[number] = _UNKNOWN if limit is None else limit
        self._free[number] = _bytes(capacity.capacity) if capacity.capacity is not None else limit or 0


def limit_of(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume, in bytes, that can be made; None when no driver says."""
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if limit is None else _bytes(limit)


def _bytes(quantity: str | int | float) -> int:
    return value(nanos(quantity))
