"""What is kept for members that are still to come: the part of minResources that a group has not claimed yet.

`Gangs` tells who came and who got a node; PreFilter asks on behalf of one group what is kept for the others. A group's
part is kept from its first member's placement until it has had all of it, or until nobody was placed for as long as
Permit would wait. After that nothing is kept again for the same PodGroup: members that have ended are not expected to
come once more. A scheduler that has just started learns from the age of bound members how far each group was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from muster.framework.contract import Clock
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError

from .api import PodGroup
from .capacity import requested, wanted
from .members import Members


class Kept(NamedTuple):
    """What is kept for a group.

    Attributes:
        group: `namespace/name`.
        amounts: by resource, as in `capacity.wanted`.
        until: when it is kept no more if nobody else is placed, seconds on the engine's clock.
    """

    group: str
    amounts: Mapping[str, int]
    until: float


@dataclass(slots=True)
class _Reservation:
    """What a group asks for, when a member of it last got a node, and whether nothing is to be kept any more."""

    asked: Mapping[str, str | int]
    need: Mapping[str, int]
    progressed: float | None = None
    over: bool = False


class Reservations:
    """Of all groups that ask for minResources. `wait_seconds` says how long Permit would wait for a group."""

    def __init__(self, members: Members, wait_seconds: Callable[[str], float], clock: Clock) -> None:
        self._members = members
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._groups: dict[str, _Reservation] = {}

    def follow(self, group: str, found: PodGroup | None) -> None:
        """A PodGroup came, changed or went (None). What cannot be read is not kept."""
        asked = found.spec.min_resources if found is not None else {}
        known = self._groups.get(group)
        if known is not None and known.asked == asked:
            return
        self._groups.pop(group, None)
        try:
            need = wanted(asked)
        except QuantityError:
            return
        if need:
            self._groups[group] = _Reservation(asked, need)
            for pod in self._members.placed_pods(group):
                self.found_bound(group, pod)

    def found_bound(self, group: str, pod: PodInfo) -> None:
        """A member was seen for the first time and has a node. It was placed when it was created, or soon after."""
        reservation = self._groups.get(group)
        if reservation is not None:
            created = self._created(pod)
            reservation.progressed = max(reservation.progressed or created, created)

    def placed(self, group: str) -> None:
        """A member was reserved on a node."""
        reservation = self._groups.get(group)
        if reservation is None or reservation.over:
            return
        if reservation.progressed is not None and self._until(group, reservation.progressed) <= self._clock.now():
            reservation.over = True
            return
        reservation.progressed = self._clock.now()
        reservation.over = not self._lacking(group, reservation)

    def displaced(self, group: str) -> None:
        """A member's reservation was given up. A group that holds nothing begins anew."""
        reservation = self._groups.get(group)
        if reservation is not None and not self._members.placed(group):
            reservation.progressed = None

    def of_others(self, group: str) -> Iterator[Kept]:
        """What is kept for groups other than this one."""
        for other in self._groups:
            kept = self.of(other) if other != group else None
            if kept is not None:
                yield kept

    def of(self, group: str) -> Kept | None:
        """What is kept for this group."""
        reservation = self._groups.get(group)
        if reservation is None or reservation.over or reservation.progressed is None or not self._members.placed(group):
            return None
        until, lacking = self._until(group, reservation.progressed), self._lacking(group, reservation)
        reservation.over = not lacking
        return Kept(group, lacking, until) if lacking and until > self._clock.now() else None

    def _until(self, group: str, progressed: float) -> float:
        return progressed + self._wait_seconds(group)

    def _lacking(self, group: str, reservation: _Reservation) -> dict[str, int]:
        """What the group's members have not claimed."""
        used = requested(self._members.placed_pods(group))
        return {
            resource: n - used.get(resource, 0) for resource, n in reservation.need.items() if n > used.get(resource, 0)
        }

    def _created(self, pod: PodInfo) -> float:
        """When the pod was created, seconds on the engine's clock."""
        now, stamp = self._clock.now(), pod.pod.metadata.creation_timestamp
        return now if stamp is None else min(now, now + datetime.fromisoformat(stamp).timestamp() - self._clock.wall())
