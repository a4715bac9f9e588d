"""The reservations of a process for pods and groups that have waited long, as the judge reads them."""

from __future__ import annotations

from collections.abc import Collection, Set
from itertools import takewhile

from muster.framework.scheduler.engine import Engine
from muster.plugins.reservation.plugin import held_in
from muster.plugins.reservation.reserved_capacity import ReservedCapacity
from muster.sandbox.objects import Object


class Reserved:
    """The reservations at this moment.

    Attributes:
        holds: one for each pod and group that capacity is held for; of a tree one for each of its parts.
    """

    def __init__(self, engine: Engine) -> None:
        self.holds: Collection[ReservedCapacity] = held_in(engine.shared)
        names = engine.cache.snapshot.names
        self._held = [
            (hold, dict(zip((names[row] for row in hold.rows.tolist()), hold.amounts["cpu"].tolist(), strict=True)))
            for hold in self.holds
        ]

    def against(self, pod: Object, node: str) -> int:
        """The capacity of a node that is reserved from a pod, in thousandths of a CPU."""
        return self.against_all({pod["metadata"]["uid"]}, pod["spec"].get("priority") or 0, node)

    def against_all(self, uids: Set[str], priority: int, node: str) -> int:
        """How much of a node is kept from pods that are placed together, known by their UIDs, in thousandths of a CPU.

        What is reserved for a pod by itself was planned around older reservations, and others around it: on its node it
        comes before those that are younger and not needed earlier.
        """
        theirs = [hold for hold in self.holds if not uids.isdisjoint(hold.members)]
        holders = {hold.holder for hold in theirs}
        others = [held for held in self._held if held[0].holder not in holders]
        own = theirs[0] if theirs else None
        if own is not None and len(uids) == 1 and len(own.members) == 1 and self._has(own, node):
            older = [*takewhile(lambda hold: hold is not own, self.holds)]
            others = [held for held in others if held[0] in older or held[0].start < own.start]
        return sum(amounts.get(node, 0) for hold, amounts in others if priority <= hold.priority)

    def _has(self, own: ReservedCapacity, node: str) -> bool:
        return any(hold is own and node in amounts for hold, amounts in self._held)
