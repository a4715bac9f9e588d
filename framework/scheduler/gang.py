"""The gang cycle: place what a group still lacks as a transaction, or hold nothing.

All members are tried on the snapshot under its undo log. Only when as many fit as the group lacks are they assumed,
reserved and permitted, one after another and still within the same step; so two groups can never hold half each of what
one of them needs. Members beyond the quorum are placed along with it, and fail each on its own.

Members that differ may fit in one order and not in another. Where they do not fit as they came, a few other orders are
tried; that finds most of what fits, not all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..contract.decision import GroupDecision
from ..contract.group import GroupPlugin
from ..contract.status import Code, Status
from ..snapshot.snapshot import Snapshot
from .attempt import Attempt
from .gang_order import alike, larger_first, to_the_front
from .scheduling import SchedulingCycle

_TIMES_TO_THE_FRONT = 2


@dataclass(slots=True)
class GangOutcome:
    """What became of the members: each is in one of the lists.

    Attributes:
        held: attempts that have a node, reserved.
        failed: attempts that have none, each with its status.
        together: whether the failed ones failed as a group, for one reason.
        spoiler: the first that had a node and could not be held.
        decision: what the trial came to; None where members were tried each on its own.
    """

    held: list[Attempt] = field(default_factory=list)
    failed: list[Attempt] = field(default_factory=list)
    together: bool = False
    spoiler: Attempt | None = None
    decision: GroupDecision | None = None


@dataclass(slots=True)
class _Trial:
    """What came of trying members in one order: who was placed, who was refused, and who was not tried any more."""

    placed: list[Attempt] = field(default_factory=list)
    refused: list[Attempt] = field(default_factory=list)
    untried: Sequence[Attempt] = ()


class GangCycle:
    """Decides for groups that `plugin` knows. `cycles` are those of all profiles: members may name several."""

    def __init__(self, cycles: Mapping[str, SchedulingCycle], snapshot: Snapshot, plugin: GroupPlugin) -> None:
        self._cycles = cycles
        self._snapshot = snapshot
        self._plugin = plugin

    def run(self, group: str, attempts: Sequence[Attempt]) -> GangOutcome:
        """Decide for the waiting members of `group`, in the order given."""
        missing = self._plugin.missing(group)
        if missing <= 0:
            return self._singly(attempts)
        trial = self._try_orders(attempts, missing)
        if len(trial.placed) < missing:
            return self._reject(group, missing, trial)
        members = [attempt.decision() for attempt in (*trial.placed, *trial.refused)]
        decision = GroupDecision(group, None, None, len(trial.placed), missing, members)
        return self._hold(trial.placed, missing, GangOutcome(failed=trial.refused, decision=decision))

    def lacks_quorum(self, group: str) -> bool:
        """Whether the members that hold a node are too few."""
        return self._plugin.missing(group) > 0

    def _singly(self, attempts: Sequence[Attempt]) -> GangOutcome:
        outcome = GangOutcome()
        for attempt in attempts:
            self._cycle_of(attempt).run(attempt)
            (outcome.held if attempt.status is None else outcome.failed).append(attempt)
        return outcome

    def _try_orders(self, attempts: Sequence[Attempt], missing: int) -> _Trial:
        """The trial of the first order in which enough members fit; where there is none, that of the order given."""
        first = self._try(attempts, missing)
        if len(first.placed) >= missing or not self._order_matters(attempts, first):
            return first
        for order in self._orders(attempts, missing):
            trial = self._try(order, missing)
            if len(trial.placed) >= missing:
                return trial
        return self._try(attempts, missing)

    def _order_matters(self, attempts: Sequence[Attempt], trial: _Trial) -> bool:
        """Whether members differ, and it was nodes that refused them."""
        by_nodes = all(
            attempt.status is not None and attempt.status.rejected and self._plugin.name not in attempt.rejectors
            for attempt in trial.refused
        )
        return by_nodes and not alike(attempts)

    def _orders(self, attempts: Sequence[Attempt], missing: int) -> Iterator[Sequence[Attempt]]:
        """Orders worth a trial. Each is to be tried before the next is asked for."""
        offered = self._snapshot.resources.offered_in_all()
        order = larger_first(attempts, offered)
        smaller_first = order[::-1]
        yield order
        for _ in range(_TIMES_TO_THE_FRONT):
            order = to_the_front([attempt for attempt in order if attempt.status is not None], order)
            yield order
        if len(attempts) > missing:
            yield smaller_first

    def _try(self, attempts: Sequence[Attempt], missing: int) -> _Trial:
        """Place members one after another on a snapshot that has those before them; then undo it all.

        Stops as soon as the quorum is out of reach.
        """
        trial = _Trial()
        for attempt in attempts:
            attempt.begin_anew()
        with self._snapshot.trial():
            for index, attempt in enumerate(attempts):
                if trial.refused and len(trial.placed) + len(attempts) - index < missing:
                    trial.untried = attempts[index:]
                    break
                self._cycle_of(attempt).place(attempt, rescue=False)
                if attempt.status is None:
                    self._snapshot.add_pod(attempt.pod, attempt.node_name)
                    trial.placed.append(attempt)
                else:
                    trial.refused.append(attempt)
        return trial

    def _hold(self, placed: Sequence[Attempt], missing: int, outcome: GangOutcome) -> GangOutcome:
        """Hold those that were placed; once too few of them can be held, the rest is not held at all."""
        for index, attempt in enumerate(placed):
            self._cycle_of(attempt).hold(attempt)
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

    def _reject(self, group: str, missing: int, trial: _Trial) -> GangOutcome:
        refused, placed = trial.refused, trial.placed
        cause = next((attempt.status for attempt in refused if attempt.status is not None), None)
        cause = cause or Status.pending()
        status = self._plugin.reject_group(group, cause, placed=len(placed), missing=missing).by(self._plugin.name)
        members = [attempt.decision() for attempt in (*placed, *refused)]
        decision = GroupDecision(group, status, cause, len(placed), missing, members)
        rejectors = set().union(*(attempt.rejectors for attempt in refused))
        pending = set().union(*(attempt.pending for attempt in refused))
        if rejectors or status.code is Code.PENDING:
            rejectors.add(self._plugin.name)
        if status.code is Code.PENDING:
            pending = pending or {self._plugin.name}
            for attempt in trial.untried:
                self._cycle_of(attempt).place(attempt, rescue=False)
        outcome = GangOutcome(together=True, decision=decision)
        for attempt in (*refused, *placed, *trial.untried):
            attempt.node_name = ""
            if not _waits_itself(attempt, status):
                attempt.status = status
            attempt.rejectors = set(rejectors)
            attempt.pending = set(pending)
            outcome.failed.append(attempt)
        return outcome

    def _cycle_of(self, attempt: Attempt) -> SchedulingCycle:
        return self._cycles[attempt.profile]


def _waits_itself(attempt: Attempt, group: Status) -> bool:
    """Whether the pod was told the group's reason to wait in words of its own, which may name it."""
    own = attempt.status
    return own is not None and own.code is group.code is Code.PENDING
