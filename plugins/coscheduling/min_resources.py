"""minResources of a started group: the part that its members do not use yet is kept free for future members.

It has nothing to do with the plugin Reservation, which keeps capacity on certain nodes for pods that have waited long.
`PodGroups` reports members that are created or deleted, and the plugin reports members that get or release a node.
PreFilter asks on behalf of one group how much is kept for the others. A group's part is kept from its first member's
placement until the group has had all of it, or until no member was placed for as long as a member waits at Permit.
After that nothing is kept again for the same PodGroup, because members that have ended are not expected to return.
After a restart, the progress of each group follows from the age of its bound members.
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
from .record import MinResources, PodGroupRecord


class UnclaimedMinResources(NamedTuple):
    """The part of a group's minResources that is kept free for it.

    Attributes:
        group: `namespace/name`.
        amounts: by resource, as in `capacity.wanted`.
        until: when it ends if no further member is placed, seconds on the engine's clock.
    """

    group: str
    amounts: Mapping[str, int]
    until: float


class MinResourcesGuard:
    """Keeps minResources of started groups free. `wait_seconds` returns how long members would wait at Permit.

    A group's minResources are in its record; `_with_min_resources` is the index of groups that have any, because few of
    many do. Nothing is kept for a group while an operator holds it.
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
        self._with_min_resources: dict[str, PodGroupRecord] = {}

    def follow(self, record: PodGroupRecord, found: PodGroup | None) -> None:
        """A PodGroup was added, changed or deleted (None). Nothing is kept for an invalid minResources."""
        asked = found.spec.min_resources if found is not None else {}
        if record.min_resources is not None and record.min_resources.asked == asked:
            return
        record.min_resources = None
        self._with_min_resources.pop(record.key, None)
        try:
            need = wanted(asked)
        except QuantityError:
            return
        if need:
            record.min_resources = MinResources(asked, need)
            self._with_min_resources[record.key] = record
            for pod in record.placed_pods():
                self.found_bound(record, pod)

    def found_bound(self, record: PodGroupRecord, pod: PodInfo) -> None:
        """A member with a node was seen for the first time. It counts as placed when it was created."""
        if record.min_resources is not None:
            created = self._created(pod)
            record.min_resources.progressed = max(record.min_resources.progressed or created, created)

    def placed(self, group: str) -> None:
        """Members of the group were placed by a decision."""
        record = self._members.record(group)
        own = record.min_resources
        if own is None or own.over:
            return
        if own.progressed is not None and self._until(group, own.progressed) <= self._clock.now():
            own.over = True
            return
        own.progressed = self._clock.now()
        own.over = not _lacking(record, own)

    def released(self, group: str) -> None:
        """A member released its node. A group without placed members starts again."""
        record = self._members.record(group)
        if record.min_resources is not None and not record.placed:
            record.min_resources.progressed = None

    def member_leaves(self, record: PodGroupRecord) -> None:
        """A member is about to leave the group. Nothing is kept again for what the group has had."""
        own = record.min_resources
        if own is None or own.over or own.progressed is None:
            return
        if self._until(record.key, own.progressed) <= self._clock.now() or not _lacking(record, own):
            own.over = True

    def of_others(self, group: str) -> Iterator[UnclaimedMinResources]:
        """The amounts kept for groups other than this one."""
        for other in self._with_min_resources:
            found = self.of(other) if other != group else None
            if found is not None:
                yield found

    def of(self, group: str) -> UnclaimedMinResources | None:
        """The amounts kept for this group; None for none."""
        record = self._members.record(group)
        own = record.min_resources
        if own is None or own.over or own.progressed is None or self._holds.own(group) is not None:
            return None
        until = self._until(group, own.progressed)
        if until <= self._clock.now() or not record.placed:
            return None
        lacking = _lacking(record, own)
        return UnclaimedMinResources(group, lacking, until) if lacking else None

    def need(self, group: str) -> Mapping[str, int] | None:
        """The group's minResources, as in `capacity.wanted`; None if absent or unreadable."""
        own = self._members.record(group).min_resources
        return own.need if own is not None else None

    def _until(self, group: str, progressed: float) -> float:
        return progressed + self._wait_seconds(group)

    def _created(self, pod: PodInfo) -> float:
        """When the pod was created, seconds on the engine's clock."""
        now, stamp = self._clock.now(), pod.pod.metadata.creation_timestamp
        return now if stamp is None else min(now, now + parse_time(stamp) - self._clock.wall())


def _lacking(record: PodGroupRecord, own: MinResources) -> dict[str, int]:
    """The amounts that the group's members do not use."""
    used = requested(record.placed_pods())
    return {resource: n - used.get(resource, 0) for resource, n in own.need.items() if n > used.get(resource, 0)}
