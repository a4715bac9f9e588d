"""The search: which node a pod should go to, or why none.

The scheduling cycle, the gang cycle and `muster explain` all decide through it. It changes nothing but kept columns, so
it may be run for a pod any number of times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contract.cycle_state import CycleState
from ..contract.group import GroupPlugin
from ..contract.status import Code, Status
from ..contract.verdicts import Diagnosis
from ..model.pod_info import PodInfo
from ..runtime.filtering import Filtered, FilterPhase
from ..runtime.memo import Memo
from ..runtime.prefilter import PreFiltered, run_pre_filter
from ..runtime.profile import Profile
from ..runtime.sampling import Rotation, feasible_nodes_to_find
from ..runtime.scoring import Scored, ScorePhase
from ..runtime.timing import Timing
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from .fit_error import NO_NODES, fit_error


@dataclass(slots=True)
class Feasible:
    """What filtering came to.

    Attributes:
        pre_filtered: PreFilter's part.
        rows: intp, the nodes that can run the pod; empty when `status` is set.
        filtered: the verdicts behind it; None when PreFilter ended the search.
        status: why there is no node: a rejection, or an ERROR.
        diagnosis: with a rejection, the first reason of each node.
        evaluated: how many nodes were looked at.
    """

    pre_filtered: PreFiltered
    rows: Rows
    filtered: Filtered | None = None
    status: Status | None = None
    diagnosis: Diagnosis | None = None
    evaluated: int = 0


class Search:
    """Finds and ranks nodes for the pods of one profile."""

    def __init__(self, profile: Profile, snapshot: Snapshot, timing: Timing) -> None:
        memo = Memo(snapshot)
        self.profile = profile
        self._snapshot = snapshot
        self._timing = timing
        self._filter = FilterPhase(profile, snapshot, memo, timing)
        self._score = ScorePhase(profile, snapshot, memo, timing)
        self._rotation = Rotation()

    def find(self, state: CycleState, pod: PodInfo) -> Feasible:
        """Which nodes can run the pod."""
        snapshot = self._snapshot
        if not snapshot.node_count:
            status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (NO_NODES,))
            return Feasible(PreFiltered(), np.zeros(0, np.intp), status=status)
        listed = NodeView(snapshot, snapshot.live_rows())
        since = self._timing.now()
        pre_filtered = run_pre_filter(self.profile.pre_filter, state, pod, listed, self._timing)
        self._timing.point("PreFilter", pre_filtered.status, since)
        if pre_filtered.status is not None:
            return self._turned_away(pre_filtered, pre_filtered.status, listed)

        since = self._timing.now()
        filtered = self._filter.run(state, pod, pre_filtered)
        rows = filtered.feasible
        self._timing.point("Filter", filtered.error, since)
        found = Feasible(pre_filtered, rows, filtered, filtered.error, evaluated=len(filtered.listed))
        if filtered.error is not None:
            found.rows = rows[:0]
        elif not len(rows):
            found.diagnosis = filtered.diagnose(snapshot)
            found.diagnosis.unschedulable_plugins |= pre_filtered.rejectors
            found.status = Status.unschedulable(fit_error(found.diagnosis))
        else:
            wanted = self._wanted(pre_filtered)
            if wanted < len(rows):
                found.rows = self._sample(filtered, wanted)
        return found

    def rank(self, state: CycleState, pod: PodInfo, rows: Rows) -> Scored | Status:
        """How good each of `rows` is; an ERROR status when a plugin failed."""
        return self._score.run(state, pod, rows)

    def choose(self, state: CycleState, pod: PodInfo, found: Feasible) -> int | Status:
        """The row of the best node of `found`; the first of equals. A single feasible node is not scored."""
        if len(found.rows) == 1:
            return int(found.rows[0])
        scored = self.rank(state, pod, found.rows)
        if isinstance(scored, Status):
            return scored
        return int(found.rows[int(scored.totals.argmax())])

    def recheck(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """None when the pod, which must not be counted on the node, could go there now; else the first rejection.

        What its group lacks is not asked again: a place that is still good is not lost over it.
        """
        snapshot = self._snapshot
        row = snapshot.live_row_of(node_name)
        if row is None:
            return Status.unresolvable(f'nodeinfo not found for node name "{node_name}"')
        listed = NodeView(snapshot, snapshot.live_rows())
        plugins = (plugin for plugin in self.profile.pre_filter if not isinstance(plugin, GroupPlugin))
        pre_filtered = run_pre_filter(plugins, state, pod, listed, self._timing)
        if pre_filtered.status is not None:
            return pre_filtered.status
        if pre_filtered.node_names is not None and node_name not in pre_filtered.node_names:
            return pre_filtered.absent
        return self._filter.check(state, pod, row, pre_filtered.skipped)

    def _wanted(self, pre_filtered: PreFiltered) -> int:
        """How many feasible nodes are enough; where none is scored, the first one is."""
        if not self.profile.score:
            return 1
        names, snapshot = pre_filtered.node_names, self._snapshot
        left = snapshot.node_count if names is None else sum(snapshot.live_row_of(name) is not None for name in names)
        return feasible_nodes_to_find(left, self.profile.percentage_of_nodes_to_score)

    def _sample(self, filtered: Filtered, wanted: int) -> Rows:
        passing = np.zeros(self._snapshot.height, np.bool_)
        passing[filtered.feasible] = True
        return self._rotation.first(passing, filtered.listed, wanted)

    def _turned_away(self, pre_filtered: PreFiltered, status: Status, listed: NodeView) -> Feasible:
        nowhere = np.zeros(0, np.intp)
        if not status.rejected:
            return Feasible(pre_filtered, nowhere, status=status)
        none = np.zeros(len(listed), np.int32)
        diagnosis = Diagnosis(listed.names(), none, none, absent=status, prefilter_message=status.message)
        diagnosis.unschedulable_plugins |= pre_filtered.rejectors
        if status.code is Code.PENDING:
            diagnosis.pending_plugins |= pre_filtered.rejectors
        rejected = Status(status.code, (fit_error(diagnosis),), status.plugin)
        return Feasible(pre_filtered, nowhere, status=rejected, diagnosis=diagnosis)
