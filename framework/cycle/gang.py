"""The gang cycle: place what a group still lacks as a transaction, or hold nothing.

All members are tried on the snapshot under its undo log. Only when as many fit as the group lacks are they assumed,
reserved and permitted, one after another and still within the same step; so two groups can never hold half each of what
one of them needs. Members beyond the quorum are placed along with it, and fail each on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..cache.snapshot import Snapshot
from ..contract.group import GroupPlugin
from ..contract.status import Code, Status
from .attempt import Attempt
from .scheduling import SchedulingCycle


@dataclass(slots=True)
class GangOutcome:
    """What became of the members: each is in one of the lists.

    Attributes:
        held: attempts that have a node, reserved.
        failed: attempts that have none, each with its status.
        together: whether the failed ones failed as a group, for one reason.
        spoiler: the first that had a node and could not be held.
    """

    held: list[Attempt] = field(default_factory=list)
    failed: list[Attempt] = field(default_factory=list)
    together: bool = False
    spoiler: Attempt | None = None


class GangCycle:
    """Decides for groups of one profile."""

    def __init__(self, cycle: SchedulingCycle, snapshot: Snapshot, plugin: GroupPlugin) -> None:
        self._cycle = cycle
        self._snapshot = snapshot
        self._plugin = plugin

    def run(self, group: str, attempts: Sequence[Attempt]) -> GangOutcome:
        """Decide for the waiting members of `group`, in the order given."""
        missing = self._plugin.missing(group)
        if missing <= 0:
            return self._singly(attempts)
        placed, refused, untried = self._try(attempts, missing)
        if len(placed) < missing:
            return self._reject(group, missing, placed, refused, untried)
        return self._hold(placed, missing, GangOutcome(failed=refused))

    def lacks_quorum(self, group: str) -> bool:
        """Whether the members that hold a node are too few."""
        return self._plugin.missing(group) > 0

    def _singly(self, attempts: Sequence[Attempt]) -> GangOutcome:
        outcome = GangOutcome()
        for attempt in attempts:
            self._cycle.run(attempt)
            (outcome.held if attempt.status is None else outcome.failed).append(attempt)
        return outcome

    def _try(self, attempts: Sequence[Attempt], missing: int) -> tuple[list[Attempt], list[Attempt], Sequence[Attempt]]:
        """Place members one after another on a snapshot that has those before them; then undo it all.

        Stops as soon as the quorum is out of reach. Returns who was placed, who was refused and who was not tried.
        """
        placed: list[Attempt] = []
        refused: list[Attempt] = []
        with self._snapshot.trial():
            for index, attempt in enumerate(attempts):
                if refused and len(placed) + len(attempts) - index < missing:
                    return placed, refused, attempts[index:]
                self._cycle.place(attempt, rescue=False)
                if attempt.status is None:
                    self._snapshot.add_pod(attempt.pod, attempt.node_name)
                    placed.append(attempt)
                else:
                    refused.append(attempt)
        return placed, refused, ()

    def _hold(self, placed: Sequence[Attempt], missing: int, outcome: GangOutcome) -> GangOutcome:
        """Hold those that were placed; once too few of them can be held, the rest is not held at all."""
        for index, attempt in enumerate(placed):
            self._cycle.hold(attempt)
            if attempt.status is None:
                outcome.held.append(attempt)
                continue
            outcome.failed.append(attempt)
            outcome.spoiler = outcome.spoiler or attempt
            rest = placed[index + 1 :]
            if len(outcome.held) + len(rest) < missing:
                outcome.failed += [each.follow(attempt) for each in rest]
                break
        return outcome

    def _reject(
        self,
        group: str,
        missing: int,
        placed: Sequence[Attempt],
        refused: Sequence[Attempt],
        untried: Sequence[Attempt],
    ) -> GangOutcome:
        rejectors = set().union(*(attempt.rejectors for attempt in refused))
        if rejectors:
            rejectors.add(self._plugin.name)
        pending = set().union(*(attempt.pending for attempt in refused))
        cause = next((attempt.status for attempt in refused if attempt.status is not None), None)
        status = self._plugin.reject_group(group, cause or Status.pending(), placed=len(placed), missing=missing).by(
            self._plugin.name
        )
        if status.code is Code.PENDING:
            for attempt in untried:
                self._cycle.place(attempt, rescue=False)
        outcome = GangOutcome(together=True)
        for attempt in (*refused, *placed, *untried):
            attempt.node_name = ""
            if not _waits_itself(attempt, status):
                attempt.status = status
            attempt.rejectors = set(rejectors)
            attempt.pending = set(pending)
            outcome.failed.append(attempt)
        return outcome


def _waits_itself(attempt: Attempt, group: Status) -> bool:
    """Whether the pod was told the group's reason to wait in words of its own, which may name it."""
    own = attempt.status
    return own is not None and own.code is group.code is Code.PENDING
