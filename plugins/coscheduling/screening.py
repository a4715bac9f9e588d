"""PreFilter's questions to a group, in their order: may its members be tried on nodes at all?

1. Was it denied, or did it fail, a moment ago?
2. Are there as many members as it needs, and none of those that it needs gated?
3. Was minResources found to be free a moment ago?
4. Is minResources free on nodes that the group may use?
5. The answer to 4 is kept for a while, a yes as permitted and a no as denied.
"""

from __future__ import annotations

from collections.abc import Iterable

from muster.framework.config import format_duration
from muster.framework.contract import Handle, Status
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError
from muster.framework.model.requests import PODS

from . import messages
from .board import Reason
from .capacity import Mask, describe, free, gap, requested, usable_rows, wanted
from .gangs import Gangs
from .reservations import Kept
from .waking import Waking


class Screening:
    """Asks on behalf of one profile's plugin."""

    def __init__(self, gangs: Gangs, handle: Handle, waking: Waking) -> None:
        self._gangs = gangs
        self._handle = handle
        self._waking = waking

    def check(self, group: str, pod: PodInfo) -> Status | None:
        """None when members of `group` may be tried; `pod` is the one that is being tried."""
        self._gangs.life(group).tried()
        return (
            self._recently_failed(group)
            or self._too_few(group, pod)
            or (None if self._gangs.is_permitted(group) else self._too_little(group, pod))
        )

    def _recently_failed(self, group: str) -> Status | None:
        if self._gangs.is_denied(group):
            self._handle.observer.group_denied()
            expiration = format_duration(self._gangs.args.denied_pg_expiration_time_seconds)
            return Status.pending(messages.denied(group, expiration))
        if self._gangs.is_backed_off(group):
            return Status.pending(messages.backed_off(group))
        return None

    def _too_few(self, group: str, pod: PodInfo) -> Status | None:
        min_member, siblings = self._gangs.min_member(group), self._gangs.members.of(group)
        if len(siblings) < min_member:
            text = messages.too_few_siblings(pod, len(siblings), min_member)
            self._gangs.post(group, Reason.WAITING_FOR_PODS, messages.waiting_for_pods(len(siblings), min_member))
            return Status.pending(text)
        if self._gangs.members.ready(group) < min_member:
            text = messages.gated_siblings(pod, self._gangs.members.gated(group))
            self._gangs.post(group, Reason.GATED_PODS, text)
            return Status.pending(text)
        return None

    def _too_little(self, group: str, pod: PodInfo) -> Status | None:
        found = self._gangs.groups[group]
        if found.spec.min_resources:
            try:
                need = wanted(found.spec.min_resources)
            except QuantityError as error:
                text = f"spec.minResources: {error}"
                self._gangs.post(group, Reason.NOT_ENOUGH_RESOURCES, text)
                return Status.unresolvable(text)
            kept = [*self._gangs.reservations.of_others(group)]
            missing = self._gap(group, need, kept)
            if missing:
                text = messages.resource_gap(describe(missing))
                self._waking.short_of_resources(group, kept_until=min((each.until for each in kept), default=None))
                self._gangs.post(group, Reason.NOT_ENOUGH_RESOURCES, text)
                return Status.unschedulable(text)
        self._gangs.permit(group)
        return None

    def _gap(self, group: str, need: dict[str, int], kept: Iterable[Kept]) -> dict[str, int]:
        """Members that are still to come may use other nodes than those that are here, so then all nodes count."""
        snapshot, members = self._handle.snapshot, self._gangs.members
        known = requested(members.of(group))
        complete = all(known.get(resource, 0) >= amount for resource, amount in need.items())
        rows = usable_rows(snapshot, members.of(group) if complete else None)
        need = {**need, PODS: self._gangs.min_member(group)}
        return gap(snapshot, rows, need, members.placed_pods(group), self._amounts(kept, rows))

    def _amounts(self, kept: Iterable[Kept], rows: Mask) -> dict[str, int]:
        """What of `rows` is kept: no more of each group's part than is free where its members may go."""
        snapshot, total = self._handle.snapshot, dict[str, int]()
        for each in kept:
            shared = rows & usable_rows(snapshot, self._gangs.members.of(each.group))
            for resource, amount in each.amounts.items():
                total[resource] = total.get(resource, 0) + min(amount, free(snapshot, shared, resource))
        return total
