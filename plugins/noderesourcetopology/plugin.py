"""NodeResourceTopologyMatch: places pods where a kubelet can align their resources to NUMA nodes.

Off until a profile enables it; without a NodeResourceTopology it changes no decision. A kubelet with the policy
`single-numa-node` or `restricted` rejects a pod whose resources it cannot align, after the pod is bound, so Filter
rejects the node before. Which zones have how much is in `zones`: a pod that is placed counts there until a report
includes it, in a trial of a gang or of evictions as well. Upstream: scheduler-plugins' plugin of this name.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from muster.framework.contract import (
    MAX_NODE_SCORE,
    Action,
    ClusterEvent,
    Codes,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    Handle,
    Hint,
    Node,
    NodeView,
    ObjectFollower,
    PodFollower,
    PodInfo,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Scores,
    SnapshotReader,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.columns import Rows

from .alignment import ALIGNED, Aligner, fewest_zones, single_zone, unaligned
from .api import NAME, TOPOLOGIES, NodeResourceTopology, ZonePolicy, ZoneScope
from .args import NodeResourceTopologyMatchArgs
from .certainty import fits_anyway
from .demand import ZoneDemand
from .fewest import by_fewest
from .recording_fields import RECORDED
from .shared import SharedTopologies
from .strategies import STRATEGIES, by_zones
from .zones import ZoneColumns

_MESSAGES = (
    "cannot align pod",
    "cannot align container",
    "cannot align init container",
    "cannot align sidecar container",
    "invalid node topology data",
)
_NOT_FRESH = len(_MESSAGES)
_ALIGNERS: tuple[tuple[ZonePolicy, Aligner], ...] = (
    (ZonePolicy.SINGLE_NUMA_NODE, single_zone),
    (ZonePolicy.RESTRICTED, fewest_zones),
)
_SKIP = Status.skip()


class NodeResourceTopologyMatch(
    PreFilterPlugin[NodeResourceTopologyMatchArgs],
    FilterPlugin[NodeResourceTopologyMatchArgs],
    PreScorePlugin[NodeResourceTopologyMatchArgs],
    ScorePlugin[NodeResourceTopologyMatchArgs],
    ReservePlugin[NodeResourceTopologyMatchArgs],
    EnqueueExtensions[NodeResourceTopologyMatchArgs],
    ObjectFollower[NodeResourceTopologyMatchArgs],
    PodFollower[NodeResourceTopologyMatchArgs],
):
    """Filters and scores nodes by the zones of their NodeResourceTopology."""

    name = NAME
    args_model = NodeResourceTopologyMatchArgs
    watches = (TOPOLOGIES,)
    recorded = RECORDED
    filter_depends_on = DependsOn.PODS_ON_NODE
    score_depends_on = DependsOn.PODS_ON_NODE

    def __init__(self, args: NodeResourceTopologyMatchArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        key = f"{NAME} {args.model_dump_json(include={'cache', 'discard_reserved_nodes'})}"
        self._shared = handle.shared(key, lambda: SharedTopologies(handle, args))
        self._shared.profiles.add(handle.profile_name)
        self._demands = self._shared.reports.demands
        self._table = StatusTable([Status.unschedulable(message) for message in _MESSAGES])
        strategy = args.scoring_strategy
        self._strategy = STRATEGIES.get(strategy.type)
        self._weights = {each.name: max(1, each.weight) for each in strategy.resources}

    @property
    def columns(self) -> ZoneColumns:
        """The free amounts in zones."""
        return self._shared.columns

    def concerns(self, pod: PodInfo) -> bool:
        """Whether a topology manager looks at the pod: one that requests nothing is admitted anywhere."""
        return self._demands.of(pod).aligned

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips the filter as long as there is no NodeResourceTopology."""
        return None if self._shared.reports and self.concerns(pod) else _SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Asks of each node with a report whether its policy admits the pod."""
        shared, demand = self._shared, self._demands.of(pod)
        codes = np.zeros(len(nodes), np.int32)
        if not shared.reports or not demand.aligned:
            return Verdicts(codes, self._table)
        columns = self.columns
        columns.refresh()
        rows = nodes.indices()
        policies, scopes = columns.policy[rows], columns.scope[rows]
        for policy, align in _ALIGNERS:
            for scope in ZoneScope:
                at = np.flatnonzero((policies == policy) & (scopes == scope))
                if len(at):
                    zones = columns.of(rows[at], demand.resources)
                    offered = partial(columns.offered, rows=rows[at])
                    found = unaligned(zones, demand, align, whole=scope is ZoneScope.POD, offered=offered)
                    codes[at] = self._certain(rows[at], demand, found, whole=scope is ZoneScope.POD)
        if self.args.discard_reserved_nodes:
            for index in np.flatnonzero(columns.known[rows]).tolist():
                if shared.is_reserved(nodes.snapshot.names[int(rows[index])]):
                    codes[index] = _NOT_FRESH
        return Verdicts(codes, self._table)

    def _certain(self, rows: Rows, demand: ZoneDemand, codes: Codes, *, whole: bool) -> Codes:
        """The codes without those of nodes where some zone has room wherever the pending pods get theirs."""
        at = np.flatnonzero(codes)
        if len(at):
            zones = self.columns.of(rows[at], self.columns.resources)
            offered = partial(self.columns.offered, rows=rows[at])
            codes[at] = np.where(fits_anyway(zones, demand, whole=whole, offered=offered), ALIGNED, codes[at])
        return codes

    def filter_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """Changes with the reports, and with what is being bound."""
        return self._shared.epoch

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips the score as long as there is no NodeResourceTopology."""
        return None if self._shared.reports and self.concerns(pod) else _SKIP

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """Scores nodes by the strategy; every node is as good as any other for a pod that shares its resources."""
        demand = self._demands.of(pod)
        if not demand.guaranteed:
            return np.full(len(nodes), MAX_NODE_SCORE, np.int64)
        scores = np.zeros(len(nodes), np.int64)
        columns = self.columns
        columns.refresh()
        rows = nodes.indices()
        scored = columns.known[rows]
        if self._strategy is not None:
            scored &= columns.policy[rows] == ZonePolicy.SINGLE_NUMA_NODE
        for scope in ZoneScope:
            at = np.flatnonzero(scored & (columns.scope[rows] == scope))
            if len(at):
                scores[at] = self._score(rows[at], demand, whole=scope is ZoneScope.POD)
        return scores

    def score_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """Changes with the reports."""
        return self._shared.reports.revision

    def _score(self, rows: Rows, demand: ZoneDemand, *, whole: bool) -> Scores:
        columns = self.columns
        zones = columns.of(rows, demand.resources)
        if self._strategy is None:
            return by_fewest(zones, columns.distances(rows), demand, whole=whole)
        return by_zones(zones, demand, self._strategy, self._weights, whole=whole)

    # Following.

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Notes the node of a pod that is being bound, if such nodes are left alone."""
        if self.args.discard_reserved_nodes:
            self._shared.reserve(pod, node_name)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """The node may be used again."""
        self._shared.release(pod, node_name)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Follows NodeResourceTopologies."""
        before, after = (each if isinstance(each, NodeResourceTopology) else None for each in (old, new))
        self._shared.reports.topology_changed(before, after)

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Follows the pods of nodes; a node to which a pod was bound may be used again."""
        self._shared.reports.pod_changed(old, new)
        pod = new or old
        if pod is not None and pod.node_name:
            self._shared.release(pod, pod.node_name)

    # Waking.

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Reports, pods that leave or become known to a report, and nodes."""
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_SCALE_DOWN | Action.UPDATE_OTHER
        events: tuple[ClusterEvent, ...] = (
            ClusterEvent(TOPOLOGIES, Action.ADD | Action.UPDATE | Action.DELETE),
            ClusterEvent(EventResource.ASSIGNED_POD, pods),
            ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
        )
        return [EventRegistration(event, self._may_fit, by_signature=True, of_gated=False) for event in events]

    def _may_fit(self, pod: PodInfo, old: object | None, new: object | None) -> Hint:
        """QUEUE if the node that the event is about can align the pod now, or may after evictions."""
        about = new if new is not None else old
        name = about.node_name if isinstance(about, PodInfo) else ""
        if isinstance(about, Node | NodeResourceTopology):
            name = about.metadata.name
        if not name:
            return Hint.QUEUE
        row = self.handle.snapshot.live_row_of(name)
        if row is None:
            return Hint.SKIP
        view = NodeView(self.handle.snapshot, np.array([row], np.intp))
        if not self.filter(CycleState(), pod, view).codes[0]:
            return Hint.QUEUE
        return Hint.queue_if(any(each.priority < pod.priority for each in self.handle.snapshot.pods[row].values()))
