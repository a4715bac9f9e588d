"""The current status of a group: phase, counts, the condition `Scheduled` and times, computed in one step.

Pure: the controller passes in what it sees, and writes the result. The same facts give the same result, so a status
that was written is not written again.

For the condition, the state of the pods takes precedence over the last announcement, which may be older than the
deletion of a member, or than a placement by another scheduler. Without an announcement, as after a restart, the last
refusal remains valid. A condition never disappears once it exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec.structs import replace

from muster.framework.groups import Announcement, MemberCounts
from muster.framework.model.times import rfc3339

from . import messages
from .api import SCHEDULED, PodGroupCondition, PodGroupStatus
from .phases import ENDED, STARTED, TABLE, phase_of, situation
from .record import PodGroupReason

REFUSALS = frozenset(
    {
        PodGroupReason.GATED_PODS,
        PodGroupReason.NOT_ENOUGH_RESOURCES,
        PodGroupReason.UNSCHEDULABLE,
        PodGroupReason.BINDING_FAILED,
        PodGroupReason.TIMEOUT,
    }
)
"""Reasons why members that exist get no nodes."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed state of a group.

    Attributes:
        min_member: of the spec; 0 where it names none, which one member satisfies.
        generation: of the spec.
        counts: its members.
        owners: who owns them, as the status writes it; "" when there are none.
        announcement: the last word of the plugin.
    """

    min_member: int
    generation: int
    counts: MemberCounts
    owners: str = ""
    announcement: Announcement | None = None


def next_status(previous: PodGroupStatus, seen: Observation, *, now: float) -> PodGroupStatus:
    """The status that follows; `now` is in seconds since the epoch and dates what begins with this step."""
    needed, counts = max(1, seen.min_member), seen.counts
    said = previous.condition(SCHEDULED)
    before = phase_of(previous.phase)
    gated = seen.announcement is None and _are_gated(counts, needed)  # which the condition is about to say
    phase = TABLE[situation(counts, needed, refused=gated or refused(seen.announcement, said))][before]
    says = statement(counts, needed, ended=phase in ENDED, announcement=seen.announcement, previous=said)
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
    """The condition of a group whose quorum is `needed` members; None when nothing is known yet.

    `ended` is whether the group has come to its end, after which nothing new is to be said. The transition time and the
    generation are those of `previous`, or absent.
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
    if previous is None or _is_refusal(previous):
        return previous
    had_it = previous.status == "True" or previous.reason == PodGroupReason.LOST_MEMBERS
    reason = PodGroupReason.LOST_MEMBERS if had_it and counts.scheduled else PodGroupReason.SCHEDULING
    return _said("False", reason, messages.scheduled(counts.scheduled, needed))


def refused(announcement: Announcement | None, previous: PodGroupCondition | None) -> bool:
    """Whether the last that was heard is that members cannot be placed."""
    return announcement.reason in REFUSALS if announcement is not None else _is_refusal(previous)


def dated(
    condition: PodGroupCondition, previous: PodGroupCondition | None, *, generation: int, now: float
) -> PodGroupCondition:
    """The condition for this generation of the spec; its transition time is `now` unless the status is the same."""
    same = previous is not None and previous.status == condition.status
    since = previous.last_transition_time if previous is not None and same else None
    return replace(condition, last_transition_time=since or rfc3339(now), observed_generation=generation)


def _are_gated(counts: MemberCounts, needed: int) -> bool:
    """Whether enough members exist, but too few of them may be tried."""
    return counts.pods - counts.gated < needed <= counts.pods


def _said(status: str, reason: StrEnum, message: str) -> PodGroupCondition:
    return PodGroupCondition(type=SCHEDULED, status=status, reason=reason.value, message=message)


def _is_refusal(condition: PodGroupCondition | None) -> bool:
    return condition is not None and condition.status == "False" and condition.reason in REFUSALS


def _with(
    conditions: tuple[PodGroupCondition, ...] | None, ours: PodGroupCondition | None
) -> tuple[PodGroupCondition, ...] | None:
    """The conditions with ours in its place; others' stay as they are."""
    kept = list(conditions or ())
    for index, condition in enumerate(kept):
        if condition.type == SCHEDULED:
            kept[index : index + 1] = [ours] if ours is not None else []
            break
    else:
        if ours is not None:
            kept.append(ours)
    return tuple(kept) or None
