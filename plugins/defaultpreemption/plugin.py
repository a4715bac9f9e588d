"""DefaultPreemption: evicts pods of lower priority so that a pod which fits nowhere gets a node.

PostFilter finds the node where evictions cost least, and the victims there, and changes nothing; `muster explain` asks
it too. When the scheduler acts on the decision, the executor evicts the victims, and PreEnqueue keeps the pod out of
activeQ meanwhile. The rules are those of kube-scheduler's plugin of this name. What plugins say besides, by an
`EvictionRule` and its limit, changes which pods may be evicted, and when.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from math import ceil, inf

from muster.framework.contract import (
    NO_EVICTIONS,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    DecisionFollower,
    Diagnosis,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    EvictionRule,
    Evictions,
    EvictionWait,
    GroupDecision,
    Hint,
    Placed,
    PodDecision,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodGroupTrial,
    PodInfo,
    PostFilterPlugin,
    PreemptionHandle,
    PreemptionPlugin,
    PreEnqueuePlugin,
    Status,
    checkpoint,
    fit_error,
)
from muster.framework.contract.arguments import DefaultPreemptionArgs
from muster.framework.contract.recorded import MapContent, RecordedContents, TextKind

from .budgets import POD_DISRUPTION_BUDGETS, DisruptionBudgets, PodDisruptionBudgetStatus
from .candidates import pick_one_node
from .dry_run import NO_VICTIMS, DryRun, VictimSearch
from .executor import Executor, Preemptor, terminating_by_preemption
from .extenders import NOBODY_LEFT, allowed_by_extenders, nodes_to_try
from .group_search import NO_VICTIMS as NO_GROUP_VICTIMS
from .group_search import GroupPreemption, GroupSearch
from .memory import DryRunMemory
from .time_limits import (
    all_unprotected,
    members_of,
    next_end,
    own_wait,
    protected,
    too_early,
    without_limit,
)
from .units import Units
from .victims import Victim, without_violations

_NEVER = Status.unschedulable("preemption: not eligible due to preemptionPolicy=Never.")
_TERMINATING = Status.unschedulable("preemption: not eligible due to a terminating pod on the nominated node.")
_EVICTING = Status.unresolvable("waiting for the preemption for this pod to be finished")
_RECLAIMABLE = "DefaultPreemption.reclaimable"
"""The note in a state: UIDs of the pods that the rule of its evictions lets the preemptor claim."""
_NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")
_MOST_SELECTIONS = 4
"""The number of selections of a group's members for which it looks for pods to claim."""


class DefaultPreemption(
    PreEnqueuePlugin[DefaultPreemptionArgs],
    PostFilterPlugin[DefaultPreemptionArgs],
    PodGroupPostFilterPlugin[DefaultPreemptionArgs],
    DecisionFollower[DefaultPreemptionArgs],
    EnqueueExtensions[DefaultPreemptionArgs],
    PreemptionPlugin[DefaultPreemptionArgs],
):
    """Evicts pods of lower priority where that lets the pod fit."""

    name = "DefaultPreemption"
    args_model = DefaultPreemptionArgs
    recorded = RecordedContents({PodDisruptionBudgetStatus: {"disruptedPods": MapContent(TextKind.NAME)}})
    watches = (POD_DISRUPTION_BUDGETS,)

    def __init__(self, args: DefaultPreemptionArgs, handle: PreemptionHandle) -> None:
        super().__init__(args, handle)
        self._args = args
        self._executor = Executor(handle, self.name, handle.shared(f"{self.name}.leaving", set[str]))
        self._memory = DryRunMemory(handle)
        self._memory_without_limit = DryRunMemory(handle)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Gates a pod while its victims are still being evicted."""
        return _EVICTING if self._executor.is_running(pod.uid) else None

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Deletions of pods on nodes, after which PreEnqueue may admit a pod that it gated."""
        return [EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE), self._evictions_over)]

    def _evictions_over(self, pod: PodInfo, old: object | None, new: object | None) -> Hint:
        """SKIP while PreEnqueue gates the pod. A gang is asked about each member at the end of each of its victims."""
        return Hint.SKIP if self._executor.is_running(pod.uid) else Hint.QUEUE

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """Nominate the pod to the node with the cheapest evictions, and note the victims; or say why none helps."""
        state.write(self.name, ())
        rule = self.handle.eviction_rule((pod,), 1, pod.priority, diagnosis.condition_reason)
        rejection = self._ineligible(pod, diagnosis, rule)
        if rejection is not None:
            return None, rejection
        if not rule.permits_any(self.handle.snapshot.priorities):
            tried = diagnosis.with_code(Code.UNSCHEDULABLE)
            unhelpful = fit_error(Diagnosis.of_two(diagnosis.node_names, tried, NO_VICTIMS, _NOT_HELPFUL))
            return "", Status.unschedulable(f"preemption: {unhelpful}")
        wait = own_wait(rule, self.handle.clock.wall())
        if wait is not None and rule.limit is not None:
            state.write(EvictionWait.KEY, wait)
            return None, Status.unschedulable(f"preemption: {too_early(rule.limit)}")
        run = self._dry_run(state, pod, diagnosis, rule)
        if not run.candidates:
            later = self._later(state, pod, diagnosis, rule)
            if later is not None:
                return "", Status.unschedulable(f"preemption: {later.message}")
            errors = [status for status in run.statuses.values() if status.code is Code.ERROR]
            if errors:
                return None, Status.failure(f"preemption: {errors[0].message}")
            # The FitError of the dry run: why the pod fits on no node, whatever is evicted.
            unhelpful = fit_error(Diagnosis.of_statuses(diagnosis.node_names, run.statuses, _NOT_HELPFUL))
            return "", Status.unschedulable(f"preemption: {unhelpful}")
        candidates = allowed_by_extenders(self.handle, state, pod, run.candidates)
        if isinstance(candidates, Status):
            return None, candidates
        if rule.limit is not None:
            units = self._units()
            candidates = [each for each in candidates if not all_unprotected(members_of(each.victims), rule, units)]
            if not candidates:
                return None, NOBODY_LEFT
        best = pick_one_node(candidates, self.handle.clock.wall())
        checkpoint()
        state.write(self.name, (best,))
        state.write(_RECLAIMABLE, rule.claimable if rule.reclaims else frozenset())
        state.write(Evictions.KEY, self._evictions(best.node_name, best.victims))
        text = f"found a potential placement for pod on node {best.node_name}, preempting {len(best.victims)} victims"
        return best.node_name, Status(Code.SUCCESS, (f"preemption: {text}",))

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Evict the victims of the decision."""
        if self._evict_for_group(decision.state):
            return
        candidates = decision.state.get(self.name)
        if isinstance(candidates, tuple):
            self.handle.metrics.preemption_attempts.add(())
            for candidate in candidates:
                pod, node = decision.pod, candidate.node_name
                reclaimable = _reclaimable(decision.state)
                preemptor = Preemptor((pod,), pod.priority, "pod", pod.uid, node, (node,), reclaimable)
                self._executor.start(
                    preemptor,
                    candidate.victims,
                    violations=candidate.violations,
                    disruptions=candidate.disruptions,
                )

    # Groups.

    def pod_group_post_filter(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> tuple[Mapping[str, str] | None, Status | None]:
        """Nominate each member that the group lacks to a node, and note the victims; or say why no eviction helps."""
        rule = self.handle.eviction_rule(group.members, group.missing, group.priority, group.reason)
        nominations, status, plan = self._decide(state, group, trial, rule)
        if status.rejected and rule.reclaims and group.may_preempt:
            claim = self._claim(state, group, trial)
            if claim is not None:
                rule, status, plan = claim
                nominations = _nominations(plan)
        if plan is not None:
            placement = {placed.pod.key: placed.node_name for placed in plan.placement}
            state.write(Evictions.KEY, replace(self._evictions("", plan.victims), placement=placement))
        state.write(self.name, (status.code, plan, group))
        state.write(_RECLAIMABLE, rule.claimable if rule.reclaims else frozenset())
        if status.code is Code.ERROR:
            status = Status.failure(f"pod group preemption: {status.message}")
        return nominations, status

    def _decide(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial, rule: EvictionRule
    ) -> tuple[Mapping[str, str] | None, Status, GroupPreemption | None]:
        """The nominations by the members' UIDs, the status, and the evictions."""
        if not group.may_preempt:
            return None, Status.unschedulable("not eligible due to preemptionPolicy=Never."), None
        if self._is_clearing(group, rule):
            return None, Status(Code.SUCCESS, ("ongoing preemption on nominated nodes",)), None
        plan = self._plan(state, group, trial, rule)
        if plan is NO_GROUP_VICTIMS and group.terse:
            plan = Status(NO_GROUP_VICTIMS.code)
        elif plan is NO_GROUP_VICTIMS and self._units().permits_any(rule, self.handle.snapshot):
            # kube-scheduler tries the group without all pods that it may evict; it then lacks what it lacked before.
            plan = trial.rejection()
        if isinstance(plan, Status):
            return {}, plan, None
        return _nominations(plan), _found(plan), plan

    def _claim(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial
    ) -> tuple[EvictionRule, Status, GroupPreemption | None] | None:
        """The evictions that a claim for fewer members permits, or the wait for them, and the rule; None if none helps.

        What a group may evict on account of its priority is decided with all of its members, and not here.
        """
        with trial.scenario():
            selections = trial.selections()
        waiting, earliest, tried = None, state.get(EvictionWait.KEY), 0
        for members in selections:
            rule = self.handle.eviction_rule(members, len(members), group.priority, group.reason)
            if not (rule.reclaims and rule.claimable):
                continue
            rule = replace(rule, below=NO_EVICTIONS.below)
            plan = self._plan(state, replace(group, members=members, missing=len(members)), trial, rule)
            if isinstance(plan, GroupPreemption):
                return rule, _found(plan), plan
            wait = state.get(EvictionWait.KEY)
            if isinstance(wait, EvictionWait) and wait is not earliest:
                if isinstance(earliest, EvictionWait) and earliest.until <= wait.until:
                    state.write(EvictionWait.KEY, earliest)
                else:
                    waiting, earliest = (rule, plan, None), wait
            tried += 1
            if tried == _MOST_SELECTIONS:
                break
        return waiting

    def _plan(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial, rule: EvictionRule
    ) -> GroupPreemption | Status:
        """The evictions that extenders allow; a status if there are none."""
        nominated = self.handle.nominator.any_nominated([pod.uid for pod in group.members])
        permitted = rule.permits_any(self.handle.snapshot.priorities)
        wait = own_wait(rule, self.handle.clock.wall()) if permitted else None
        waiting = None
        if wait is not None and rule.limit is not None:
            state.write(EvictionWait.KEY, wait)
            waiting = Status.unschedulable(too_early(rule.limit))
        if not nominated and (waiting is not None or not permitted):
            return waiting or NO_GROUP_VICTIMS
        rejection = trial.ask_about_nodes()
        if rejection is not None:
            return rejection
        budgets, units = self._budgets(), self._units()
        found = GroupSearch(
            self.handle, group, trial, budgets, units=units, rule=NO_EVICTIONS if waiting else rule
        ).run()
        if isinstance(found, Status):
            return waiting or self._group_later(state, group, trial, rule, units=units) or found
        plan = found
        if self._is_nominated_as(plan, group) and (group.terse or not units.permits_any(rule, self.handle.snapshot)):
            return NO_GROUP_VICTIMS
        rejection = trial.ask_about_evictions(plan.placement, plan.victims_by_node(budgets))
        return plan if rejection is None else rejection

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Evict the victims of the decision. The waiting members stay out of the active queue until that is done."""
        self._evict_for_group(decision.state)

    def _evict_for_group(self, state: CycleState) -> bool:
        """Evict the victims that the state notes for a group, and return whether it is a group's."""
        match state.get(self.name):
            case (Code() as code, plan, PodGroupInfo() as group):
                self.handle.metrics.workload_preemption_attempts.add((code.wire_name,))
                if isinstance(plan, GroupPreemption):
                    nodes = [*dict.fromkeys(placed.node_name for placed in plan.placement)]
                    reclaimable = _reclaimable(state)
                    preemptor = Preemptor(
                        group.members, group.priority, "podgroup", group.uid, "cluster", nodes, reclaimable
                    )
                    self._executor.start(
                        preemptor,
                        plan.victims,
                        violations=plan.violations,
                        disruptions=plan.disruptions,
                        retries=not self._is_nominated_as(plan, group),
                    )
                return True
        return False

    def _is_nominated_as(self, plan: GroupPreemption, group: PodGroupInfo) -> bool:
        """Whether the plan evicts no pod, and members are nominated to exactly its nodes already: it changes nothing.

        An earlier leader may have nominated more members, and these nominations can occupy the others' capacity.
        """
        if plan.victims:
            return False
        nominator, nodes = self.handle.nominator, {pod.uid: node_name for pod, node_name in plan.placement}
        return all(nominator.nominated_node(pod.uid) == nodes.get(pod.uid, "") for pod in group.members)

    def _is_clearing(self, group: PodGroupInfo, rule: EvictionRule) -> bool:
        """Whether victims of an earlier preemption by the group still run."""
        if any(self._executor.is_running(pod.uid) for pod in group.members):
            return True
        nominator = self.handle.nominator
        nodes = {node for pod in group.members if (node := nominator.nominated_node(pod.uid))}
        return any(self._makes_room(other, rule) for node in nodes for other in self._on(node))

    def _makes_room(self, pod: PodInfo, rule: EvictionRule) -> bool:
        """Whether the pod is being evicted, so that a preemptor with this rule that is nominated to its node waits."""
        return (pod.priority < rule.below or not rule.by_priority_alone) and self._is_leaving(pod)

    def _is_leaving(self, pod: PodInfo) -> bool:
        """Whether the pod is being evicted, for any preemptor.

        The executor knows it before the watch reports the deletion; otherwise a preemptor would preempt once more in
        between.
        """
        return terminating_by_preemption(pod) or pod.uid in self._executor.leaving

    def _units(self) -> Units:
        return Units(self.handle.disruption_unit, self._executor.leaving, self.handle.clock.wall())

    # Single pods and groups.

    def _ineligible(self, pod: PodInfo, diagnosis: Diagnosis, rule: EvictionRule) -> Status | None:
        """The reason why the pod may not preempt now: its policy, or victims of its last preemption that still run."""
        if pod.pod.spec.preemption_policy == "Never":
            return _NEVER
        # The nominator is read, because the pod's status may be older than its nomination or than the end of one.
        nominated = self.handle.nominator.nominated_node(pod.uid)
        if not nominated:
            return None
        status = diagnosis.status_of(nominated)
        if status is not None and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return None
        return _TERMINATING if any(self._makes_room(other, rule) for other in self._on(nominated)) else None

    def _dry_run(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, rule: EvictionRule) -> DryRun:
        """Try nodes in turn, from a random one on, until enough candidates are found and one violates no budget."""
        names = nodes_to_try(self.handle, state, diagnosis.nodes_with(Code.UNSCHEDULABLE))
        first = int(self.handle.random() * len(names))
        names = [*names[first:], *names[:first]]
        wanted = max(_candidates_wanted(self._args, len(names)), 1)
        found, units, budgets = DryRun(), self._units(), self._budgets()
        memory = self._memory_without_limit if rule.limit is None else self._memory
        search = VictimSearch(self.handle, state, pod, budgets, rule=rule, units=units, memory=memory)
        start, size = 0, wanted
        while start < len(names):
            part = search.run(names[start : start + size], partial(self._victims_on, rule, units, budgets))
            start += size
            found.candidates += part.candidates
            found.statuses |= part.statuses
            lacking = wanted - len(found.candidates)
            if lacking <= 0 and any(not each.violations for each in found.candidates):
                break
            size = _next_part(lacking, size, len(part.candidates), most=wanted)
        found.candidates.sort(key=lambda candidate: candidate.violations > 0)
        return found

    def _later(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, rule: EvictionRule) -> Status | None:
        """The status if evictions will help the pod once victims are no longer protected; None if they will not."""
        if rule.limit is None:
            return None
        units = self._units()
        tried = nodes_to_try(self.handle, state, diagnosis.nodes_with(Code.UNSCHEDULABLE))
        retry = next_end((other for name in tried for other in self._on(name)), rule, units)
        if retry == inf:
            return None
        run = self._dry_run(state, pod, diagnosis, without_limit(rule))
        ends = [all_unprotected(members_of(each.victims), rule, units) for each in run.candidates]
        until = min(ends, default=inf)
        if until == inf:
            return None
        state.write(EvictionWait.KEY, EvictionWait(retry, shared=True))
        return protected(until)

    def _group_later(
        self, state: CycleState, group: PodGroupInfo, trial: PodGroupTrial, rule: EvictionRule, *, units: Units
    ) -> Status | None:
        """The status if evictions will help the group once victims are no longer protected; None if they will not."""
        if rule.limit is None:
            return None
        names = self.handle.snapshot.names
        retry = next_end((other for name in names for other in self._on(name)), rule, units)
        if retry == inf:
            return None
        plan = GroupSearch(self.handle, group, trial, self._budgets(), units=units, rule=without_limit(rule)).run()
        until = inf if isinstance(plan, Status) else all_unprotected(members_of(plan.victims), rule, units)
        if until == inf:
            return None
        state.write(EvictionWait.KEY, EvictionWait(retry, shared=True))
        return protected(until)

    def _evictions(self, node_name: str, victims: Sequence[Placed]) -> Evictions:
        """The evictions as users see them, without pods that are terminating already."""
        nodes = {placed.pod.uid: placed.node_name for placed in victims}
        going = tuple(placed.pod for placed in victims if not placed.pod.terminating)
        return Evictions(node_name, going, nodes, self._budgets().forbidding(going))

    def _budgets(self) -> DisruptionBudgets:
        return DisruptionBudgets(self.handle.lister(POD_DISRUPTION_BUDGETS).list())

    def _victims_on(
        self, rule: EvictionRule, units: Units, budgets: DisruptionBudgets, node_name: str
    ) -> Sequence[Victim]:
        victims = units.victims_among((Placed(other, node_name) for other in self._on(node_name)), rule)
        return without_violations(victims, rule, budgets)

    def _on(self, node_name: str) -> Iterator[PodInfo]:
        snapshot = self.handle.snapshot
        row = snapshot.row_of(node_name)
        return iter(() if row is None else tuple(snapshot.pods[row].values()))


def _candidates_wanted(args: DefaultPreemptionArgs, nodes: int) -> int:
    share = nodes * args.min_candidate_nodes_percentage // 100
    return min(max(share, args.min_candidate_nodes_absolute), nodes)


def _found(plan: GroupPreemption) -> Status:
    """The status of a group for which pods are evicted."""
    return Status(Code.SUCCESS, (f"found a placement for podgroup, preempting {len(plan.victims)} victims",))


def _nominations(plan: GroupPreemption | None) -> Mapping[str, str]:
    """The node of each member that is to get one, by UID."""
    return {} if plan is None else {placed.pod.uid: placed.node_name for placed in plan.placement}


def _next_part(lacking: int, tried: int, found: int, *, most: int) -> int:
    """How many nodes to try next for `lacking` more candidates, if the last part had `found` on `tried` nodes."""
    if lacking <= 0:
        return most
    return min(most, ceil(lacking * tried / found) if found else 2 * tried)


def _reclaimable(state: CycleState) -> Set[str]:
    found = state.get(_RECLAIMABLE)
    return found if isinstance(found, Set) else frozenset()
