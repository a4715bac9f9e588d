"""DefaultPreemption: makes room for a pod that no node can run by evicting pods of lower priority.

PostFilter finds the node where least is lost and whom to evict there, and changes nothing; `muster explain` asks it
too. When the scheduler acts on the decision the executor evicts, and PreEnqueue keeps the pod out of the queue until
it has. The rules are those of kube-scheduler's plugin of this name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import cast

from muster.framework.config.args import DefaultPreemptionArgs
from muster.framework.contract import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    DecisionFollower,
    Diagnosis,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    Evictions,
    Handle,
    Hint,
    PodDecision,
    PodInfo,
    PostFilterPlugin,
    PreEnqueuePlugin,
    Status,
    fit_error,
)

from .budgets import POD_DISRUPTION_BUDGETS, Budgets, PodDisruptionBudget
from .candidates import pick_one_node
from .dry_run import NO_VICTIMS, DryRun, VictimSearch
from .executor import Executor, terminating_by_preemption
from .victims import Victim, single, start_time

_NEVER = Status.unschedulable("preemption: not eligible due to preemptionPolicy=Never.")
_TERMINATING = Status.unschedulable("preemption: not eligible due to a terminating pod on the nominated node.")
_EVICTING = Status.unresolvable("waiting for the preemption for this pod to be finished")
_NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")


class DefaultPreemption(
    PreEnqueuePlugin[DefaultPreemptionArgs],
    PostFilterPlugin[DefaultPreemptionArgs],
    DecisionFollower[DefaultPreemptionArgs],
    EnqueueExtensions[DefaultPreemptionArgs],
):
    """Evicts pods of lower priority where that lets the pod fit."""

    name = "DefaultPreemption"
    args_model = DefaultPreemptionArgs
    watches = (POD_DISRUPTION_BUDGETS,)

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._args = args
        self._executor = Executor(handle, self.name)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """A pod whose victims are still being evicted waits for that."""
        return _EVICTING if self._executor.is_running(pod.uid) else None

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Pods that leave, so that PreEnqueue is asked again; which of them makes room is for other plugins to say."""
        return [EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE), _never, by_signature=True)]

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """Nominate the node where least is lost, with whom it loses, or say why no eviction helps."""
        state.write(self.name, ())
        refused = self._ineligible(pod, diagnosis)
        if refused is not None:
            return None, refused
        run = self._dry_run(state, pod, diagnosis)
        if not run.candidates:
            errors = [status for status in run.statuses.values() if status.code is Code.ERROR]
            if errors:
                return None, Status.failure(f"preemption: {errors[0].message}")
            # The FitError of the dry run: why each node does not do, also after every eviction.
            unhelpful = fit_error(Diagnosis.of_statuses(diagnosis.node_names, run.statuses, _NOT_HELPFUL))
            return "", Status.unschedulable(f"preemption: {unhelpful}")
        best = pick_one_node(run.candidates, partial(start_time, now=self.handle.clock.wall()))
        state.write(self.name, (best,))
        evicted = tuple(placed.pod for placed in best.victims if not placed.pod.terminating)
        state.write(Evictions.KEY, Evictions(best.node_name, evicted))
        text = f"found a potential placement for pod on node {best.node_name}, preempting {len(best.victims)} victims"
        return best.node_name, Status(Code.SUCCESS, (f"preemption: {text}",))

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Evict those whom the decision named."""
        candidates = decision.state.get(self.name)
        if isinstance(candidates, tuple):
            self.handle.observer.preemption_attempted()
            for candidate in candidates:
                self._executor.start(decision.pod, candidate)

    def _ineligible(self, pod: PodInfo, diagnosis: Diagnosis) -> Status | None:
        """Why the pod may not preempt now: it never may, or room that was made for it is still being cleared."""
        if pod.pod.spec.preemption_policy == "Never":
            return _NEVER
        nominated = pod.pod.status.nominated_node_name
        if not nominated:
            return None
        status = diagnosis.status_of(nominated)
        if status is not None and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return None
        clearing = any(
            other.priority < pod.priority and terminating_by_preemption(other) for other in self._on(nominated)
        )
        return _TERMINATING if clearing else None

    def _dry_run(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> DryRun:
        """Try nodes in turn from a random one on, until enough candidates are found and one violates no budget."""
        names = diagnosis.nodes_with(Code.UNSCHEDULABLE)
        if not any(priority < pod.priority for priority in self.handle.snapshot.priorities):
            return DryRun(statuses=dict.fromkeys(names, NO_VICTIMS))
        first = int(self.handle.random() * len(names))
        names = [*names[first:], *names[:first]]
        wanted = max(self._candidates_wanted(len(names)), 1)
        budgets = self.handle.lister(POD_DISRUPTION_BUDGETS.resource).list()
        search = VictimSearch(self.handle, state, pod, Budgets(cast("Iterable[PodDisruptionBudget]", budgets)))
        found = DryRun()
        for start in range(0, len(names), wanted):
            part = search.run({name: self._victims_on(name, pod) for name in names[start : start + wanted]})
            found.candidates += part.candidates
            found.statuses |= part.statuses
            if len(found.candidates) >= wanted and any(not each.violations for each in found.candidates):
                break
        found.candidates.sort(key=lambda candidate: candidate.violations > 0)
        return found

    def _candidates_wanted(self, nodes: int) -> int:
        share = nodes * self._args.min_candidate_nodes_percentage // 100
        return min(max(share, self._args.min_candidate_nodes_absolute), nodes)

    def _victims_on(self, node_name: str, pod: PodInfo) -> list[Victim]:
        now = self.handle.clock.wall()
        return [single(other, node_name, now) for other in self._on(node_name) if other.priority < pod.priority]

    def _on(self, node_name: str) -> Iterator[PodInfo]:
        snapshot = self.handle.snapshot
        row = snapshot.row_of(node_name)
        return iter(() if row is None else tuple(snapshot.pods[row].values()))


def _never(pod: PodInfo, old: object, new: object) -> Hint:
    return Hint.SKIP
