"""The reservations of a process for pods and groups that have waited long, as the judge reads them."""

from __future__ import annotations

from collections.abc import Collection, Set
from itertools import takewhile

from muster.framework.scheduler.engine import Engine
from muster.plugins.reservation.plugin import reserved_in
from muster.plugins.reservation.reserved_capacity import ReservedCapacity
from muster.sandbox.objects import Object


class Reserved:
    """The reservations at this moment.

    Attributes:
        capacities: one for each pod and group that has a reservation; of a tree one for each of its parts.
    """

    def __init__(self, engine: Engine) -> None:
        self.capacities: Collection[ReservedCapacity] = reserved_in(engine.shared)
        names = engine.cache.snapshot.names
        self._by_node = [
            (
                capacity,
                dict(
                    zip((names[row] for row in capacity.rows.tolist()), capacity.amounts["cpu"].tolist(), strict=True)
                ),
            )
            for capacity in self.capacities
        ]

    def against(self, pod: Object, node: str) -> int:
        """The capacity of a node that is reserved from a pod, in thousandths of a CPU."""
        return self.against_all({pod["metadata"]["uid"]}, pod["spec"].get("priority") or 0, node)

    def against_all(self, uids: Set[str], priority: int, node: str) -> int:
        """How much of a node is kept from pods that are placed together, known by their UIDs, in thousandths of a CPU.

        What is reserved for a pod by itself was planned around older reservations, and others around it: on its node it
        comes before those that are younger and not needed earlier.
        """
        theirs = [capacity for capacity in self.capacities if not uids.isdisjoint(capacity.members)]
        holders = {capacity.holder for capacity in theirs}
        others = [each for each in self._by_node if each[0].holder not in holders]
        own = theirs[0] if theirs else None
        if own is not None and len(uids) == 1 and len(own.members) == 1 and self._has(own, node):
            older = [*takewhile(lambda capacity: capacity is not own, self.capacities)]
            others = [each for each in others if each[0] in older or each[0].start < own.start]
        return sum(amounts.get(node, 0) for capacity, amounts in others if priority <= capacity.priority)

    def _has(self, own: ReservedCapacity, node: str) -> bool:
        return any(capacity is own and node in amounts for capacity, amounts in self._by_node)
