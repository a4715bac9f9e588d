"""The search for a node for one pod: which nodes fit, how good each is, and the best of them.

`Algorithm` decides and changes nothing, so `why`, `explain` and `simulate` may call it any number of times.
`SchedulingCycle` acts on its decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..contract.extender import EXTENDER
from ..contract.status import Code, Status
from ..contract.verdicts import NO_NODES, Diagnosis, fit_error, with_post_filter
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed
from ..runtime.attempt_state import AttemptState
from ..runtime.consultation import Consultation
from ..runtime.framework import Framework
from ..runtime.nominator import PodNominator
from ..runtime.rejections import reject_nodes
from ..runtime.results import Filtered, PreFiltered, Scored
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from . import decision_log
from .node_choice import Choose, Pick, feasible_nodes_to_find, first_from, pick_best

OUTDATED = "node(s) were taken while extenders were asked about them"


@dataclass(slots=True)
class Feasible:
    """The result of filtering.

    Attributes:
        pre_filtered: the result of PreFilter.
        rows: intp, shape (nodes,): the rows of the nodes that can run the pod; empty if `status` is set.
        filtered: the verdicts; None if PreFilter ended the search, or only the nominated node was checked.
        status: why there is no node: a rejection, or an ERROR.
        diagnosis: with a rejection, the first reason of each node.
        next_start: the position in the node list at which the next search begins.
    """

    pre_filtered: PreFiltered
    rows: Rows
    filtered: Filtered | None = None
    status: Status | None = None
    diagnosis: Diagnosis | None = None
    next_start: int = 0


class Algorithm:
    """Finds and ranks nodes for the pods of one profile. kube-scheduler's schedulePod and what it calls.

    Attributes:
        framework: the profile's plugins.
        snapshot: the nodes.
        next_start: the position in the node list at which the next search begins, if a profile checks only some nodes.
        extended: whether extenders filter or score, so that one node is not enough although no plugin scores.
    """

    def __init__(
        self,
        framework: Framework,
        snapshot: Snapshot,
        nominator: PodNominator,
        *,
        extended: bool = False,
        pick: Pick = pick_best,
    ) -> None:
        """`pick` chooses one of several nodes."""
        self.framework = framework
        self.snapshot = snapshot
        self.next_start = 0
        self.extended = extended
        self._nominator = nominator
        self._pick = pick

    def find_nodes_that_fit(
        self, state: AttemptState, pod: PodInfo, *, nominated_first: bool = True, of_groups: bool = True
    ) -> Feasible:
        """The nodes that can run the pod: as many as the profile asks for, or all that extenders have let through.

        If the nominated node can run the pod, no other is tried; without `nominated_first`, it is treated like all
        nodes. Without `of_groups`, PreFilter does not run for group plugins. The status is an ERROR while a Filter has
        long work left: see `find_to_the_end`.
        """
        found = self._find(state, pod, nominated_first, of_groups)
        if state.long_work.left is not None:
            plugin, _ = state.long_work.left
            status = Status.failure(f'running "{plugin}" filter plugin: it has not come to an end').by(plugin)
            return Feasible(found.pre_filtered, found.rows[:0], status=status, next_start=self.next_start)
        if found.status is None and state.consultation is not None:
            self._apply_consultation(state, pod, state.consultation, found)
        return found

    def find_to_the_end(self, state: AttemptState, pod: PodInfo, *, nominated_first: bool = True) -> Feasible:
        """The nodes that can run the pod, after the long work of Filter plugins is done."""
        found = self.find_nodes_that_fit(state, pod, nominated_first=nominated_first)
        if state.long_work.left is None:
            return found
        self.framework.filtering.finish_long_work(state, pod)
        return self.find_nodes_that_fit(state, pod, nominated_first=nominated_first)

    def _find(self, state: AttemptState, pod: PodInfo, nominated_first: bool, of_groups: bool) -> Feasible:
        snapshot, framework, consultation = self.snapshot, self.framework, state.consultation
        if not snapshot.node_count:
            status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (NO_NODES,))
            return Feasible(PreFiltered(), np.zeros(0, np.intp), status=status)
        listed = NodeView(snapshot, snapshot.live_rows())
        pre_filtered = framework.pre_filtering.run(state, pod, listed, of_groups=of_groups)
        if pre_filtered.status is not None:
            among = snapshot.live_rows() if state.within is None else state.within
            return _rejected_by_pre_filter(pre_filtered, pre_filtered.status, snapshot.names_of(among))
        if len(self._nominator) and nominated_first:
            rows = self.evaluate_nominated_node(state, pod)
            if rows is not None and (consultation is None or snapshot.names[int(rows[0])] in consultation.node_names):
                return Feasible(pre_filtered, rows, next_start=self.next_start)
        filtered = framework.filtering.run_on_all(state, pod, pre_filtered)
        found = Feasible(pre_filtered, filtered.feasible, filtered, filtered.error, next_start=self.next_start)
        if filtered.error is not None:
            found.rows = filtered.feasible[:0]
        elif not len(filtered.feasible):
            found.diagnosis = filtered.diagnose(snapshot)
            found.diagnosis.unschedulable_plugins |= pre_filtered.rejectors
            found.status = Status.unschedulable(fit_error(found.diagnosis))
        else:
            wanted = self._wanted(state, pre_filtered)
            if wanted < len(filtered.feasible):
                found.rows, found.next_start = first_from(self.next_start, filtered, wanted)
        return found

    def _apply_consultation(
        self, state: AttemptState, pod: PodInfo, consultation: Consultation, found: Feasible
    ) -> None:
        """Keep only the nodes that extenders allow; set the status if there are none, or none fits."""
        fitting = found.rows if found.filtered is None else found.filtered.feasible
        names = self.snapshot.names
        left = [row for row in fitting.tolist() if names[row] in consultation.node_names]
        found.rows = np.array(left, np.intp)
        if consultation.error is not None:
            found.rows, found.status = found.rows[:0], consultation.error
        elif not left and self._is_outdated(consultation, fitting, found):
            state.nodes_to_ask = frozenset(names[row] for row in fitting.tolist()) - consultation.refused
            found.status = Status.unschedulable(OUTDATED)
        elif not left and found.filtered is not None:
            found.diagnosis = self.diagnose(state, pod, found.pre_filtered, found.filtered)
            reject_nodes(found.diagnosis, consultation.statuses, EXTENDER)
            found.diagnosis.unschedulable_plugins |= {EXTENDER, *found.pre_filtered.rejectors}
            found.status = Status.unschedulable(fit_error(found.diagnosis))

    def diagnose(self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered, filtered: Filtered) -> Diagnosis:
        """The rejections of each node that was filtered, also if other nodes are feasible."""
        return self.framework.filtering.with_all_rejections(state, pod, pre_filtered, filtered).diagnose(self.snapshot)

    def _is_outdated(self, consultation: Consultation, fitting: Rows, found: Feasible) -> bool:
        """Whether nodes that extenders allow do not fit, and nodes fit that no extender has refused.

        An extender may choose one node and say nothing of the others.
        """
        if found.filtered is None or not consultation.consulted_nodes:
            return True
        if consultation.repeated is not None and consultation.repeated.over:
            return False
        names, refused = self.snapshot.names, consultation.refused
        chose = bool(consultation.node_names) or consultation.repeated is not None
        return chose and any(names[row] not in refused for row in fitting.tolist())

    def evaluate_nominated_node(self, state: AttemptState, pod: PodInfo) -> Rows | None:
        """The row of the node to which the pod is nominated; None if there is none, or it cannot run the pod."""
        row = self.snapshot.live_row_of(self._nominator.nominated_node(pod.uid))
        if row is None or (state.within is not None and row not in state.within):
            return None
        rows = np.array([row])
        try:
            diagnosis = self.framework.filtering.run_with_nominated_pods(
                state, pod, NodeView.ascending(self.snapshot, rows)
            )
        except Failed:  # all nodes are tried next, and the error is reported then
            return None
        return rows if diagnosis.passes[0] else None

    def prioritize_nodes(self, state: AttemptState, pod: PodInfo, rows: Rows) -> Scored | Status:
        """int64, shape (rows,): the total score of each of `rows`; an ERROR if a plugin failed."""
        status = self.framework.scoring.prepare(state, pod, NodeView.ascending(self.snapshot, rows))
        if status is not None:
            return status
        scored = self.framework.scoring.run(state, pod, rows)
        if isinstance(scored, Status) or state.consultation is None:
            return scored
        names = [self.snapshot.names[row] for row in rows.tolist()]
        by_plugin, totals = dict(scored.by_plugin), scored.totals
        for extender, scores in state.consultation.scores.items():
            by_plugin[extender] = np.array([scores.get(name, 0) for name in names], np.int64)
            totals = totals + by_plugin[extender]
        return Scored(by_plugin, totals)

    def select_host(self, state: AttemptState, pod: PodInfo, found: Feasible, choose: Choose) -> int | Status:
        """The row of the best node of `found`, among equals by `choose`. A single feasible node is not scored."""
        if len(found.rows) == 1:
            return int(found.rows[0])
        scored = self.prioritize_nodes(state, pod, found.rows)
        if isinstance(scored, Status):
            return scored
        decision_log.scores(pod, found.rows, scored, self.snapshot)
        return int(found.rows[self._pick(pod, NodeView(self.snapshot, found.rows), scored, choose)])

    def post_filter(self, state: AttemptState, pod: PodInfo, found: Feasible) -> tuple[str | None, str]:
        """The result of PostFilter: the nomination (None leaves it, "" clears it), and the full rejection message.

        As in kube-scheduler, the message of a pod that preempts as its group does not mention preemption.
        """
        message = found.status.message if found.status is not None else ""
        diagnosis = found.diagnosis
        if diagnosis is None or found.status is None or not found.status.rejected:
            return None, message
        if not self.framework.plugins.post_filter:
            return "", message
        nominated, status = self.framework.post_filtering.run(state, pod, diagnosis)
        if self.framework.groups.preempts_as_group(pod):
            return nominated, message
        return nominated, with_post_filter(message, "" if status is None else status.message)

    def recheck(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """None if the pod, which must not be counted on the node, still fits there; else the first rejection.

        Group plugins are not called: a pod does not lose a node that still fits because its group lacks members.
        """
        snapshot = self.snapshot
        row = snapshot.live_row_of(node_name)
        if row is None:
            return Status.unresolvable(f'nodeinfo not found for node name "{node_name}"')
        listed = NodeView(snapshot, snapshot.live_rows())
        pre_filtered = self.framework.pre_filtering.run(state, pod, listed, of_groups=False)
        if pre_filtered.status is not None:
            return pre_filtered.status
        if pre_filtered.node_names is not None and node_name not in pre_filtered.node_names:
            return pre_filtered.absent
        try:
            diagnosis = self.framework.filtering.run(state, pod, NodeView(snapshot, np.array([row])))
        except Failed as failed:
            return failed.status
        [(_, status)] = diagnosis.statuses()
        return status

    def _wanted(self, state: AttemptState, pre_filtered: PreFiltered) -> int:
        """The number of feasible nodes to find; one if nodes are not scored."""
        if not self.framework.plugins.score and not self.extended:
            return 1
        names, snapshot = pre_filtered.node_names, self.snapshot
        left = snapshot.node_count if state.within is None else len(state.within)
        if names is not None:
            left = min(left, sum(snapshot.live_row_of(name) is not None for name in names))
        return feasible_nodes_to_find(left, self.framework.percentage_of_nodes_to_score)


def _rejected_by_pre_filter(pre_filtered: PreFiltered, status: Status, node_names: Sequence[str]) -> Feasible:
    nowhere = np.zeros(0, np.intp)
    if not status.rejected:
        return Feasible(pre_filtered, nowhere, status=status)
    none = np.zeros(len(node_names), np.int32)
    diagnosis = Diagnosis(node_names, none, none, absent=status, prefilter_message=status.message)
    diagnosis.unschedulable_plugins |= pre_filtered.rejectors
    if status.code is Code.PENDING:
        diagnosis.pending_plugins |= pre_filtered.rejectors
    rejected = status.with_reasons(fit_error(diagnosis))
    return Feasible(pre_filtered, nowhere, status=rejected, diagnosis=diagnosis)
