"""PreFilter's checks of a group, in this order: whether its members may be tried on nodes.

1. The group was not denied, and did not fail, recently.
2. As many members exist as the quorum needs, and enough of them are not gated.
3. Annotations and timeout are valid.
4. minResources was free recently, or
5. minResources is free on nodes that the group may use.

A group for which the plugin Reservation reserves capacity is checked whenever capacity becomes free. minResources that
are kept for other started groups do not count against it, because these groups may not use the reserved capacity.

The checks change nothing, so `why`, `explain` and `simulate` may run them any number of times. `follow_up` carries out
the consequences of a real attempt (denying or permitting the group for a while, and announcing) when the plugin follows
the decision; until then the finding is in the attempt's cycle state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from muster.framework.contract import (
    GroupDecision,
    Handle,
    PodDecision,
    Status,
    TotalCapacity,
    with_preemption,
    with_reservation,
)
from muster.framework.contract.arguments import format_duration
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS

from . import messages
from .activation import GroupActivation
from .api import NAME, timeout_fault
from .book import PodGroups
from .capacity import Mask, describe, fault, free, missing_amounts, requested, usable_rows
from .min_resources import UnclaimedMinResources
from .record import PodGroupReason, PodGroupRecord
from .topology import AnnotationError


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of PreFilter for a group.

    Attributes:
        status: why members may not be tried; None if they may.
        reason, message: the announcement; `reason` is None for none.
        left_alone: whether the group was rejected without a check, because it was denied or failed recently.
        denied: whether it was denied.
        has_resources: whether minResources is free; None if this attempt did not check it.
        kept_until: if minResources is not free, until when the minResources of other groups are kept at least, seconds
            on the engine's clock; None if nothing is kept for others.
        in_all: the capacity that has to be free for the whole group, if checked.
    """

    status: Status | None = None
    reason: PodGroupReason | None = None
    message: str = ""
    left_alone: bool = False
    denied: bool = False
    has_resources: bool | None = None
    kept_until: float | None = None
    in_all: TotalCapacity | None = None


class ReservationReader(Protocol):
    """The plugin, which knows for which groups the plugin Reservation reserves capacity."""

    def reservation_text(self, group: str) -> str | None:
        """The sentence about the group's reservation; None without one."""
        ...


class GroupPreFilter:
    """Checks groups for one profile's plugin."""

    def __init__(
        self,
        groups: PodGroups,
        handle: Handle,
        activation: GroupActivation,
        reserved: ReservationReader,
    ) -> None:
        self._groups = groups
        self._handle = handle
        self._activation = activation
        self._reserved = reserved

    def examine(self, record: PodGroupRecord, pod: PodInfo) -> Finding:
        """Whether members of this group may be tried; `pod` is the member in question."""
        group = record.key
        rejection = self._recently_failed(group) or _too_few(record, pod) or _unreadable(record)
        if rejection is not None:
            return rejection
        if self._groups.has_min_resources(group) or self._handle.snapshot.tentative:
            return Finding()  # checked when the first member was tried, before the others were placed in the trial
        return self._resources(group)

    def follow_up(self, group: str, decisions: Iterable[PodDecision], of_group: GroupDecision | None = None) -> None:
        """Act on the findings of these decisions about members; `of_group` is the decision about all of them."""
        found = [note for decision in decisions if isinstance(note := decision.state.get(NAME), Finding)]
        if any(finding.denied for finding in found):
            self._handle.metrics.podgroups_denied.add(())
            self._groups.state(group).may_fit_now = True
        helped = of_group.post_filter if of_group is not None else ""
        reservation = self._reserved.reservation_text(group)
        for finding in found:
            checked_resources = finding.has_resources is not None
            if finding.reason is not None:
                text = with_preemption(finding.message, helped)
                self._groups.announce(
                    group, finding.reason, with_reservation(text, reservation) if checked_resources else text
                )
            if not checked_resources:
                continue
            if finding.has_resources:
                self._groups.note_min_resources_free(group)
            elif of_group is not None and of_group.evictions is not None:
                self._groups.state(group).lacks_min_resources = True
            elif reservation is not None:
                self._groups.note_min_resources_missing(group)
            else:
                self._activation.min_resources_missing(group, kept_until=finding.kept_until)

    def _recently_failed(self, group: str) -> Finding | None:
        if self._reserved.reservation_text(group) is not None:
            return None
        if self._groups.is_denied(group):
            expiration = format_duration(self._groups.args.denied_pg_expiration_time_seconds)
            return Finding(Status.pending(messages.denied(group, expiration)), left_alone=True, denied=True)
        if self._groups.is_backed_off(group):
            return Finding(Status.pending(messages.backed_off(group)), left_alone=True)
        return None

    def _resources(self, group: str) -> Finding:
        found = self._groups.get(group)
        if found is None or not found.spec.min_resources:
            return Finding(has_resources=True)
        need = self._groups.min_resources.need(group)
        if need is None:
            text = f"spec.minResources: {fault(found.spec.min_resources)}"
            return Finding(Status.unresolvable(text), PodGroupReason.NOT_ENOUGH_RESOURCES, text)
        # Other groups may not use capacity that Reservation reserves for this one; what is kept for them is elsewhere.
        has_reservation = self._reserved.reservation_text(group) is not None
        kept = [] if has_reservation else [*self._groups.min_resources.of_others(group)]
        rows = self._rows(group, need)
        back = requested(self._groups.record(group).placed_pods())
        missing = self._missing_amounts(group, need, rows, back, kept=kept)
        lacking = {name: amount - back.get(name, 0) for name, amount in need.items() if amount > back.get(name, 0)}
        in_all = TotalCapacity(lacking, rows, free=not missing)
        if not missing:
            return Finding(has_resources=True, in_all=in_all)
        text = messages.resource_gap(describe(missing))
        until = min((each.until for each in kept), default=None)
        return Finding(
            Status.unschedulable(text),
            PodGroupReason.NOT_ENOUGH_RESOURCES,
            text,
            has_resources=False,
            kept_until=until,
            in_all=in_all,
        )

    def _rows(self, group: str, need: Mapping[str, int]) -> Mask:
        """The nodes that members may use; all nodes if members are still missing, which may use other nodes."""
        members = self._groups.record(group).pods.values()
        known = requested(members)
        complete = all(known.get(resource, 0) >= amount for resource, amount in need.items())
        return usable_rows(self._handle.snapshot, members if complete else None)

    def _missing_amounts(
        self,
        group: str,
        need: Mapping[str, int],
        rows: Mask,
        back: Mapping[str, int],
        *,
        kept: Iterable[UnclaimedMinResources],
    ) -> dict[str, int]:
        snapshot = self._handle.snapshot
        need = {**need, PODS: self._groups.quorum(group)}
        missing = missing_amounts(snapshot, rows, need, back, kept=_in_all(kept))
        return (
            missing_amounts(snapshot, rows, need, back, kept=self._within(kept, rows)) if missing and kept else missing
        )

    def _within(self, kept: Iterable[UnclaimedMinResources], rows: Mask) -> dict[str, int]:
        """The capacity kept on `rows`, by resource: for each group at most what is free where its members may go."""
        snapshot, total = self._handle.snapshot, dict[str, int]()
        for each in kept:
            shared = rows & usable_rows(snapshot, self._groups.record(each.group).pods.values())
            for resource, amount in each.amounts.items():
                total[resource] = total.get(resource, 0) + min(amount, free(snapshot, shared, resource))
        return total


def _too_few(record: PodGroupRecord, pod: PodInfo) -> Finding | None:
    min_member, siblings = record.quorum, len(record.pods)
    if siblings < min_member:
        text = messages.too_few_siblings(pod, siblings, min_member)
        return _waiting(PodGroupReason.WAITING_FOR_PODS, text, messages.waiting_for_pods(siblings, min_member))
    if record.ready < min_member:
        text = messages.gated_siblings(pod, record.gated_pods())
        return _waiting(PodGroupReason.GATED_PODS, text, text)
    return None


def _unreadable(record: PodGroupRecord) -> Finding | None:
    try:
        record.topology()
    except AnnotationError as error:
        return _invalid(str(error))
    problem = "" if record.group is None else timeout_fault(record.group)
    return _invalid(problem) if problem else None


def _waiting(reason: PodGroupReason, of_pod: str, of_group: str) -> Finding:
    """Members are missing, not capacity: the pod's condition has the group's reason, not Unschedulable."""
    return Finding(Status.pending(of_pod).with_condition_reason(reason.value), reason, of_group)


def _invalid(fault: str) -> Finding:
    return Finding(Status.unresolvable(fault), PodGroupReason.UNSCHEDULABLE, fault)


def _in_all(kept: Iterable[UnclaimedMinResources]) -> dict[str, int]:
    """The capacity kept on all nodes, by resource: an upper bound of `_within` that is cheap to compute."""
    total = dict[str, int]()
    for each in kept:
        for resource, amount in each.amounts.items():
            total[resource] = total.get(resource, 0) + amount
    return total
