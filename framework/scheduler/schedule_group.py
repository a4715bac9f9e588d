"""How a group is scheduled: the members that it lacks are placed in one transaction, or nothing is reserved.

All members are tried on the snapshot under its undo log, each with the previous members on their nodes and reserved
there. Only if as many fit as the group lacks are they assumed and reserved for real, and then permitted, in the same
decision; so two groups can never each hold half of what one of them needs. Members beyond the quorum are placed along
with it. Those that did not fit are then tried one by one, like pods without a group, including preemption unless the
group preempts as a whole (`later_members`). Finally the members are bound together; if the quorum is lost before that,
none is bound.

Work that grows with the number of members passes checkpoints, where the scheduler lets other work run. `plugin` is the
group's plugin, with each call guarded, here and in the modules that decide on groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ..contract.decision import GroupDecision, PodDecision
from ..contract.group_preemption import with_preemption
from ..contract.group_tree import Part
from ..contract.status import Code, Status
from ..contract.topology import Topology
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed
from ..runtime.attempt_state import AttemptState
from ..runtime.group_calls import GroupCalls
from ..runtime.points import REJECT_TRIAL
from ..snapshot.view import Rows
from ..work import checkpoint, commit
from .attempt import Attempt
from .consultations import should_ask_again
from .domain_search import DomainSearch
from .domain_trial import Searched
from .engine_services import EngineServices
from .group_binding import GroupBinding, has_quorum
from .group_outcome import GroupOutcome
from .group_post_filter import GroupPostFilter, PostFiltered, Together
from .group_trial import GroupTrials, TriedMembers
from .later_members import found_no_node
from .member_order import are_equal, as_queued
from .preemption_trial import Tried
from .schedule_one import PodScheduler
from .schedule_tree import TreeCycle


class _GroupRequest(NamedTuple):
    """A group that needs nodes for `missing` of its `waiting` members at once; `attempts` are those to be tried."""

    plugin: GroupCalls
    group: str
    attempts: Sequence[Attempt]
    missing: int
    topology: Topology | None
    waiting: tuple[PodInfo, ...]


class GroupScheduler:
    """Schedules groups of all profiles, and binds them."""

    def __init__(
        self,
        services: EngineServices,
        pods: PodScheduler,
        trials: GroupTrials,
        domains: DomainSearch,
        *,
        trees: TreeCycle,
        post_filter: GroupPostFilter,
    ) -> None:
        self._services = services
        self._cycle = pods.scheduling_cycle
        self._binding_cycle = pods.binding_cycle
        self._binding = GroupBinding(services, pods)
        self._failures = pods.failures
        self._trials = trials
        self._domains = domains
        self._trees = trees
        self._post_filter = post_filter
        self._ports = services.ports

    def schedule_group(self, plugin: GroupCalls, group: str, attempts: Sequence[Attempt]) -> bool:
        """Decide for the waiting members of `group`, and act on it; False if extenders have to be asked first."""
        now = self._ports.measured.now
        began, attempts = now(), as_queued(attempts)
        outcome = self._decide_guarded(plugin, group, attempts)
        if outcome.needs_extenders:
            return False
        commit()
        if outcome.decision is not None and not outcome.alone:
            attempts[0].framework.followers.notify_group_decision(outcome.decision)
            checkpoint()
        seconds = now() - began
        self._ports.metrics.podgroup_scheduling_algorithm_duration.observe((), seconds)
        result = "scheduled" if outcome.placed and has_quorum(plugin, group) else outcome.failure()
        self._ports.metrics.group_attempted(result, profile=attempts[0].profile, seconds=seconds)
        if outcome.together:
            self._failures.handle_failure(outcome.failed)
        else:
            for attempt in outcome.failed:
                self._failures.handle_failure([attempt])
                checkpoint()
        if outcome.placed:
            for attempt in outcome.placed:
                self._services.reports.placed(attempt)
                checkpoint()
            self._binding_cycle.prepare(outcome.placed)
            self._ports.spawn(self._binding.bind(plugin, group, outcome))
        return True

    def _decide_guarded(self, plugin: GroupCalls, group: str, attempts: Sequence[Attempt]) -> GroupOutcome:
        """Place or reject the members; a failure of the group plugin is an error of the group.

        Failed is raised only while nothing is reserved.
        """
        try:
            return self._decide(plugin, group, attempts)
        except Failed as failed:
            return GroupOutcome.at_fault(plugin, group, len(attempts), attempts, status=failed.status)

    def _decide(self, plugin: GroupCalls, group: str, attempts: Sequence[Attempt]) -> GroupOutcome:
        """Assume and reserve the members, or find the reason why the group waits. Raises Failed."""
        missing, topology = plugin.missing(group), plugin.topology(group)
        for attempt in attempts:
            attempt.state.group = f"{plugin.name}/{group}"
        outcome, tree = GroupOutcome(), plugin.tree(group)
        fault = plugin.fault(group)
        if fault is not None:
            return GroupOutcome.at_fault(plugin, group, missing, attempts, status=Status.failure(fault).by(plugin.name))
        if tree is not None:
            return self._decide_tree(plugin, group, tree, attempts, outcome=outcome)
        request = _GroupRequest(plugin, group, attempts, missing, topology, tuple(attempt.pod for attempt in attempts))
        if missing <= 0:
            return self._each_by_itself(request, outcome)
        checkpoint()
        searched = self._search(request, attempts)
        if not isinstance(searched, Status) and searched.trial.error is None and not searched.trial.takes(missing):
            if should_ask_again(attempts, len(searched.trial.placed)):
                return GroupOutcome(needs_extenders=True)
            if any(attempt.state.nodes_to_ask for attempt in attempts):
                searched = self._search(request, attempts)
        if isinstance(searched, Status):
            return GroupOutcome.at_fault(plugin, group, missing, attempts, status=searched)
        members: list[PodDecision] = []
        for attempt in (*searched.trial.placed, *searched.trial.rejected):
            members.append(attempt.decision())
            checkpoint()
        if searched.trial.takes(missing):
            return self._start(request, searched.trial, members, outcome)
        return self._reject(request, searched, members)

    def _start(
        self, request: _GroupRequest, trial: TriedMembers, members: Sequence[PodDecision], outcome: GroupOutcome
    ) -> GroupOutcome:
        """Place the members that fit, then try the others one by one."""
        placed = len(trial.placed)
        outcome.decision = GroupDecision(
            request.plugin.name, request.group, None, None, placed, request.missing, members, request.waiting
        )
        self._binding.reserve_and_permit(trial.placed, request.missing, outcome)
        if not outcome.placed:
            outcome.failed += trial.rejected
            return outcome
        for attempt in trial.rejected:
            attempt.reset()
        return self._each_by_itself(request._replace(attempts=trial.rejected), outcome)

    def _reject(
        self, request: _GroupRequest, searched: Searched[TriedMembers], members: Sequence[PodDecision]
    ) -> GroupOutcome:
        """Too few members fit: let `reject_group` give the reason, and PodGroupPostFilter look for pods to evict."""
        plugin, group, trial = request.plugin, request.group, searched.trial
        cause, placed = trial.rejection or Status.pending(), len(trial.placed)
        status = plugin.reject_group(group, cause, placed=placed, missing=request.missing, no_domain=searched.no_domain)
        status = untried = status.by(plugin.name).with_condition_reason(cause.condition_reason)
        ends_nominations = trial.error is not None or status.code is Code.PENDING
        notes, post_filtered = AttemptState(), PostFiltered({} if ends_nominations else None)
        if status.code is Code.UNSCHEDULABLE:
            post_filtered = self._post_filter.run(
                plugin,
                group,
                request.attempts,
                request.missing,
                reason=cause.condition_reason,
                notes=notes,
                together=Together(
                    partial(self._try_copies, request), why_rejected=partial(_why_rejected, request, searched)
                ),
            )
            if post_filtered.extender_status is not None:
                return GroupOutcome.of_extenders(
                    plugin, group, request.missing, request.attempts, status=post_filtered.extender_status
                )
            status = post_filtered.error or status.with_reasons(with_preemption(status.message, post_filtered.message))
            untried = status if plugin.terse or post_filtered.error is not None else untried
        placed_members = [*plugin.placed_members(group)] if request.topology is not None else ()
        to_try_alone = trial.untried[: request.missing] if trial.as_one else trial.untried
        decision = GroupDecision(
            plugin.name,
            group,
            status,
            cause,
            placed,
            request.missing,
            members,
            request.waiting,
            searched.no_domain,
            notes,
            post_filtered.message,
            tried_as=Part(group, request.missing, placed_members, request.topology),
            waiting_in={group: request.waiting},
            untried=self._trials.alone(to_try_alone, members),
        )
        outcome = self._rejected_outcome(plugin, status, untried, trial, decision=decision, post_filtered=post_filtered)
        outcome.awaits_victims = post_filtered.evicts
        return outcome

    def _try_copies(self, request: _GroupRequest, copies: Sequence[Attempt]) -> Tried:
        """Try copies of the members in a trial of preemption; the reason if too few fit."""
        searched = self._search(request, copies)
        if isinstance(searched, Status):
            return searched
        if searched.trial.takes(request.missing):
            return searched.trial.placed
        return _why_rejected(request, searched)

    def _decide_tree(
        self, plugin: GroupCalls, group: str, tree: Part, attempts: Sequence[Attempt], *, outcome: GroupOutcome
    ) -> GroupOutcome:
        """Place the parts of a tree that fit, in one transaction."""
        checkpoint()
        found = self._trees.decide(plugin, group, tree, attempts)
        if found.extender_status is not None:
            return GroupOutcome.of_extenders(plugin, group, len(attempts), attempts, status=found.extender_status)
        outcome.decision, outcome.whole, outcome.together = found.decision, True, True
        outcome.awaits_victims = found.awaits_victims
        self._binding.reserve_and_permit(found.placed, len(found.placed), outcome)
        outcome.failed += found.failed
        return outcome

    def _each_by_itself(self, request: _GroupRequest, outcome: GroupOutcome) -> GroupOutcome:
        """Try members one after another, and report each decision at once: the next must not evict the same pods.

        Members of a group that preempts as a whole do so together, once none of those that are left finds a node.
        """
        left = request.attempts
        outcome.alone += left
        commit()
        if left and outcome.decision is not None:
            left[0].framework.followers.notify_group_decision(outcome.decision)
            checkpoint()
        while left:
            before = len(outcome.placed)
            left = self._try_each(request, left, outcome)
            if left and (len(outcome.placed) == before or are_equal(left)):
                self._preempt_for_later(request, left, outcome)
                break
            for attempt in left:
                attempt.reset()
        return outcome

    def _try_each(self, request: _GroupRequest, attempts: Sequence[Attempt], outcome: GroupOutcome) -> list[Attempt]:
        """Try members one after another; returns those that found no node and preempt together."""
        waiting, left = len(attempts), list[Attempt]()
        for attempt in attempts:
            within = self._within(request, attempt, waiting)
            if isinstance(within, Status):
                attempt.fail(within)
                outcome.failed.append(attempt)
                attempt.notify_followers()
                continue
            attempt.state.within = self._first_that_fits(attempt, within)
            framework = attempt.framework
            together = attempt.state.consultation is None and framework.groups.preempts_as_group(attempt.pod)
            self._cycle.run(attempt, post_filter=not together)
            if self._cycle.finish_long_work(attempt):
                self._cycle.run(attempt, post_filter=not together)
            waiting -= attempt.status is None
            if request.topology is not None and attempt.rejectors:
                attempt.rejectors.add(request.plugin.name)  # a node that joins the domain may take the member
            if together and found_no_node(attempt):
                left.append(attempt)
            else:
                (outcome.placed if attempt.status is None else outcome.failed).append(attempt)
                attempt.notify_followers()
            checkpoint()
        return left

    def _preempt_for_later(self, request: _GroupRequest, attempts: Sequence[Attempt], outcome: GroupOutcome) -> None:
        """Let later members that found no node preempt together, and report them."""
        reasons = (attempt.status.condition_reason for attempt in attempts if attempt.status is not None)
        try_together = partial(self._try_copies, request._replace(missing=1))
        try:
            evicts = self._cycle.later_members.preempt(
                request.plugin, request.group, attempts, try_together, reason=next(filter(None, reasons), "")
            )
            outcome.awaits_victims = evicts and not outcome.placed
        except Failed as failed:
            for attempt in attempts:
                attempt.fail(failed.status)
        for attempt in attempts:
            attempt.notify_followers()
            checkpoint()
        outcome.failed += attempts

    def _first_that_fits(self, attempt: Attempt, within: Sequence[Rows | None]) -> Rows | None:
        """The first of these sets of rows in which the pod fits now; the last set if it fits in none before."""
        for rows in within[:-1]:
            attempt.state.within = rows
            self._cycle.schedule_pod(attempt)
            fits = attempt.status is None
            attempt.reset()
            if fits:
                return rows
            checkpoint()
        return within[-1]

    def _within(self, request: _GroupRequest, attempt: Attempt, waiting: int) -> Sequence[Rows | None] | Status:
        """The sets of rows for a later member of those that wait, the best first; a Status if there is no domain."""
        if request.topology is None:
            return [None]
        try:
            placed = request.plugin.placed_members(request.group)
            return self._domains.within(request.topology, placed, waiting, attempt)
        except Failed as failed:
            return failed.status

    def _search(self, request: _GroupRequest, attempts: Sequence[Attempt]) -> Searched[TriedMembers] | Status:
        """Try the members in one domain after another; on all nodes if they need no domain."""

        def try_() -> TriedMembers:
            return self._trials.run(request.plugin, attempts, request.missing)

        if request.topology is None:
            return Searched(try_())
        placed = request.plugin.placed_members(request.group)
        return self._domains.search(request.topology, placed, attempts, request.missing, try_=try_)

    def _rejected_outcome(
        self,
        plugin: GroupCalls,
        status: Status,
        untried: Status,
        trial: TriedMembers,
        *,
        decision: GroupDecision,
        post_filtered: PostFiltered,
    ) -> GroupOutcome:
        """The outcome of a rejected group: members that were tried get `status`, the others get `untried`."""
        rejectors = set().union(*(attempt.rejectors for attempt in trial.rejected))
        pending = set().union(*(attempt.pending for attempt in trial.rejected))
        if rejectors or status.code is Code.PENDING:
            rejectors.add(plugin.name)
        if status.code is Code.PENDING:
            pending = pending or {plugin.name}
            for attempt in trial.untried:
                self._cycle.schedule_pod(attempt)
                checkpoint()
        outcome = GroupOutcome(together=True, decision=decision)
        tried = (*trial.rejected, *trial.placed)
        for index, attempt in enumerate((*tried, *trial.untried)):
            reason = status if index < len(tried) and not attempt.has_no_domain else untried
            placed = bool(attempt.node_name)
            own = plugin.reject_member(attempt.pod, reason, attempt.own_status, placed=placed)
            attempt.status = own.with_condition_reason(reason.condition_reason)
            attempt.node_name = ""
            attempt.rejectors = set(rejectors)
            attempt.pending = set(pending)
            if post_filtered.nominations is not None:
                attempt.nominated = post_filtered.nominations.get(attempt.pod.uid, "")
            outcome.failed.append(attempt)
            checkpoint()
        return outcome


def _why_rejected(request: _GroupRequest, searched: Searched[TriedMembers]) -> Status:
    """The reason, for messages about preemption, why too few members fit in a trial."""
    plugin, trial = request.plugin, searched.trial
    cause, placed = trial.rejection or Status.unschedulable(), len(trial.placed)
    try:
        return plugin.reject_trial(
            request.group, cause, placed=placed, missing=request.missing, no_domain=searched.no_domain
        )
    except Failed as failed:
        plugin.log_failure(REJECT_TRIAL, request.group, failed.status)
        return failed.status
