"""TaintToleration: rejects nodes with taints that a pod does not tolerate, or scores them lower (PreferNoSchedule)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from muster.framework.authoring import PerSignature, normalize_to_highest
from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    Handle,
    Hint,
    NodeView,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Scores,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.columns import TaintColumn, TaintSet
from muster.framework.model.node import PREFER_NO_SCHEDULE, Node, Tolerations, kept_off, untolerated
from muster.framework.model.pod_info import PodInfo

TAINTED = Status.unresolvable("node(s) had untolerated taint(s)")


class TaintToleration(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions):
    """Filters by NoSchedule and NoExecute taints; scores by how few PreferNoSchedule taints are not tolerated."""

    name = "TaintToleration"
    filter_depends_on = DependsOn.NODE
    score_depends_on = DependsOn.NODE

    _table = StatusTable([TAINTED])

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._tolerations = PerSignature(_tolerations_of)
        self._kept_off = PerSignature(self._kept_off_by)
        self._disliked = PerSignature(self._disliked_of)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Nodes with a taint that keeps the pod off fail."""
        column = nodes.snapshot.taints
        answers = self._kept_off.of(pod).over(column)[nodes.of(column.ids)]
        return Verdicts(answers.astype(np.int32), self._table)

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """How many PreferNoSchedule taints of the node the pod does not tolerate."""
        column = nodes.snapshot.taints
        return self._disliked.of(pod).over(column)[nodes.of(column.ids)]

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        """100 for no such taint, 0 for the most."""
        return normalize_to_highest(scores, reverse=True)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """A node that no longer keeps the pod off, and new tolerations of the pod."""
        return [
            EventRegistration(
                ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), self._let_on, by_signature=True
            ),
            EventRegistration(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_TOLERATION)),
        ]

    def _kept_off_by(self, pod: PodInfo) -> _OverTaintSets:
        return _OverTaintSets(partial(kept_off, tolerations=self._tolerations.of(pod)))

    def _disliked_of(self, pod: PodInfo) -> _OverTaintSets:
        tolerations = self._tolerations.of(pod)
        return _OverTaintSets(lambda taints: untolerated(taints, tolerations, PREFER_NO_SCHEDULE))

    def _let_on(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        tolerations = self._tolerations.of(pod)
        was_kept_off = old is None or kept_off(old.spec.taints, tolerations)
        is_kept_off = new is not None and kept_off(new.spec.taints, tolerations)
        return Hint.queue_if(was_kept_off and not is_kept_off and new is not None)


class _OverTaintSets:
    """A number for each distinct taint set, worked out when the set is first met in an epoch of the column."""

    __slots__ = ("_epoch", "_measure", "_numbers")

    def __init__(self, measure: Callable[[TaintSet], int]) -> None:
        self._measure = measure
        self._numbers = np.zeros(0, np.int64)
        self._epoch = 0

    def over(self, column: TaintColumn) -> npt.NDArray[np.int64]:
        """int64, shape (sets,): to be indexed with the column's ids."""
        if column.epoch != self._epoch:
            self._numbers, self._epoch = np.zeros(0, np.int64), column.epoch
        known = len(self._numbers)
        if known < len(column.sets):
            fresh = [self._measure(taints) for taints in column.sets[known:]]
            self._numbers = np.concatenate([self._numbers, np.array(fresh, np.int64)])
        return self._numbers


def _tolerations_of(pod: PodInfo) -> Tolerations:
    return Tolerations(pod.pod.spec.tolerations)
