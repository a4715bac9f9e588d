"""The status of a group: phase, counts, the condition `Scheduled` and times, computed in one step.

Pure: the controller passes in the observed state, and writes the result. Equal input gives an equal result, so a status
that was written is not written again.

For the condition, the state of the pods takes precedence over the last announcement, which may be older than the
deletion of a member, or than a placement by another scheduler. Without an announcement, as after a restart, the last
rejection remains valid. A condition never disappears once it exists. While the group is held and lacks its quorum, the
condition says that and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec.structs import replace

from muster.framework.groups import Announcement, MemberCounts, transition_time
from muster.framework.model.times import rfc3339

from . import messages
from .api import SCHEDULED, PodGroupCondition, PodGroupStatus
from .phases import ENDED, STARTED, TABLE, phase_of, situation
from .record import PodGroupReason

REJECTIONS = frozenset(
    {
        PodGroupReason.GATED_PODS,
        PodGroupReason.NOT_ENOUGH_RESOURCES,
        PodGroupReason.UNSCHEDULABLE,
        PodGroupReason.QUOTA_EXCEEDED,
        PodGroupReason.BINDING_FAILED,
        PodGroupReason.TIMEOUT,
    }
)
"""Reasons why members that exist get no nodes."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed state of a group.

    Attributes:
        min_member: the spec's; 0 if it has none, which one member satisfies.
        generation: the generation of the spec.
        counts: the group's members in numbers.
        owners: the owners of its pods, as in the status; "" for none.
        announcement: the plugin's latest announcement; None before the first.
        held: why an operator holds the group; "" for a group that is not held.
    """

    min_member: int
    generation: int
    counts: MemberCounts
    owners: str = ""
    announcement: Announcement | None = None
    held: str = ""


def next_status(previous: PodGroupStatus, seen: Observation, *, now: float) -> PodGroupStatus:
    """The next status; `now`, in seconds since the epoch, is the time of what begins with this step."""
    needed, counts = max(1, seen.min_member), seen.counts
    said = previous.condition(SCHEDULED)
    before = phase_of(previous.phase)
    gated = seen.announcement is None and _are_gated(counts, needed)  # which the condition is about to say
    stuck = gated or bool(seen.held) or is_rejected(seen.announcement, said)
    phase = TABLE[situation(counts, needed, rejected=stuck)][before]
    ended = phase in ENDED
    if seen.held and not ended and counts.scheduled < needed:
        says: PodGroupCondition | None = _said("False", PodGroupReason.HELD, seen.held)
    else:
        says = statement(counts, needed, ended=ended, announcement=seen.announcement, previous=said)
    if says is not None:
        says = dated(says, said, generation=seen.generation, now=now)
    starts = phase in STARTED and before not in STARTED
    return replace(
        previous,
        phase=phase.value,
        occupied_by=seen.owners or previous.occupied_by,
        scheduled=counts.scheduled,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        schedule_start_time=rfc3339(now) if starts else previous.schedule_start_time,
        conditions=_with(previous.conditions, says),
        observed_generation=seen.generation,
    )


def statement(
    counts: MemberCounts,
    needed: int,
    *,
    ended: bool,
    announcement: Announcement | None,
    previous: PodGroupCondition | None,
) -> PodGroupCondition | None:
    """The condition of a group whose quorum is `needed` members; None if nothing is known yet.

    The condition of a group that has `ended` does not change. Transition time and generation are those of `previous`,
    or absent.
    """
    if counts.scheduled >= needed:
        return _said("True", PodGroupReason.SCHEDULED, messages.scheduled(needed, needed))
    if ended:
        return previous
    if counts.pods < needed:
        return _said("False", PodGroupReason.WAITING_FOR_PODS, messages.waiting_for_pods(counts.pods, needed))
    if _are_gated(counts, needed) and (announcement is None or announcement.reason is not PodGroupReason.GATED_PODS):
        return _said("False", PodGroupReason.GATED_PODS, messages.gated_pods(counts.gated, counts.pods, needed))
    if announcement is not None and announcement.reason is not PodGroupReason.SCHEDULED:
        return _said("False", announcement.reason, announcement.message)
    if previous is None or _is_rejection(previous):
        return previous
    had_it = previous.status == "True" or previous.reason == PodGroupReason.LOST_MEMBERS
    reason = PodGroupReason.LOST_MEMBERS if had_it and counts.scheduled else PodGroupReason.SCHEDULING
    return _said("False", reason, messages.scheduled(counts.scheduled, needed))


def is_rejected(announcement: Announcement | None, previous: PodGroupCondition | None) -> bool:
    """Whether the latest announcement, else the previous condition, says that members cannot be placed."""
    return announcement.reason in REJECTIONS if announcement is not None else _is_rejection(previous)


def dated(
    condition: PodGroupCondition, previous: PodGroupCondition | None, *, generation: int, now: float
) -> PodGroupCondition:
    """The condition for this generation of the spec; its transition time is `now` unless the status is the same."""
    since = transition_time(previous, condition.status, now=now)
    return replace(condition, last_transition_time=since, observed_generation=generation)


def _are_gated(counts: MemberCounts, needed: int) -> bool:
    """Whether enough members exist, but too many of them are gated."""
    return counts.pods - counts.gated < needed <= counts.pods


def _said(status: str, reason: StrEnum, message: str) -> PodGroupCondition:
    return PodGroupCondition(type=SCHEDULED, status=status, reason=reason.value, message=message)


def _is_rejection(condition: PodGroupCondition | None) -> bool:
    return condition is not None and condition.status == "False" and condition.reason in REJECTIONS


def _with(
    conditions: tuple[PodGroupCondition, ...] | None, ours: PodGroupCondition | None
) -> tuple[PodGroupCondition, ...] | None:
    """The conditions with this one replaced or added; conditions of other types are kept."""
    kept = list(conditions or ())
    for index, condition in enumerate(kept):
        if condition.type == SCHEDULED:
            kept[index : index + 1] = [ours] if ours is not None else []
            break
    else:
        if ours is not None:
            kept.append(ours)
    return tuple(kept) or None
