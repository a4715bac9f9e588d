"""The phase of a group: a pure state machine over the counts of its members.

           ┌──────────────────────── members go ────────────────────────┐
           ▼                                                            │
        Pending ── enough exist ──► Scheduling ── the quorum runs ──► Running
           ▲                         │      ▲                           │
           │                         ▼      │ placed after all          │ the quorum succeeded
           │        part runs, ── Unknown ──┘                           ▼
           │     the rest does not fit                               Finished
           │                                                            │
           └───── new members are created ──────── Failed ◄─ the quorum cannot be reached

The diagram shows the usual transitions. Any phase may follow any other, because members are created, end and are
deleted while no controller runs: only the current members count. The previous phase matters in one case, when no member
is left alive: a group that has ended keeps its phase while its members are cleaned up. As soon as new members exist,
they alone determine the phase, whatever it was before.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from muster.framework.groups import MemberCounts

from .api import Phase


class Situation(StrEnum):
    """The situation of a group's members. The first that applies, in this order."""

    SUCCEEDED = "the quorum has succeeded, and the members that are alive are no quorum of a new run"
    DEAD = "no member is alive, some failed, and the quorum was not reached"
    LEFT = "no member is alive, and too few are left to say how it ended"
    SHORT = "fewer exist than needed"
    BROKEN = "some failed, and the others are too few"
    RUNNING = "the quorum runs or has succeeded"
    STUCK = "a part of the quorum runs, and the rest cannot be placed"
    STARTING = "enough exist"


TABLE: Mapping[Situation, Mapping[Phase, Phase]] = {
    situation: dict.fromkeys(Phase, alive) | {Phase.FINISHED: finished, Phase.FAILED: failed}
    for situation, alive, finished, failed in (
        # situation, and where it leads: from a run that has not ended, from Finished, from Failed
        (Situation.SUCCEEDED, Phase.FINISHED, Phase.FINISHED, Phase.FINISHED),
        (Situation.DEAD, Phase.FAILED, Phase.FINISHED, Phase.FAILED),
        (Situation.LEFT, Phase.PENDING, Phase.FINISHED, Phase.FAILED),
        (Situation.SHORT, Phase.PENDING, Phase.PENDING, Phase.PENDING),
        (Situation.BROKEN, Phase.FAILED, Phase.FAILED, Phase.FAILED),
        (Situation.RUNNING, Phase.RUNNING, Phase.RUNNING, Phase.RUNNING),
        (Situation.STUCK, Phase.UNKNOWN, Phase.UNKNOWN, Phase.UNKNOWN),
        (Situation.STARTING, Phase.SCHEDULING, Phase.SCHEDULING, Phase.SCHEDULING),
    )
}
"""The next phase, by situation and present phase. Every pair is there."""

STARTED = frozenset({Phase.SCHEDULING, Phase.UNKNOWN, Phase.RUNNING})
"""Phases in which a group is on its way; entering one of them from any other starts its schedule time."""

ENDED = frozenset({Phase.FINISHED, Phase.FAILED})
"""Phases in which nothing is to be scheduled."""


def situation(counts: MemberCounts, needed: int, *, rejected: bool) -> Situation:
    """The situation of the members, when `needed` of them (at least 1) are the quorum.

    `rejected` says that the scheduler found no place for those that still have no node.
    """
    lived_whole = counts.succeeded >= needed
    if lived_whole and counts.alive < needed:
        return Situation.SUCCEEDED
    if not counts.alive:
        return Situation.DEAD if counts.failed and counts.pods >= needed else Situation.LEFT
    if counts.pods < needed:
        return Situation.SHORT
    if counts.pods - counts.failed < needed:
        return Situation.BROKEN
    # Members that succeeded in an ended run do not help the next one.
    under_way = counts.running + (0 if lived_whole else counts.succeeded)
    if under_way >= needed:
        return Situation.RUNNING
    if rejected and under_way and counts.scheduled < needed:
        return Situation.STUCK
    return Situation.STARTING


def phase_of(text: str | None) -> Phase:
    """The phase that a status names; Pending where it names none, or one of another scheduler's own."""
    try:
        return Phase(text or Phase.PENDING)
    except ValueError:
        return Phase.PENDING
