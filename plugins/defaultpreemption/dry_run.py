"""The dry run: on many nodes at once, which pods must be evicted so that another pod fits.

It works on the snapshot under its undo log, so nothing outlives it. All victims of lower priority are removed from
their nodes, and the filters are asked once about all of these nodes. Then victims are reprieved in rounds, the most
important of each node first, and the filters are asked once after each round. That costs a few vector operations per
round instead of several calls per node. Where a plugin's verdict about one node depends on others, nodes are processed
one by one. Other work may run after each pod that is removed or added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from muster.framework.contract import (
    Code,
    CycleState,
    EvictionRule,
    NodeView,
    Placed,
    PreemptionHandle,
    Status,
    Trial,
    checkpoint,
)
from muster.framework.model.pod_info import PodInfo

from .budgets import DisruptionBudgets
from .candidates import Candidate
from .memory import DryRunMemory, Outcome
from .units import Units
from .victims import Reprieve, Victim, by_importance, in_parts, reprieve_order

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


@dataclass(slots=True)
class DryRun:
    """The result of the dry run.

    Attributes:
        candidates: nodes on which the pod would fit.
        statuses: by node name, the reason why each other node that was tried does not help.
    """

    candidates: list[Candidate] = field(default_factory=list)
    statuses: dict[str, Status] = field(default_factory=dict)


@dataclass(slots=True)
class _Node:
    """A node during the dry run: its possible victims in the order of the reprieve, and the victims so far.

    Attributes:
        error: the failure of a plugin in the trial; the node is then no candidate.
    """

    name: str
    reprieve: Reprieve
    lost: list[Victim] = field(default_factory=list)
    violations: int = 0
    error: Status | None = None

    def candidate(self) -> Candidate:
        lost = by_importance(self.lost) if self.reprieve.mixed else self.lost
        return Candidate(self.name, tuple(lost), self.violations, sum(victim.group for victim in lost))


class VictimSearch:
    """Dry runs for one pod. `state` is the cycle state of the attempt in which Filter found no node."""

    def __init__(
        self,
        handle: PreemptionHandle,
        state: CycleState,
        pod: PodInfo,
        budgets: DisruptionBudgets,
        *,
        rule: EvictionRule,
        units: Units,
        memory: DryRunMemory,
    ) -> None:
        self._handle = handle
        self._state = state
        self._pod = pod
        self._budgets = budgets
        self._rule = rule
        self._units = units
        self._memory = memory
        self._remote = handle.filters_depend_on_cluster(state)
        """Whether a group's pods on other nodes matter to a verdict about one node."""

    def run(self, names: Sequence[str], victims_on: Callable[[str], Sequence[Victim]]) -> DryRun:
        """Try these nodes, each with its possible victims."""
        found = DryRun()
        if self._remote:
            for name in names:
                self._try({name: victims_on(name)}, found)
        else:
            self._try_unless_known(names, victims_on, found)
        return found

    def _try_unless_known(
        self, names: Sequence[str], victims_on: Callable[[str], Sequence[Victim]], found: DryRun
    ) -> None:
        """Try the nodes that may have changed since such a pod was tried there, and recall the other outcomes."""
        recollection = self._memory.of(self._state, self._pod, names, self._budgets, units=self._units, rule=self._rule)
        known: dict[str, Outcome] = {}
        victims_of: dict[str, Sequence[Victim]] = {}
        for part in in_parts(names):
            checkpoint()
            for name in part:
                outcome = recollection.get(name)
                if outcome is None:
                    victims_of[name] = victims_on(name)
                    checkpoint()
                else:
                    known[name] = outcome
        fresh = DryRun()
        self._try(victims_of, fresh)
        new = {candidate.node_name: candidate for candidate in fresh.candidates}
        for name in names:
            outcome = known.get(name)
            if outcome is None:
                outcome = new.get(name) or fresh.statuses[name]
                if not (isinstance(outcome, Status) and outcome.code is Code.ERROR):
                    recollection.keep(name, outcome)
                checkpoint()
            if isinstance(outcome, Candidate):
                found.candidates.append(outcome)
            else:
                found.statuses[name] = outcome

    def _try(self, victims_of: Mapping[str, Sequence[Victim]], found: DryRun) -> None:
        found.statuses.update({name: NO_VICTIMS for name, victims in victims_of.items() if not victims})
        if left := {name: victims for name, victims in victims_of.items() if victims}:
            self._run_together(left, found)

    def _run_together(self, victims_of: Mapping[str, Sequence[Victim]], found: DryRun) -> None:
        nodes = []
        for name, victims in victims_of.items():
            nodes.append(_Node(name, reprieve_order(victims, self._budgets)))
            checkpoint()
        state = self._state.clone()
        with self._handle.trial() as trial:
            for node in nodes:
                for victim in node.reprieve.order:
                    self._remove(trial, state, node, self._there(victim, node))
            failures = self._failures(state, nodes)
            found.statuses.update(failures)
            left = [node for node in nodes if node.name not in failures]
            turn = 0
            while trying := [node for node in left if node.error is None and turn < len(node.reprieve.order)]:
                self._reprieve(trial, state, trying, turn)
                turn += 1
            for node in left:
                self._spare(trial, state, node)
        for node in left:
            if node.error is not None:
                found.statuses[node.name] = node.error
            elif node.lost:
                found.candidates.append(node.candidate())
            else:
                wrong = f'expected at least one victim pod on node "{node.name}"'
                found.statuses[node.name] = Status.failure(wrong)

    def _reprieve(self, trial: Trial, state: CycleState, nodes: Sequence[_Node], turn: int) -> None:
        """Reprieve the next victim on each node, unless the pod then no longer fits there."""
        for node in nodes:
            self._add(trial, state, node, self._there(node.reprieve.order[turn], node))
        failures = self._failures(state, nodes)
        for node in nodes:
            if node.name in failures:
                victim = node.reprieve.order[turn]
                self._remove(trial, state, node, self._there(victim, node))
                node.lost.append(victim)
                node.violations += node.reprieve.violations[turn]

    def _failures(self, state: CycleState, nodes: Sequence[_Node]) -> dict[str, Status]:
        """The nodes, by name, on which the pod does not fit in the current trial, or on which a plugin failed."""
        snapshot = self._handle.snapshot
        failures = {node.name: node.error for node in nodes if node.error is not None}
        rows = np.array([snapshot.row_of(node.name) for node in nodes if node.error is None], np.intp)
        if len(rows):
            view = NodeView(snapshot, rows)
            diagnosis = self._handle.run_filter_plugins_with_nominated_pods(state, self._pod, view)
            failures |= {name: status for name, status in diagnosis.statuses() if status is not None}
        for node in nodes:
            status = failures.get(node.name)
            if status is not None and not status.rejected:
                node.error = status
        return failures

    def _spare(self, trial: Trial, state: CycleState, node: _Node) -> None:
        """Evict only the pods that a group can spare, if they suffice, instead of the whole group."""
        for victim in [victim for victim in node.lost if victim.spare]:
            going = victim.spared({node.name})
            gone = {each.pods[0].pod.uid for each in going}
            staying = [placed for placed in self._there(victim, node) if placed.pod.uid not in gone]
            self._add(trial, state, node, staying)
            if self._failures(state, [node]):
                self._remove(trial, state, node, staying)
                continue
            node.lost.remove(victim)
            node.violations -= node.reprieve.violations[node.reprieve.order.index(victim)]
            for each in going:
                self._add(trial, state, node, self._there(each, node))
                if self._failures(state, [node]):
                    self._remove(trial, state, node, self._there(each, node))
                    node.lost.append(each)
                    node.violations += sum(self._budgets.violations([each.members]))
            node.lost = by_importance(node.lost)

    def _there(self, victim: Victim, node: _Node) -> Sequence[Placed]:
        """The victim's pods that matter to a verdict about the node."""
        if self._remote or (len(victim.pods) == 1 and victim.pods[0].node_name == node.name):
            return victim.pods
        return victim.on.get(node.name, ())

    def _add(self, trial: Trial, state: CycleState, node: _Node, pods: Sequence[Placed]) -> None:
        for pod, node_name in pods:
            if node.error is None:
                node.error = trial.add_pod(state, self._pod, pod, node_name)
            checkpoint()

    def _remove(self, trial: Trial, state: CycleState, node: _Node, pods: Sequence[Placed]) -> None:
        for pod, node_name in pods:
            if node.error is None:
                node.error = trial.remove_pod(state, self._pod, pod, node_name)
            checkpoint()
