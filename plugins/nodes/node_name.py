"""NodeName: a pod that names a node may run only there."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    NodeView,
    PreFilterPlugin,
    PreFilterResult,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.model.pod_info import PodInfo

OTHER_NODE = Status.unresolvable("node(s) didn't match the requested node name")


class NodeName(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Filters by `spec.nodeName`, which is no part of a pod's signature, so its verdicts are not kept."""

    name = "NodeName"

    _table = StatusTable([OTHER_NODE])

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
        """The named node alone, or nothing to do."""
        return PreFilterResult(frozenset({pod.node_name})) if pod.node_name else Status.skip()

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Only the named node passes; every node does when none is named."""
        if not pod.node_name:
            return Verdicts.all_pass(len(nodes), self._table)
        row = nodes.snapshot.row_of(pod.node_name)
        return Verdicts.where(nodes.indices() == (-1 if row is None else row), self._table)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """A new node may be the named one."""
        return [EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD))]
