"""The condition `Scheduled`: whether the quorum of a group has nodes, and why not.

Pure. What the pods show goes before what the scheduler said: its word may be from before a member was deleted, or
another scheduler may have placed them. Without any word, as after a restart, the last refusal still stands. A condition
that was there once never disappears.
"""

from __future__ import annotations

from datetime import UTC, datetime

from . import messages
from .board import Reason, Verdict
from .model import SCHEDULED, Condition
from .phases import Counts

REFUSALS = frozenset({Reason.GATED_PODS, Reason.NOT_ENOUGH_RESOURCES, Reason.UNSCHEDULABLE, Reason.TIMEOUT})
"""Reasons why members that exist get no nodes."""


def statement(
    counts: Counts, needed: int, *, ended: bool, verdict: Verdict | None, previous: Condition | None
) -> Condition | None:
    """What is to be said of a group whose quorum is `needed` members; None when nothing is known yet.

    `ended` is whether the group has come to its end, after which nothing new is to be said. The transition time and the
    generation are those of `previous`, or absent.
    """
    if counts.scheduled >= needed:
        return _said("True", Reason.SCHEDULED, messages.scheduled(needed, needed))
    if ended:
        return previous
    if counts.pods < needed:
        return _said("False", Reason.WAITING_FOR_PODS, messages.waiting_for_pods(counts.pods, needed))
    if verdict is not None and verdict.reason is not Reason.SCHEDULED:
        return _said("False", verdict.reason, verdict.message)
    if previous is None or _is_refusal(previous):
        return previous
    had_it = previous.status == "True" or previous.reason == Reason.LOST_MEMBERS
    reason = Reason.LOST_MEMBERS if had_it and counts.scheduled else Reason.SCHEDULING
    return _said("False", reason, messages.scheduled(counts.scheduled, needed))


def refused(verdict: Verdict | None, previous: Condition | None) -> bool:
    """Whether the last that was heard is that members cannot be placed."""
    return verdict.reason in REFUSALS if verdict is not None else _is_refusal(previous)


def dated(condition: Condition, previous: Condition | None, *, generation: int, now: float) -> Condition:
    """The condition for this generation of the spec; its transition time is `now` unless the status is the same."""
    same = previous is not None and previous.status == condition.status
    since = previous.last_transition_time if previous is not None and same else None
    return condition.model_copy(
        update={"last_transition_time": since or timestamp(now), "observed_generation": generation}
    )


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as the API writes them."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%dT%H:%M:%SZ}"


def _said(status: str, reason: Reason, message: str) -> Condition:
    return Condition(type=SCHEDULED, status=status, reason=reason.value, message=message)


def _is_refusal(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "False" and condition.reason in REFUSALS
