"""NodeUnschedulable: cordoned nodes take only pods that tolerate the cordon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.framework.authoring import PerSignature
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
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.model.node import CORDON, Node, tolerated
from muster.framework.model.pod_info import PodInfo

CORDONED = Status.unresolvable("node(s) were unschedulable")


class NodeUnschedulable(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Filters by `spec.unschedulable` of the node."""

    name = "NodeUnschedulable"
    filter_depends_on = DependsOn.NODE

    _table = StatusTable([CORDONED])

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._tolerates_cordon = PerSignature(_tolerates_cordon)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Cordoned nodes fail unless the pod tolerates it."""
        if self._tolerates_cordon.of(pod):
            return Verdicts.all_pass(len(nodes), self._table)
        return Verdicts(nodes.of(nodes.snapshot.unschedulable).astype(np.int32), self._table)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """A node that comes uncordoned or is uncordoned, and the pod coming to tolerate a cordon."""
        return [
            EventRegistration(
                ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), _uncordoned, by_signature=True
            ),
            EventRegistration(
                ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_TOLERATION),
                _now_tolerates_cordon,
                by_signature=True,
            ),
        ]


def _tolerates_cordon(pod: PodInfo) -> bool:
    return tolerated(CORDON, pod.pod.spec.tolerations)


def _uncordoned(pod: PodInfo, old: object, new: object) -> Hint:
    was_cordoned = not isinstance(old, Node) or old.spec.unschedulable
    is_cordoned = isinstance(new, Node) and new.spec.unschedulable
    return Hint.queue_if(was_cordoned and not is_cordoned)


def _now_tolerates_cordon(pod: PodInfo, old: object, new: object) -> Hint:
    return Hint.queue_if(isinstance(new, PodInfo) and _tolerates_cordon(new))
