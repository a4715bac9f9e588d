"""The requests of a pod signature, arranged for comparison with columns, and the statuses of each shortage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import compress

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Code, Codes, Mask, Status, StatusTable
from muster.framework.contract.columns import Amounts, ResourceColumns
from muster.framework.model.names import is_extended_resource

from .device_backing import DeviceBacking
from .names import STANDARD, is_scalar
from .selection import select

TOO_MANY_PODS = "Too many pods"
_INT64_BYTES = 8


class Ignored:
    """Extended resources that the filter takes no notice of, by name and by the part before the slash."""

    def __init__(self, names: Collection[str], groups: Collection[str]) -> None:
        self._names = frozenset(names)
        self._groups = frozenset(groups)

    def __contains__(self, resource: str) -> bool:
        named = resource in self._names or (bool(self._groups) and resource.partition("/")[0] in self._groups)
        return named and is_extended_resource(resource)


class ResourceDemand:
    """The resources that pods of a signature ask for and that are looked at.

    A pod may ask for thousands of resources. Only those that nodes offer are compared, and all others are short on
    every node alike. Statuses belong to the demand, so that they go with the pods that asked.

    Attributes:
        table: the statuses of nodes that do not fit.
        wanted: each resource that is looked at, and how much of it.
        selection: the columns of what is offered.
        amounts: int64, shape (offered resources, 1).
        devices: bool, shape (offered resources, 1): whether devices provide the resource where a node offers none.
        has_devices: whether they provide any.
        hopeless: whether it asks for something that no node offers and no devices provide.
    """

    __slots__ = (
        "_layout",
        "_names",
        "_numbers",
        "_offered",
        "_reasons",
        "_requests",
        "_revision",
        "_unoffered",
        "amounts",
        "devices",
        "has_devices",
        "hopeless",
        "selection",
        "table",
        "wanted",
    )

    def __init__(self, requests: Mapping[str, int], ignored: Ignored) -> None:
        scalars = sorted(name for name, n in requests.items() if n > 0 and is_scalar(name) and name not in ignored)
        self._names = [*(name for name in STANDARD if requests.get(name, 0) > 0), *scalars]
        self.wanted = tuple((name, requests[name]) for name in self._names)
        self._requests = np.array([requests[name] for name in self._names], np.int64)
        self._reasons = [f"Insufficient {name}" for name in self._names]
        self._numbers: dict[bytes, int] = {}
        self._layout = self._revision = -1
        self.table = StatusTable()

    def arrange(self, columns: ResourceColumns, backing: DeviceBacking) -> None:
        """See which resources have which columns now, and which of them devices may provide.

        To be called before anything is read of the demand.
        """
        if columns.layout == self._layout and backing.revision == self._revision:
            return
        found = [columns.index(name) for name in self._names]
        self._layout, self._revision = columns.layout, backing.revision
        self._offered = np.array([position for position, index in enumerate(found) if index is not None], np.intp)
        self.selection = select([index for index in found if index is not None])
        self.amounts: Amounts = self._requests[self._offered].reshape(-1, 1)
        backed = [name in backing for name in self._names]
        self._unoffered: Mask = np.array([not devices for devices in backed], np.bool_)
        self.devices: Mask = np.array(backed, np.bool_)[self._offered].reshape(-1, 1)
        self.has_devices = any(backed)
        self.hopeless = any(index is None and not devices for index, devices in zip(found, backed, strict=True))

    def verdicts(self, full: Mask, short: Mask, offered: Amounts) -> Codes:
        """Numbers of the statuses of nodes that do not fit.

        Args:
            full: bool, shape (nodes,): no pod more is taken.
            short: bool, shape (offered resources, nodes): too little of the resource is free.
            offered: int64, shape (offered resources, nodes): what there would be on an empty node.
        """
        hopeless = (self.amounts > offered).any(axis=0) | self.hopeless
        flags = np.packbits(np.vstack([full, hopeless, short]), axis=0).T
        found, which = _distinct(np.ascontiguousarray(flags))
        return np.array([self._number(each, len(short)) for each in found], np.int32)[which]

    def _number(self, flags: npt.NDArray[np.uint8], offered: int) -> int:
        """The number of the status with these flags. What is short of the names is part of its key: columns move."""
        full, hopeless, *short = np.unpackbits(flags, count=offered + 2).tolist()
        lacking = self._unoffered.copy()
        lacking[self._offered] = short
        key = bytes((full, hopeless)) + np.packbits(lacking).tobytes()
        known = self._numbers.get(key)
        if known is None:
            reasons = [TOO_MANY_PODS] if full else []
            reasons += compress(self._reasons, lacking.tolist())
            code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
            known = self._numbers[key] = self.table.number(Status(code, tuple(reasons)))
        return known


def _distinct(rows: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.intp]]:
    """The distinct rows, and for each row which of them it is."""
    nodes, width = rows.shape
    if width <= _INT64_BYTES:
        keys = np.zeros((nodes, _INT64_BYTES), np.uint8)
        keys[:, :width] = rows
        _, first, which = np.unique(keys.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, which = np.unique(rows.view(np.dtype((np.void, width)))[:, 0], return_index=True, return_inverse=True)
    return rows[first], which
