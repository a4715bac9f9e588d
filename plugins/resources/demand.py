"""What a pod signature asks of a node, arranged for comparison with columns, and the statuses of what can be short."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from muster.framework.contract import Code, Status, StatusTable
from muster.framework.contract.verdicts import Codes, Mask
from muster.framework.model.names import is_extended_resource
from muster.framework.snapshot.resources import Amounts, ResourceColumns

from .names import STANDARD, is_scalar
from .selection import select

TOO_MANY_PODS = "Too many pods"
_INT64_BITS = 63


class Ignored:
    """Extended resources that the filter takes no notice of, by name and by the part before the slash."""

    def __init__(self, names: Collection[str], groups: Collection[str]) -> None:
        self._names = frozenset(names)
        self._groups = frozenset(groups)

    def __contains__(self, resource: str) -> bool:
        return is_extended_resource(resource) and (
            resource in self._names or resource.partition("/")[0] in self._groups
        )


class Demand:
    """The resources that pods of a signature ask for and that are looked at.

    Attributes:
        selection: their rows in the resource columns: cpu, memory, ephemeral storage, then the others by name.
        amounts: int64, shape (resources, 1).
    """

    __slots__ = ("_bits", "_names", "_numbers", "_table", "amounts", "selection")

    def __init__(
        self, requests: Mapping[str, int], columns: ResourceColumns, table: StatusTable, ignored: Ignored
    ) -> None:
        scalars = sorted(name for name in requests if is_scalar(name) and name not in ignored)
        self._names = [name for name in (*STANDARD, *scalars) if requests.get(name, 0) > 0]
        self._table = table
        self._numbers: dict[int, int] = {}
        self.selection = select([columns.index(name) for name in self._names])
        self.amounts: Amounts = np.array([requests[name] for name in self._names], np.int64).reshape(-1, 1)
        flags = len(self._names) + 2
        self._bits = np.array([1 << bit for bit in range(flags)], np.int64 if flags <= _INT64_BITS else object)

    def verdicts(self, full: Mask, short: Mask, offered: Amounts) -> Codes:
        """Numbers of the statuses of nodes that do not fit.

        Args:
            full: bool, shape (nodes,): no pod more is taken.
            short: bool, shape (resources, nodes): too little of the resource is free.
            offered: int64, shape (resources, nodes): what there would be on an empty node.
        """
        hopeless = (self.amounts > offered).any(axis=0)
        flags = self._bits @ np.vstack([full, short, hopeless])
        found, which = np.unique(flags, return_inverse=True)
        return np.array([self._number(int(mask)) for mask in found], np.int32)[which]

    def _number(self, flags: int) -> int:
        known = self._numbers.get(flags)
        if known is None:
            reasons = [TOO_MANY_PODS] if flags & 1 else []
            reasons += [f"Insufficient {name}" for bit, name in enumerate(self._names, 1) if flags >> bit & 1]
            hopeless = flags >> len(self._names) + 1 & 1
            code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
            known = self._numbers[flags] = self._table.number(Status(code, tuple(reasons)))
        return known
