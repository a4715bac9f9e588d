"""Which changes of a PodGroup's status are worth an Event. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from muster.framework.contract import MAX_WAIT_SECONDS
from muster.framework.groups import Notice

from .api import SCHEDULED, PodGroup, PodGroupStatus
from .record import Announcement, PodGroupReason

_LONGEST = int(MAX_WAIT_SECONDS)


def notices(
    group: PodGroup,
    before: PodGroupStatus,
    after: PodGroupStatus,
    announcement: Announcement | None,
    *,
    anew: bool = False,
) -> Iterator[Notice]:
    """What is to be told about the step from one status of the group to the next.

    A group that lacks members is spoken of only once the scheduler has seen one: before that nobody waits. That lost
    members were replaced is not told as if the group had started again. `anew` says that the announcement is not the
    one that was there at the last look: a timeout is told each time.
    """
    timeout = group.spec.schedule_timeout_seconds or 0
    if timeout > _LONGEST and before.observed_generation != after.observed_generation:
        yield Notice(
            "Warning",
            "TimeoutTooLong",
            f"spec.scheduleTimeoutSeconds of {timeout} is cut to {_LONGEST} ({_LONGEST // 60}m)",
        )
    old, new = before.condition(SCHEDULED), after.condition(SCHEDULED)
    if new is None:
        return
    repeated = old is not None and (old.status, old.message) == (new.status, new.message)
    if repeated and not (anew and new.reason == PodGroupReason.TIMEOUT):
        return
    if new.status == "True":
        if old is None or (old.status != "True" and old.reason != PodGroupReason.LOST_MEMBERS):
            yield Notice("Normal", "Scheduled", new.message or "")
    elif announcement is not None and announcement.reason is not PodGroupReason.SCHEDULED:
        yield _unschedulable(new.reason or "", new.message or "")


def _unschedulable(reason: str, message: str) -> Notice:
    if reason == PodGroupReason.TIMEOUT:
        return Notice("Warning", "Timeout", message)
    if reason == PodGroupReason.UNSCHEDULABLE:
        return Notice("Warning", "Unschedulable", message)
    return Notice("Warning", "Unschedulable", f"{reason}: {message}")
