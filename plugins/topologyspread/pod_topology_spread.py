"""PodTopologySpread: spreads pods evenly over zones, hosts and other domains, as far as they ask for it."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.contract import (
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    FilterPlugin,
    Handle,
    NodeView,
    ObjectFollower,
    PodInfo,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Scores,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.arguments import PodTopologySpreadArgs

from .constraint import Constraint
from .defaults import WATCHED, Siblings
from .hints import SpreadHints
from .ranking import Ranked, rank, weigh
from .reading import Readings
from .skew import UntalliedPods, has_every_key, judge

_WEIGHED, _RANKED = "PreScorePodTopologySpread", "ScorePodTopologySpread"

UNEVEN = Status.unschedulable("node(s) didn't match pod topology spread constraints")
KEY_MISSING = Status.unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")


class PodTopologySpread(
    PreFilterPlugin[PodTopologySpreadArgs],
    PreFilterExtensions[PodTopologySpreadArgs],
    FilterPlugin[PodTopologySpreadArgs],
    PreScorePlugin[PodTopologySpreadArgs],
    ScorePlugin[PodTopologySpreadArgs],
    EnqueueExtensions[PodTopologySpreadArgs],
    ObjectFollower[PodTopologySpreadArgs],
):
    """Filters by constraints that must hold, scores by those that had better."""

    name = "PodTopologySpread"
    rejects_alike = True
    args_model = PodTopologySpreadArgs
    watches = WATCHED

    _table = StatusTable([UNEVEN, KEY_MISSING])

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._siblings = Siblings(handle)
        self._readings = Readings(args, self._siblings)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods without a hard constraint."""
        reading = self._readings.of(pod, nodes.snapshot)
        if reading.hard_fault:
            return Status.failure(f"get constraints from pod: {reading.hard_fault}")
        return None if reading.hard else Status.skip()

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> None:
        """Notes a pod that tallies leave out."""
        self._note(state, pod, added, node_name, sign=1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> None:
        """Notes a pod that tallies leave out."""
        self._note(state, pod, removed, node_name, sign=-1)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """The first constraint that a node fails speaks."""
        tried = state.get(self.name)
        codes = judge(self._hard(pod, nodes), nodes, tried if isinstance(tried, UntalliedPods) else None)
        return Verdicts(codes, self._table)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods without a soft constraint."""
        reading = self._readings.of(pod, nodes.snapshot)
        if reading.soft_fault:
            return Status.failure(f"calculating preScoreState: {reading.soft_fault}")
        if not reading.soft:
            return Status.skip()
        state.write(_WEIGHED, weigh(reading, nodes))
        return None

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """How many pods to be spread from are in a node's domains, the sum weighted by the sizes of the topologies."""
        weighed = state.get(_WEIGHED)
        constraints = weighed if isinstance(weighed, tuple) else ()
        ranked = rank(self._readings.of(pod, nodes.snapshot), constraints, nodes)
        state.write(_RANKED, ranked)
        return ranked.scores()

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        """100 for the fewest; 0 for nodes that lack a key."""
        return state.read(_RANKED, Ranked).normalized()

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Pods that are counted, the pod's own labels and tolerations, and nodes with the keys."""
        return SpreadHints(lambda pod: self._readings.of(pod, self.handle.snapshot)).registrations()

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """A service or controller picks other pods."""
        self._siblings.follow(old, new)

    def _hard(self, pod: PodInfo, nodes: NodeView) -> Sequence[Constraint]:
        return self._readings.of(pod, nodes.snapshot).hard

    def _note(self, state: CycleState, pod: PodInfo, other: PodInfo, node_name: str, *, sign: int) -> None:
        snapshot = self.handle.snapshot
        row = snapshot.live_row_of(node_name)
        hard = self._readings.of(pod, snapshot).hard
        if row is None or other.namespace != pod.namespace or not has_every_key(hard, snapshot, row):
            return
        tried = state.get(self.name)
        if not isinstance(tried, UntalliedPods):
            tried = UntalliedPods()
            state.write(self.name, tried)
        tried.note(hard, other, row, sign)
