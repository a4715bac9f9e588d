"""How a group is scheduled: what it still lacks is placed as a transaction, or nothing is reserved.

All members are tried on the snapshot under its undo log, each with the members before it on their nodes and reserved
there. Only when as many fit as the group lacks are they assumed and reserved for real, then permitted, still within the
same step; so two groups can never hold half each of what one of them needs. Members beyond the quorum are placed along
with it, and fail each on its own. Then the members are bound together: when the quorum is lost meanwhile, none is.

Members that differ may fit in one order and not in another. Where they do not fit as they came, a few other orders are
tried; that finds most of what fits, not all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..contract.decision import GroupDecision
from ..contract.group import GroupPlugin
from ..contract.observer import GroupResult
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..snapshot.snapshot import Snapshot
from .attempt import Attempt
from .binding_cycle import BindingCycle
from .event_handlers import PodEventHandler
from .failure import FailureHandler
from .group_room import GroupRoom, alike, as_queued, larger_first, to_the_front
from .profile_handle import Ports
from .reports import Reports
from .schedule_one import SchedulingCycle

_TIMES_TO_THE_FRONT = 2


@dataclass(slots=True)
class GroupOutcome:
    """What became of the members: each is in one of the lists.

    Attributes:
        placed: attempts that have a node, reserved.
        failed: attempts that have none, each with its status.
        together: whether the failed ones failed as a group, for one reason.
        first_lost: the first that had a node and could not be reserved there.
        decision: what the trial came to; None where members were tried each on its own.
    """

    placed: list[Attempt] = field(default_factory=list)
    failed: list[Attempt] = field(default_factory=list)
    together: bool = False
    first_lost: Attempt | None = None
    decision: GroupDecision | None = None


@dataclass(slots=True)
class _Trial:
    """What came of trying members in one order: who was placed, who was refused, and who was not tried any more."""

    placed: list[Attempt] = field(default_factory=list)
    refused: list[Attempt] = field(default_factory=list)
    untried: Sequence[Attempt] = ()
    hopeless: bool = False


class GroupCycle:
    """Schedules groups of all profiles, and binds them."""

    def __init__(
        self,
        cycle: SchedulingCycle,
        bindings: BindingCycle,
        failures: FailureHandler,
        reports: Reports,
        pods: PodEventHandler,
        snapshot: Snapshot,
        room: GroupRoom,
        ports: Ports,
    ) -> None:
        self._cycle = cycle
        self._room = room
        self._bindings = bindings
        self._failures = failures
        self._reports = reports
        self._pods = pods
        self._snapshot = snapshot
        self._ports = ports

    def run(self, plugin: GroupPlugin, group: str, attempts: Sequence[Attempt]) -> int:
        """Decide for the waiting members of `group`. How many got a node."""
        began, attempts = self._ports.clock.now(), as_queued(attempts)
        outcome = self.decide(plugin, group, attempts)
        if outcome.decision is None:
            for attempt in attempts:
                attempt.tell_followers()
        else:
            attempts[0].framework.tell_group_decision(outcome.decision)
        seconds = self._ports.clock.now() - began
        self._ports.observer.group_algorithm_seconds(seconds)
        result = "scheduled" if outcome.placed and plugin.missing(group) <= 0 else _failure(outcome)
        self._ports.observer.group_attempt(result, profile=attempts[0].profile, seconds=seconds)
        if outcome.together:
            self._failures.failed(outcome.failed)
        else:
            for attempt in outcome.failed:
                self._failures.failed([attempt])
        if outcome.placed:
            for attempt in outcome.placed:
                self._reports.placed(attempt)
            self._ports.spawn(self._bind(plugin, group, outcome))
        return len(outcome.placed)

    def decide(self, plugin: GroupPlugin, group: str, attempts: Sequence[Attempt]) -> GroupOutcome:
        """Place the members, or say why not."""
        missing = plugin.missing(group)
        for attempt in attempts:
            attempt.state.group = group
        if missing <= 0:
            return self._each_by_itself(attempts)
        trial = self._try_orders(plugin, attempts, missing)
        members = [attempt.decision() for attempt in (*trial.placed, *trial.refused)]
        placed = len(trial.placed)
        if placed >= missing:
            decision = GroupDecision(group, None, None, placed, missing, members)
            return self._place(trial.placed, missing, GroupOutcome(failed=trial.refused, decision=decision))
        refusal = next((attempt.status for attempt in trial.refused if attempt.status is not None), None)
        cause = refusal or Status.pending()
        status = plugin.reject_group(group, cause, placed=placed, missing=missing).by(plugin.name)
        decision = GroupDecision(group, status, cause, placed, missing, members)
        return self._reject(plugin, status, trial, decision)

    def _each_by_itself(self, attempts: Sequence[Attempt]) -> GroupOutcome:
        outcome = GroupOutcome()
        for attempt in attempts:
            self._cycle.run(attempt)
            (outcome.placed if attempt.status is None else outcome.failed).append(attempt)
        return outcome

    # The trial.

    def _try_orders(self, plugin: GroupPlugin, attempts: Sequence[Attempt], missing: int) -> _Trial:
        """The trial of the first order in which enough members fit; where there is none, that of the order given."""
        first = self._try(attempts, missing)
        if len(first.placed) >= missing or first.hopeless or not _order_matters(plugin, attempts, first):
            return first
        for order in self._orders(attempts, missing):
            trial = self._try(order, missing)
            if len(trial.placed) >= missing:
                return trial
        return self._try(attempts, missing)

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
        """Place members one after another on a snapshot that has those before them; then undo it all, last first.

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
                self._cycle.schedule_pod(attempt, post_filter=False)
                if index == 0 and attempt.status is None and self._is_hopeless(attempts, missing):
                    self._fill(trial, attempts)
                    break
                fits = attempt.status is None and self._reserve_in_trial(attempt)
                (trial.placed if fits else trial.refused).append(attempt)
            for attempt in () if trial.hopeless else reversed(trial.placed):
                attempt.framework.run_reserve_plugins_unreserve(attempt.state, attempt.pod, attempt.node_name)
        return trial

    def _is_hopeless(self, attempts: Sequence[Attempt], missing: int) -> bool:
        """Whether so many of them cannot find room, in whatever order they are tried."""
        pods = {attempt.pod.signature: attempt.pod for attempt in attempts}.values()
        return not self._room.enough(attempts[0].framework, pods, missing)

    def _fill(self, trial: _Trial, attempts: Sequence[Attempt]) -> None:
        """Put as many as there is room for on any nodes, and see what refuses the next one: that is the reason for all.

        Those that have room count as placed. It is the quick way to what a trial of each of them would come to.
        """
        trial.hopeless = True
        left = list(attempts)
        while left:
            signature = left[0].pod.signature
            alike = [attempt for attempt in left if attempt.pod.signature is signature]
            left = [attempt for attempt in left if attempt.pod.signature is not signature]
            capacities = self._room.of(alike[0].framework, alike[0].pod)
            if capacities is None:
                raise LookupError("room was counted a moment ago")
            rows = np.repeat(np.arange(len(capacities)), np.minimum(capacities, len(alike)))[: len(alike)]
            for attempt, row in zip(alike, rows.tolist(), strict=False):
                attempt.node_name = self._snapshot.names[row]
                self._snapshot.add_pod(attempt.pod, attempt.node_name)
                trial.placed.append(attempt)
            if len(rows) < len(alike):
                self._cycle.schedule_pod(alike[len(rows)], post_filter=False)
                trial.refused.append(alike[len(rows)])
                trial.untried = [*alike[len(rows) + 1 :], *left]
                return

    def _reserve_in_trial(self, attempt: Attempt) -> bool:
        pod, state, node_name = attempt.pod, attempt.state, attempt.node_name
        self._snapshot.add_pod(pod, node_name)
        refused = attempt.framework.run_reserve_plugins_reserve(state, pod, node_name)
        if refused is not None:
            attempt.framework.run_reserve_plugins_unreserve(state, pod, node_name)
            self._snapshot.remove_pod(pod, node_name)
            attempt.fail_on_node(refused)
        return refused is None

    # What follows from it.

    def _place(self, fitting: Sequence[Attempt], missing: int, outcome: GroupOutcome) -> GroupOutcome:
        """Reserve for real, then permit. Once too few are left, all that was reserved is given back, last first."""
        for index, attempt in enumerate(fitting):
            if self._cycle.reserve(attempt):
                outcome.placed.append(attempt)
            elif not self._go_on(attempt, len(outcome.placed) + len(fitting) - index - 1, missing, outcome):
                return self._give_up(attempt, fitting[index + 1 :], outcome)
        for attempt in tuple(outcome.placed):
            if not self._cycle.permit(attempt):
                outcome.placed.remove(attempt)
                if not self._go_on(attempt, len(outcome.placed), missing, outcome):
                    return self._give_up(attempt, (), outcome)
        return outcome

    def _go_on(self, lost: Attempt, left: int, missing: int, outcome: GroupOutcome) -> bool:
        outcome.failed.append(lost)
        outcome.first_lost = outcome.first_lost or lost
        return left >= missing

    def _give_up(self, lost: Attempt, rest: Sequence[Attempt], outcome: GroupOutcome) -> GroupOutcome:
        self._bindings.withdraw(outcome.placed, lost)
        for attempt in rest:
            attempt.fail_with(lost)
        outcome.failed += [*outcome.placed, *rest]
        outcome.placed = []
        return outcome

    def _reject(self, plugin: GroupPlugin, status: Status, trial: _Trial, decision: GroupDecision) -> GroupOutcome:
        rejectors = set().union(*(attempt.rejectors for attempt in trial.refused))
        pending = set().union(*(attempt.pending for attempt in trial.refused))
        if rejectors or status.code is Code.PENDING:
            rejectors.add(plugin.name)
        if status.code is Code.PENDING:
            pending = pending or {plugin.name}
            for attempt in trial.untried:
                self._cycle.schedule_pod(attempt, post_filter=False)
        outcome = GroupOutcome(together=True, decision=decision)
        for attempt in (*trial.refused, *trial.placed, *trial.untried):
            attempt.node_name = ""
            if not _waits_itself(attempt, status):
                attempt.status = status
            attempt.rejectors = set(rejectors)
            attempt.pending = set(pending)
            outcome.failed.append(attempt)
        return outcome

    # Binding.

    async def _bind(self, plugin: GroupPlugin, group: str, outcome: GroupOutcome) -> None:
        """Bind members that were placed in one transaction; when that loses the quorum meanwhile, none is bound."""
        with self._bindings.counted():
            attempts = outcome.placed
            await asyncio.gather(*(self._bindings.permitted(attempt) for attempt in attempts))
            for attempt in attempts:
                if attempt.status is None and not self._is_there(attempt.pod):
                    self._bindings.removed(attempt)
            lost = [attempt for attempt in attempts if attempt.status is not None]
            permitted = [attempt for attempt in attempts if attempt.status is None]
            first_lost = outcome.first_lost or next(iter(lost), None)
            if first_lost is not None and plugin.missing(group) > 0:
                self._bindings.withdraw(permitted, first_lost)
                self._failures.released(attempts)
                return
            for attempt in lost:
                self._failures.released([attempt])
            await asyncio.gather(*(self._bindings.bind(attempt) for attempt in permitted))

    def _is_there(self, pod: PodInfo) -> bool:
        """Whether the pod has not been deleted."""
        current = self._pods.mine(pod.key)
        return current is not None and current.uid == pod.uid and not current.terminating


def _order_matters(plugin: GroupPlugin, attempts: Sequence[Attempt], trial: _Trial) -> bool:
    """Whether members differ, and it was nodes that refused them."""
    by_nodes = all(
        attempt.status is not None and attempt.status.rejected and plugin.name not in attempt.rejectors
        for attempt in trial.refused
    )
    return by_nodes and not alike(attempts)


def _waits_itself(attempt: Attempt, group: Status) -> bool:
    """Whether the pod was told the group's reason to wait in words of its own, which may name it."""
    own = attempt.status
    return own is not None and own.code is group.code is Code.PENDING


def _failure(outcome: GroupOutcome) -> GroupResult:
    """What a group's attempt that did not start it came to, as a label of metrics."""
    statuses = [attempt.status for attempt in outcome.failed if attempt.status is not None]
    return "unschedulable" if all(status.rejected for status in statuses) else "error"
