"""The reservations of a process for pods and groups that have waited long, as the judge reads them."""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile

from muster.framework.scheduler.engine import Engine
from muster.plugins.reservation.holds import Hold
from muster.plugins.reservation.plugin import held_in
from muster.sandbox.objects import Object


class Reserved:
    """What is reserved at this moment.

    Attributes:
        holds: one for each pod and group that room is held for; of a tree one for each of its parts.
    """

    def __init__(self, engine: Engine) -> None:
        self.holds: Collection[Hold] = held_in(engine.shared)
        names = engine.cache.snapshot.names
        self._held = [
            (hold, dict(zip((names[row] for row in hold.rows.tolist()), hold.amounts["cpu"].tolist(), strict=True)))
            for hold in self.holds
        ]

    def against(self, pod: Object, node: str) -> int:
        """How much of a node is kept from a pod, in thousandths of a CPU."""
        return self.against_one(pod["metadata"]["uid"], pod["spec"].get("priority") or 0, node)

    def against_one(self, uid: str, priority: int, node: str) -> int:
        """How much of a node is kept from a pod, known by its UID, in thousandths of a CPU.

        What is reserved for a pod by itself was planned around older reservations, and others around it: on its node it
        comes before those that are younger and not needed earlier.
        """
        own = next((hold for hold in self.holds if uid in hold.members), None)
        others = [held for held in self._held if own is None or held[0].holder != own.holder]
        if own is not None and len(own.members) == 1 and self._has(own, node):
            older = [*takewhile(lambda hold: hold is not own, self.holds)]
            others = [held for held in others if held[0] in older or held[0].start < own.start]
        return sum(amounts.get(node, 0) for hold, amounts in others if priority <= hold.priority)

    def _has(self, own: Hold, node: str) -> bool:
        return any(hold is own and node in amounts for hold, amounts in self._held)
