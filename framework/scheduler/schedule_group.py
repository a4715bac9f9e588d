"""How a group is scheduled: the members that it lacks are placed in one transaction, or nothing is reserved.

All members are tried on the snapshot under its undo log, each with the previous members on their nodes and reserved
there. Only if as many fit as the group lacks are they assumed and reserved for real, and then permitted, in the same
step; so two groups can never each hold half of what one of them needs. Members beyond the quorum are placed along with
it. Those that did not fit are then tried one by one, like pods without a group, including preemption. Finally the
members are bound together; if the quorum is lost before that, none is bound.

Work that grows with the number of members passes checkpoints, where the scheduler lets other work run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ..contract.decision import GroupDecision, PodDecision
from ..contract.group_tree import Part
from ..contract.pod_group import PodGroupInfo, with_preemption
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
from .domain_search import DomainSearch
from .domain_trial import Searched
from .group_binding import GroupBinding, has_quorum
from .group_capacity import as_queued
from .group_consultation import GroupConsultation
from .group_outcome import GroupOutcome
from .group_post_filter import PlaceTogether, PostFiltered, PreemptionTrial, Tried, post_filter
from .group_trial import GroupTrials, TriedMembers
from .parts import Parts
from .schedule_one import PodScheduler
from .schedule_tree import TreeCycle


class _Asked(NamedTuple):
    """A group with members that need nodes at once: `missing` of the `waiting` members, one for each attempt."""

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
        parts: Parts,
        pods: PodScheduler,
        trials: GroupTrials,
        domains: DomainSearch,
        *,
        trees: TreeCycle,
    ) -> None:
        self._parts = parts
        self._cycle = pods.scheduling_cycle
        self._binding_cycle = pods.binding_cycle
        self._binding = GroupBinding(parts, pods)
        self._failures = pods.failures
        self._trials = trials
        self._domains = domains
        self._trees = trees
        self._ports = parts.ports

    def schedule_group(self, plugin: GroupCalls, group: str, attempts: Sequence[Attempt]) -> bool:
        """Decide for the waiting members of `group`; False if extenders have to be asked first."""
        now = self._ports.measured.now
        began, attempts = now(), as_queued(attempts)
        outcome = self._decide_unless_it_fails(plugin, group, attempts)
        if outcome.asks:
            return False
        commit()
        if outcome.decision is not None and not outcome.alone:
            attempts[0].framework.followers.tell_group_decision(outcome.decision)
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
                self._parts.reports.placed(attempt)
                checkpoint()
            self._binding_cycle.prepare(outcome.placed)
            self._ports.spawn(self._binding.bind(plugin, group, outcome))
        return True

    def _decide_unless_it_fails(self, plugin: GroupCalls, group: str, attempts: Sequence[Attempt]) -> GroupOutcome:
        """Decide; a failure of the group plugin is an error of the group. Nothing is reserved when Failed is raised."""
        try:
            return self.decide(plugin, group, attempts)
        except Failed as failed:
            return GroupOutcome.at_fault(plugin, group, len(attempts), attempts, status=failed.status)

    def decide(self, plugin: GroupCalls, group: str, attempts: Sequence[Attempt]) -> GroupOutcome:
        """Place the members, or find the reason why not. Raises Failed."""
        missing, topology = plugin.missing(group), plugin.topology(group)
        for attempt in attempts:
            attempt.state.group = f"{plugin.name}/{group}"
        outcome, tree = GroupOutcome(), plugin.tree(group)
        fault = plugin.fault(group)
        if fault is not None:
            return GroupOutcome.at_fault(plugin, group, missing, attempts, status=Status.failure(fault).by(plugin.name))
        if tree is not None:
            return self._decide_tree(plugin, group, tree, attempts, outcome=outcome)
        if missing <= 0:
            return self._each_by_itself(plugin, group, topology, attempts, outcome=outcome)
        checkpoint()
        searched = self._search(plugin, group, topology, attempts, missing=missing)
        if isinstance(searched, Status):
            return GroupOutcome.at_fault(plugin, group, missing, attempts, status=searched)
        members: list[PodDecision] = []
        for attempt in (*searched.trial.placed, *searched.trial.refused):
            members.append(attempt.decision())
            checkpoint()
        asked = _Asked(plugin, group, attempts, missing, topology, tuple(attempt.pod for attempt in attempts))
        if len(searched.trial.placed) >= missing:
            return self._start(asked, searched.trial, members, outcome)
        return self._refuse(asked, searched, members)

    def _start(
        self, asked: _Asked, trial: TriedMembers, members: Sequence[PodDecision], outcome: GroupOutcome
    ) -> GroupOutcome:
        """Place the members that fit, then try the others one by one."""
        placed = len(trial.placed)
        outcome.decision = GroupDecision(
            asked.plugin.name, asked.group, None, None, placed, asked.missing, members, asked.waiting
        )
        self._binding.place(trial.placed, asked.missing, outcome)
        if not outcome.placed:
            outcome.failed += trial.refused
            return outcome
        for attempt in trial.refused:
            attempt.begin_anew()
        return self._each_by_itself(asked.plugin, asked.group, asked.topology, trial.refused, outcome=outcome)

    def _refuse(self, asked: _Asked, searched: Searched[TriedMembers], members: Sequence[PodDecision]) -> GroupOutcome:
        """Too few members fit: ask PodGroupPostFilter for help, and compute why the group waits."""
        plugin, group, trial = asked.plugin, asked.group, searched.trial
        cause, placed = trial.refusal or Status.pending(), len(trial.placed)
        status = plugin.reject_group(group, cause, placed=placed, missing=asked.missing, no_domain=searched.no_domain)
        status = untried = status.by(plugin.name)
        notes, helped = AttemptState(), PostFiltered({} if status.code is Code.PENDING else None)
        if status.code is Code.UNSCHEDULABLE and asked.attempts[0].framework.plugins.pod_group_post_filter:
            place = partial(self._place_copies, asked)
            helped = self._post_filter(plugin, group, asked.attempts, asked.missing, notes=notes, place=place)
            if helped.unheard is not None:
                return GroupOutcome.unheard(plugin, group, asked.missing, asked.attempts, status=helped.unheard)
            status = Status(status.code, (with_preemption(status.message, helped.message),), status.plugin)
            untried = status if plugin.terse else untried
        holding = [*plugin.placed_members(group)] if asked.topology is not None else ()
        beside = trial.untried[: asked.missing] if trial.as_one else trial.untried
        decision = GroupDecision(
            plugin.name,
            group,
            status,
            cause,
            placed,
            asked.missing,
            members,
            asked.waiting,
            searched.no_domain,
            notes,
            helped.message,
            asked=Part(group, asked.missing, holding, asked.topology),
            waiting_in={group: asked.waiting},
            untried=self._trials.alone(beside, members),
        )
        outcome = self._reject(plugin, status, untried, trial, decision=decision, helped=helped)
        outcome.awaits_victims = helped.evicts
        return outcome

    def _place_copies(self, asked: _Asked, copies: Sequence[Attempt]) -> Tried:
        """Place copies of the members in a trial of preemption, or return why too few fit."""
        searched = self._search(asked.plugin, asked.group, asked.topology, copies, missing=asked.missing)
        if isinstance(searched, Status):
            return searched
        trial, placed = searched.trial, len(searched.trial.placed)
        if placed >= asked.missing:
            return trial.placed[: asked.missing]
        cause = trial.refusal or Status.unschedulable()
        try:
            return asked.plugin.reject_trial(
                asked.group, cause, placed=placed, missing=asked.missing, no_domain=searched.no_domain
            )
        except Failed as failed:
            asked.plugin.told(REJECT_TRIAL, asked.group, failed.status)
            return failed.status

    def _decide_tree(
        self, plugin: GroupCalls, group: str, tree: Part, attempts: Sequence[Attempt], *, outcome: GroupOutcome
    ) -> GroupOutcome:
        """Place the parts of a tree that fit, in one transaction."""
        unheard: list[Status] = []

        def helped(notes: AttemptState, place: PlaceTogether) -> PostFiltered:
            if not attempts[0].framework.plugins.pod_group_post_filter:
                return PostFiltered()
            found = self._post_filter(plugin, group, attempts, len(attempts), notes=notes, place=place)
            outcome.awaits_victims = found.evicts
            if found.unheard is not None:
                unheard.append(found.unheard)
            return found

        checkpoint()
        found = self._trees.decide(plugin, group, tree, attempts, help_=helped)
        if unheard:
            return GroupOutcome.unheard(plugin, group, len(attempts), attempts, status=unheard[0])
        outcome.decision, outcome.whole, outcome.together = found.decision, True, True
        self._binding.place(found.placed, len(found.placed), outcome)
        outcome.failed += found.failed
        return outcome

    def _post_filter(
        self,
        plugin: GroupCalls,
        group: str,
        attempts: Sequence[Attempt],
        missing: int,
        *,
        notes: AttemptState,
        place: PlaceTogether,
    ) -> PostFiltered:
        """The result of PodGroupPostFilter for a refused group."""
        waiting = tuple(attempt.pod for attempt in attempts)
        info = PodGroupInfo(
            key=group,
            uid=plugin.uid(group),
            members=waiting,
            missing=missing,
            priority=plugin.preemption_priority(group, waiting),
            may_preempt=plugin.may_preempt(group, waiting),
            terse=plugin.terse,
        )

        framework = attempts[0].framework
        algorithm = self._parts.algorithms[framework.name]
        consultation = GroupConsultation(algorithm.snapshot, attempts, self._ports.extenders)
        trial = PreemptionTrial(algorithm, self._parts.nominator, attempts, place, consultation=consultation)
        found = post_filter(framework, notes, info, trial)
        return replace(found, unheard=consultation.unheard)

    def _each_by_itself(
        self,
        plugin: GroupCalls,
        group: str,
        topology: Topology | None,
        attempts: Sequence[Attempt],
        *,
        outcome: GroupOutcome,
    ) -> GroupOutcome:
        """Try members one after another, and report each decision at once: the next must not evict the same pods."""
        outcome.alone += attempts
        commit()
        if attempts and outcome.decision is not None:
            attempts[0].framework.followers.tell_group_decision(outcome.decision)
            checkpoint()
        for attempt in attempts:
            within = self._within(plugin, group, topology)
            if isinstance(within, Status):
                attempt.fail(within)
                outcome.failed.append(attempt)
                attempt.tell_followers()
                continue
            attempt.state.within = self._first_that_fits(attempt, within)
            self._cycle.run(attempt)
            if self._cycle.work_out(attempt):
                self._cycle.run(attempt)
            (outcome.placed if attempt.status is None else outcome.failed).append(attempt)
            attempt.tell_followers()
            checkpoint()
        return outcome

    def _first_that_fits(self, attempt: Attempt, within: Sequence[Rows | None]) -> Rows | None:
        """The first of these sets of rows that can take the pod now; the last one if none before it can."""
        for rows in within[:-1]:
            attempt.state.within = rows
            self._cycle.schedule_pod(attempt)
            fits = attempt.status is None
            attempt.begin_anew()
            if fits:
                return rows
            checkpoint()
        return within[-1]

    def _within(self, plugin: GroupCalls, group: str, topology: Topology | None) -> Sequence[Rows | None] | Status:
        """Where a later member may go, the best first, None for anywhere; a Status if no domain can be determined."""
        if topology is None:
            return [None]
        try:
            return self._domains.placed.within(topology, plugin.placed_members(group))
        except Failed as failed:
            return failed.status

    def _search(
        self,
        plugin: GroupCalls,
        group: str,
        topology: Topology | None,
        attempts: Sequence[Attempt],
        *,
        missing: int,
    ) -> Searched[TriedMembers] | Status:
        """Try the members: in one domain after another if they need one, else anywhere."""

        def try_() -> TriedMembers:
            return self._trials.run(plugin, attempts, missing)

        if topology is None:
            return Searched(try_())
        return self._domains.search(topology, plugin.placed_members(group), attempts, missing, try_=try_)

    def _reject(
        self,
        plugin: GroupCalls,
        status: Status,
        untried: Status,
        trial: TriedMembers,
        *,
        decision: GroupDecision,
        helped: PostFiltered,
    ) -> GroupOutcome:
        """Give all members `status`, or `untried` if they were not tried, and return them to the queue together."""
        rejectors = set().union(*(attempt.rejectors for attempt in trial.refused))
        pending = set().union(*(attempt.pending for attempt in trial.refused))
        if rejectors or status.code is Code.PENDING:
            rejectors.add(plugin.name)
        if status.code is Code.PENDING:
            pending = pending or {plugin.name}
            for attempt in trial.untried:
                self._cycle.schedule_pod(attempt)
                checkpoint()
        outcome = GroupOutcome(together=True, decision=decision)
        tried = (*trial.refused, *trial.placed)
        for place, attempt in enumerate((*tried, *trial.untried)):
            told = status if place < len(tried) else untried
            attempt.status = plugin.reject_member(attempt.pod, told, attempt.status, placed=bool(attempt.node_name))
            attempt.node_name = ""
            attempt.rejectors = set(rejectors)
            attempt.pending = set(pending)
            if helped.nominations is not None:
                attempt.nominated = helped.nominations.get(attempt.pod.uid, "")
            outcome.failed.append(attempt)
            checkpoint()
        return outcome
