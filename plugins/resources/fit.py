"""NodeResourcesFit: whether the pod's requests fit into the free resources of a node, and how well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from muster.framework.authoring import PerSignature
from muster.framework.contract import (
    Action,
    CapacityPlugin,
    ClusterEvent,
    Counts,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    Handle,
    Mask,
    NodeView,
    ObjectFollower,
    Partition,
    PlacementScorePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Scores,
    SnapshotReader,
    Verdicts,
    WatchedKind,
)
from muster.framework.contract.arguments import NodeResourcesFitArgs
from muster.framework.contract.columns import Amounts, ResourceColumns
from muster.framework.model.devices import DEVICES_API, DeviceClass
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import MAX_VALUE

from .demand import Ignored, ResourceDemand
from .device_backing import DeviceBacking, class_serves
from .fit_hints import PodDeletionHint, grew, shrank
from .scored import ScoredUse, scored_resources
from .selection import pick
from .strategies import ON_ONE, most_allocated, strategy_of

_ENOUGH = MAX_VALUE
_FEW_NODES = 8
_CLASSES = WatchedKind(EventResource.DEVICE_CLASS, f"{DEVICES_API}/deviceclasses", DeviceClass, optional=True)


class NodeResourcesFit(
    PreFilterPlugin[NodeResourcesFitArgs],
    CapacityPlugin[NodeResourcesFitArgs],
    PreScorePlugin[NodeResourcesFitArgs],
    ScorePlugin[NodeResourcesFitArgs],
    PlacementScorePlugin[NodeResourcesFitArgs],
    EnqueueExtensions[NodeResourcesFitArgs],
    ObjectFollower[NodeResourcesFitArgs],
):
    """Filters by every requested resource and by the number of pods; scores by the configured strategy."""

    name = "NodeResourcesFit"
    args_model = NodeResourcesFitArgs
    watches = (_CLASSES,)
    filter_depends_on = DependsOn.PODS_ON_NODE
    score_depends_on = DependsOn.PODS_ON_NODE

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._ignored = Ignored(args.ignored_resources, args.ignored_resource_groups)
        self._configured = args.scoring_strategy.resources
        self._strategy = strategy_of(args.scoring_strategy)
        self._on_one = ON_ONE.get(self._strategy)
        self._devices = DeviceBacking()
        self._demands = PerSignature(self._demand)
        self._uses = PerSignature(self._use)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """All that is short is named. Nothing helps on a node that would be too small even if it were empty."""
        demand = self._demands.of(pod)
        columns = nodes.snapshot.resources
        demand.arrange(columns, self._devices)
        if len(nodes) == 1 and self._fits(demand, columns, int(nodes.indices()[0])):
            return Verdicts(np.zeros(1, np.int32), demand.table)
        full: Mask = nodes.of(columns.pod_count) >= nodes.of(columns.allowed_pods)
        offered = self._offered(demand, nodes)
        short = demand.amounts > offered - pick(columns.requested, demand.selection, nodes)
        codes = np.zeros(len(nodes), np.int32)
        failing = (full | short.any(axis=0) | demand.hopeless).nonzero()[0]
        if len(failing):
            codes[failing] = demand.verdicts(full[failing], short[:, failing], offered[:, failing])
        return Verdicts(codes, demand.table)

    def capacity(self, pod: PodInfo, nodes: NodeView) -> Counts:
        """The number of such pods that the scarcest resource of each node allows."""
        demand = self._demands.of(pod)
        columns = nodes.snapshot.resources
        demand.arrange(columns, self._devices)
        if len(nodes) <= _FEW_NODES:
            return np.array([self._capacity_on(demand, columns, row) for row in nodes.indices().tolist()], np.int64)
        fitting = nodes.of(columns.allowed_pods) - nodes.of(columns.pod_count)
        if demand.hopeless:
            return np.zeros(len(nodes), np.int64)
        if len(demand.amounts):
            free = self._offered(demand, nodes) - pick(columns.requested, demand.selection, nodes)
            fitting = np.minimum(fitting, (free // demand.amounts).min(axis=0))
        counted: Counts = np.maximum(fitting, 0).astype(np.int64)
        return counted

    def _fits(self, demand: ResourceDemand, columns: ResourceColumns, row: int) -> bool:
        """Whether the pod certainly fits on one node. Sums of requests that have overflowed are left to the columns."""
        if demand.hopeless or columns.pod_count[row] >= columns.allowed_pods[row]:
            return False
        for name, wanted in demand.wanted:
            offered, used = (columns.amount(column, name, row) for column in (columns.allocatable, columns.requested))
            if used < 0 or wanted > offered - used:
                return False
        return True

    def _capacity_on(self, demand: ResourceDemand, columns: ResourceColumns, row: int) -> int:
        """How many such pods fit on one node; for a few nodes this costs less than arrays of all."""
        fitting = int(columns.allowed_pods[row] - columns.pod_count[row])
        if demand.hopeless or fitting <= 0:
            return 0
        for name, wanted in demand.wanted:
            offered = columns.amount(columns.allocatable, name, row)
            if offered or name not in self._devices:
                fitting = min(fitting, (offered - columns.amount(columns.requested, name, row)) // wanted)
        return max(fitting, 0)

    def filter_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """Changes with the resources that device classes stand for."""
        return self._devices.revision

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Follows device classes."""
        self._devices.changed(old, new)

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """The strategy's score of the node with the pod on it.

        Containers that ask for no cpu or memory count as asking for a little, on the node and in the pod.
        """
        use = self._uses.of(pod)
        if len(nodes) == 1 and self._on_one is not None and (shares := use.on_one(nodes)) is not None:
            return np.array([self._on_one(shares)], np.int64)
        used, offered = use.on(nodes)
        return self._strategy(used, offered, use.weights)

    def score_placements(self, pods: Sequence[PodInfo], domains: Partition, snapshot: SnapshotReader) -> Scores:
        """How full the nodes of the domain are together, whatever the strategy for single nodes (ScorePlacement)."""
        requests = Counter[str]()
        for signature, count in Counter(pod.signature for pod in pods).items():
            requests.update({name: amount * count for name, amount in signature.scoring.items()})
        use = ScoredUse(scored_resources(self._configured, requests))
        used, offered = use.in_domains(domains, snapshot)
        return most_allocated(used, offered, use.weights)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Pods that leave or shrink, nodes that come or grow, the pod asking for less, devices that may provide it."""
        return [
            EventRegistration(
                ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE),
                PodDeletionHint(self.handle.snapshot, self._devices, self._ignored),
                by_signature=True,
            ),
            EventRegistration(
                ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
                partial(grew, self._devices),
                by_signature=True,
            ),
            EventRegistration(
                ClusterEvent(EventResource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN), shrank, by_signature=True
            ),
            EventRegistration(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)),
            EventRegistration(ClusterEvent(_CLASSES, Action.ADD | Action.UPDATE), class_serves, by_signature=True),
        ]

    def _offered(self, demand: ResourceDemand, nodes: NodeView) -> Amounts:
        """int64, shape (offered resources, nodes): there is enough of what devices provide where the node does not."""
        offered = pick(nodes.snapshot.resources.allocatable, demand.selection, nodes)
        return np.where(demand.devices & (offered == 0), _ENOUGH, offered) if demand.has_devices else offered

    def _demand(self, pod: PodInfo) -> ResourceDemand:
        return ResourceDemand(pod.signature.requests, self._ignored)

    def _use(self, pod: PodInfo) -> ScoredUse:
        resources = scored_resources(self._configured, pod.signature.scoring)
        return ScoredUse(resources)
