"""A group's trial: members are placed one after another on the snapshot under its undo log, and all of it is undone.

`GroupScheduler` runs it, once in each domain if the group needs one, and `TreeTrials` for each leaf of a tree. Members
that differ may fit in one order and not in another. If they do not fit in their own order, a few other orders are
tried; this finds most solutions, not all. Between two members other work may run, and the trial may be aborted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from ..contract.decision import REJECTED_AS_ONE, PodDecision, WaitingTogether
from ..contract.status import Status
from ..runtime.group_calls import GroupCalls
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows
from ..work import checkpoint, shielded
from .algorithm import Algorithm
from .attempt import Attempt
from .group_capacity import GroupCapacity
from .member_order import are_equal, larger_first, other_orders, start_of_last_equal
from .schedule_one import SchedulingCycle


@dataclass(slots=True)
class TriedMembers:
    """The result of trying members in one order.

    Attributes:
        placed: the members that found a node.
        rejected: the members that were tried and found none.
        untried: the members that were not tried any more.
        as_one: whether the first rejection applied to the whole group.
        hopeless: whether there is too little capacity in any order of members.
        error: the ERROR of the last member that was tried, if it fails the whole group.
    """

    placed: list[Attempt] = field(default_factory=list)
    rejected: list[Attempt] = field(default_factory=list)
    untried: Sequence[Attempt] = ()
    as_one: bool = False
    hopeless: bool = False
    error: Status | None = None

    @property
    def rejection(self) -> Status | None:
        """The error, else the status of the first member that was rejected."""
        return self.error or next((attempt.status for attempt in self.rejected if attempt.status is not None), None)

    def takes(self, missing: int) -> bool:
        """Whether so many members fit, and no error fails them."""
        return self.error is None and len(self.placed) >= missing

    def reject(self, attempt: Attempt, *, fails_as_one: bool) -> bool:
        """Add a member that found no node; whether that fails the group. `fails_as_one` is `GroupPlugin`'s."""
        self.rejected.append(attempt)
        if fails_as_one and attempt.status is not None and not attempt.status.rejected:
            self.error = attempt.status
        return self.error is not None


class GroupTrials:
    """Tries groups; each member is tried as in the scheduling cycle of its profile."""

    def __init__(
        self, cycle: SchedulingCycle, algorithms: Mapping[str, Algorithm], snapshot: Snapshot, capacity: GroupCapacity
    ) -> None:
        self._cycle = cycle
        self._algorithms = algorithms
        self._snapshot = snapshot
        self._capacity = capacity

    def run(self, plugin: GroupCalls, attempts: Sequence[Attempt], missing: int) -> TriedMembers:
        """The trial of the first order in which `missing` members fit; if there is none, that of the given order."""
        first = self._try(plugin, attempts, missing)
        decided = first.takes(missing) or first.hopeless or first.as_one or first.error is not None
        if decided or not _order_matters(plugin, attempts, first):
            return first
        larger = larger_first(attempts, self._snapshot.resources.offered_in_all())
        for order in other_orders(larger, missing):
            checkpoint()
            trial = self._try(plugin, order, missing)
            if trial.takes(missing):
                return trial
        return self._try(plugin, attempts, missing)

    def alone(self, attempts: Sequence[Attempt], tried: Sequence[PodDecision]) -> list[PodDecision]:
        """For each signature of which no pod was tried, the decision on one pod alone. Changes nothing."""
        known = {decision.pod.signature for decision in tried}
        found = []
        for attempt in attempts:
            if attempt.pod.signature not in known:
                known.add(attempt.pod.signature)
                by_itself = copy(attempt)
                by_itself.reset()
                self._cycle.schedule_pod(by_itself)
                found.append(by_itself.decision())
                checkpoint()
        return found

    def _try(self, plugin: GroupCalls, attempts: Sequence[Attempt], missing: int) -> TriedMembers:
        """Place members one after another, each beside the previous ones; then undo everything, the last first.

        Stops as soon as the quorum is out of reach, also if extenders are asked again, or the group is rejected as one
        or fails as one.
        """
        trial = TriedMembers()
        together = WaitingTogether([attempt.pod for attempt in attempts], missing)
        for attempt in attempts:
            attempt.reset()
            attempt.state.write(WaitingTogether.KEY, together)
            checkpoint()
        reserved: list[Attempt] = []
        undecided = equal_from = 0
        with self._snapshot.trial():
            try:
                for index, attempt in enumerate(attempts):
                    if trial.rejected and len(trial.placed) + undecided + len(attempts) - index < missing:
                        trial.untried = attempts[index:]
                        break
                    self._cycle.schedule_pod(attempt)
                    if index == 0 and attempt.status is None and self._is_hopeless(attempts, missing):
                        trial.hopeless, equal_from = True, start_of_last_equal(attempts)
                    if trial.hopeless and index >= equal_from and self._may_fill(attempt):
                        self._fill(plugin, trial, attempts[index:], missing)
                        break
                    if attempt.status is None and self._reserve_in_trial(attempt):
                        trial.placed.append(attempt)
                        reserved.append(attempt)
                    elif trial.reject(attempt, fails_as_one=plugin.fails_as_one):
                        trial.untried = attempts[index + 1 :]
                        break
                    elif attempt.state.nodes_to_ask:
                        undecided += 1
                    elif attempt.state.get(REJECTED_AS_ONE) is not None:
                        trial.untried, trial.as_one = attempts[index + 1 :], True
                        break
                    checkpoint()
            finally:
                with shielded:
                    while reserved:
                        _unreserve(reserved.pop())
                        checkpoint()
        return trial

    def _is_hopeless(self, attempts: Sequence[Attempt], missing: int) -> bool:
        """Whether there is no capacity for `missing` members in any order."""
        if any(attempt.state.within is not attempts[0].state.within for attempt in attempts):
            return False
        pods = {attempt.pod.signature: attempt.pod for attempt in attempts}.values()
        return not self._capacity.enough(attempts[0].framework, pods, missing, attempts[0].state.within)

    def _may_fill(self, attempt: Attempt) -> bool:
        """Whether as many members equal to this one fit as there is capacity for; it has just been tried."""
        return attempt.status is None and attempt.framework.filtering.capacity_is_exact(attempt.state)

    def _fill(self, plugin: GroupCalls, trial: TriedMembers, equal: Sequence[Attempt], missing: int) -> None:
        """Place as many as there is capacity for of the last members, equal ones, without trying them.

        Then try others until too few are left. Faster than a trial of every member, if only the reason of the rejection
        counts. Which nodes these members get matters to no other member: as many fit as would in a trial.
        """
        capacities = self._capacity.of(equal[0].framework, equal[0].pod)
        if capacities is None:
            raise LookupError("capacity was counted a moment ago")
        nodes = self._passing(equal[0])
        rows = np.repeat(nodes, np.minimum(capacities[nodes], len(equal)))[: len(equal)]
        for attempt, row in zip(equal, rows.tolist(), strict=False):
            attempt.node_name = self._snapshot.names[row]
            self._snapshot.add_pod(attempt.pod, attempt.node_name)
            trial.placed.append(attempt)
            checkpoint()
        for index, attempt in enumerate(equal[len(rows) :], start=len(rows) + 1):
            self._cycle.schedule_pod(attempt)
            if attempt.status is None:  # capacity of members' own nominations: only they may use it
                self._snapshot.add_pod(attempt.pod, attempt.node_name)
                trial.placed.append(attempt)
            else:
                trial.reject(attempt, fails_as_one=plugin.fails_as_one)
            checkpoint()
            if trial.error is not None or len(trial.placed) + len(equal) - index < missing:
                trial.untried = equal[index:]
                return

    def _passing(self, attempt: Attempt) -> Rows:
        """The rows of the feasible nodes of the pod; capacities are also counted on nodes that it may not use."""
        attempt.reset()
        algorithm = self._algorithms[attempt.framework.name]
        found = algorithm.find_to_the_end(attempt.state, attempt.pod, nominated_first=False)
        return found.rows[:0] if found.filtered is None or found.filtered.error is not None else found.filtered.feasible

    def _reserve_in_trial(self, attempt: Attempt) -> bool:
        pod, state, node_name = attempt.pod, attempt.state, attempt.node_name
        self._snapshot.add_pod(pod, node_name)
        rejection = attempt.framework.reserving.reserve(state, pod, node_name)
        if rejection is not None:
            _unreserve(attempt)
            self._snapshot.remove_pod(pod, node_name)
            attempt.fail_on_node(rejection)
        return rejection is None


def _unreserve(attempt: Attempt) -> None:
    attempt.framework.reserving.unreserve(attempt.state, attempt.pod, attempt.node_name)


def _order_matters(plugin: GroupCalls, attempts: Sequence[Attempt], trial: TriedMembers) -> bool:
    """Whether members differ, and each of the rejected members was rejected for its nodes, not by the group plugin."""
    by_nodes = all(
        attempt.status is not None and attempt.status.rejected and plugin.name not in attempt.rejectors
        for attempt in trial.rejected
    )
    return by_nodes and not are_equal(attempts)
