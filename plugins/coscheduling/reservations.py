"""Capacity that is kept for future members: the part of minResources that a group has not claimed yet.

`PodGroups` reports members that are created or deleted, and the plugin reports members that get a node. PreFilter asks
on behalf of one group how much is kept for the others. A group's part is kept from its first member's placement until
the group has had all of it, or until no member was placed for as long as Permit would wait. After that nothing is kept
again for the same PodGroup, because members that have ended are not expected to return. After a restart, the progress
of each group follows from the age of its bound members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from muster.framework.contract import Clock
from muster.framework.groups import GroupHolds, Members
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError
from muster.framework.model.times import parse_time

from .api import PodGroup
from .capacity import requested, wanted
from .record import Claim, PodGroupRecord


class MinResourcesReservation(NamedTuple):
    """The capacity that is reserved for a group.

    Attributes:
        group: `namespace/name`.
        amounts: by resource, as in `capacity.wanted`.
        until: when it ends if no further member is placed, seconds on the engine's clock.
    """

    group: str
    amounts: Mapping[str, int]
    until: float


class Reservations:
    """Reservations of all groups with minResources. `wait_seconds` returns how long Permit would hold members.

    A group's claim is in its record; `_asking` is the index of groups with one, because few of many have any. Nothing
    is reserved for a group while it is held.
    """

    def __init__(
        self,
        members: Members[PodGroupRecord],
        holds: GroupHolds,
        wait_seconds: Callable[[str], float],
        clock: Clock,
    ) -> None:
        self._members = members
        self._holds = holds
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._asking: dict[str, PodGroupRecord] = {}

    def follow(self, record: PodGroupRecord, found: PodGroup | None) -> None:
        """A PodGroup was added, changed or deleted (None). Nothing is reserved for an invalid minResources."""
        asked = found.spec.min_resources if found is not None else {}
        if record.claim is not None and record.claim.asked == asked:
            return
        record.claim = None
        self._asking.pop(record.key, None)
        try:
            need = wanted(asked)
        except QuantityError:
            return
        if need:
            record.claim = Claim(asked, need)
            self._asking[record.key] = record
            for pod in record.placed_pods():
                self.found_bound(record, pod)

    def found_bound(self, record: PodGroupRecord, pod: PodInfo) -> None:
        """A member with a node was seen for the first time. It counts as placed when it was created."""
        if record.claim is not None:
            created = self._created(pod)
            record.claim.progressed = max(record.claim.progressed or created, created)

    def placed(self, group: str) -> None:
        """Members of the group were placed by a decision."""
        record = self._members.record(group)
        claim = record.claim
        if claim is None or claim.over:
            return
        if claim.progressed is not None and self._until(group, claim.progressed) <= self._clock.now():
            claim.over = True
            return
        claim.progressed = self._clock.now()
        claim.over = not _lacking(record, claim)

    def given_up(self, group: str) -> None:
        """A member released its node. A group without placed members starts again."""
        record = self._members.record(group)
        if record.claim is not None and not record.placed:
            record.claim.progressed = None

    def member_leaves(self, record: PodGroupRecord) -> None:
        """A member is about to leave the group. Nothing is reserved again for what the group has had."""
        claim = record.claim
        if claim is None or claim.over or claim.progressed is None:
            return
        if self._until(record.key, claim.progressed) <= self._clock.now() or not _lacking(record, claim):
            claim.over = True

    def of_others(self, group: str) -> Iterator[MinResourcesReservation]:
        """The reservations of groups other than this one."""
        for other in self._asking:
            found = self.of(other) if other != group else None
            if found is not None:
                yield found

    def of(self, group: str) -> MinResourcesReservation | None:
        """The reservation of this group."""
        record = self._members.record(group)
        claim = record.claim
        if claim is None or claim.over or claim.progressed is None or self._holds.own(group) is not None:
            return None
        until = self._until(group, claim.progressed)
        if until <= self._clock.now() or not record.placed:
            return None
        lacking = _lacking(record, claim)
        return MinResourcesReservation(group, lacking, until) if lacking else None

    def need(self, group: str) -> Mapping[str, int] | None:
        """The group's minResources, as in `capacity.wanted`; None if absent or unreadable."""
        claim = self._members.record(group).claim
        return claim.need if claim is not None else None

    def _until(self, group: str, progressed: float) -> float:
        return progressed + self._wait_seconds(group)

    def _created(self, pod: PodInfo) -> float:
        """When the pod was created, seconds on the engine's clock."""
        now, stamp = self._clock.now(), pod.pod.metadata.creation_timestamp
        return now if stamp is None else min(now, now + parse_time(stamp) - self._clock.wall())


def _lacking(record: PodGroupRecord, claim: Claim) -> dict[str, int]:
    """The amounts that the group's members have not claimed."""
    used = requested(record.placed_pods())
    return {resource: n - used.get(resource, 0) for resource, n in claim.need.items() if n > used.get(resource, 0)}
