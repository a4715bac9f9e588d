"""The status of a group as it should be now: phase, counts, condition and times in one step.

Pure: the controller hands in what it sees and writes what comes out. What is asked for twice with the same facts comes
out the same, so a status that is written once is not written again.
"""

from __future__ import annotations

from dataclasses import dataclass

from .board import Verdict
from .conditions import dated, refused, statement, timestamp
from .model import SCHEDULED, Condition, PodGroupStatus
from .phases import ENDED, STARTED, TABLE, Counts, phase_of, situation


@dataclass(frozen=True, slots=True)
class Observation:
    """What is there to be seen of a group.

    Attributes:
        min_member: of the spec; 0 where it names none, which one member satisfies.
        generation: of the spec.
        counts: its members.
        owners: who owns them, as the status writes it; "" when nobody does.
        verdict: the scheduler's last word.
    """

    min_member: int
    generation: int
    counts: Counts
    owners: str = ""
    verdict: Verdict | None = None


def next_status(previous: PodGroupStatus, seen: Observation, *, now: float) -> PodGroupStatus:
    """The status that follows; `now` is in seconds since the epoch and dates what begins with this step."""
    needed, counts = max(1, seen.min_member), seen.counts
    said = previous.condition(SCHEDULED)
    before = phase_of(previous.phase)
    phase = TABLE[situation(counts, needed, refused=refused(seen.verdict, said))][before]
    says = statement(counts, needed, ended=phase in ENDED, verdict=seen.verdict, previous=said)
    if says is not None:
        says = dated(says, said, generation=seen.generation, now=now)
    starts = phase in STARTED and before not in STARTED
    return previous.model_copy(
        update={
            "phase": phase.value,
            "occupied_by": seen.owners or previous.occupied_by,
            "scheduled": counts.scheduled,
            "running": counts.running,
            "succeeded": counts.succeeded,
            "failed": counts.failed,
            "schedule_start_time": timestamp(now) if starts else previous.schedule_start_time,
            "conditions": _with(previous.conditions, says),
            "observed_generation": seen.generation,
        }
    )


def _with(conditions: tuple[Condition, ...] | None, ours: Condition | None) -> tuple[Condition, ...] | None:
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
