"""NodePorts: two pods on one node cannot use the same host port."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    Hint,
    NodeView,
    PreFilterPlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.columns import ANY_ADDRESS
from muster.framework.model.pod_info import HostPort, PodInfo

TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Filters by host ports in use."""

    name = "NodePorts"
    filter_depends_on = DependsOn.PODS_ON_NODE

    _table = StatusTable([TAKEN])

    def concerns(self, pod: PodInfo) -> bool:
        """Pods without host ports go anywhere."""
        return bool(pod.signature.host_ports)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods without host ports."""
        return None if pod.signature.host_ports else Status.skip()

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Nodes where a wanted port is in use fail."""
        ports = nodes.snapshot.ports
        among = None if nodes.rows is None else nodes.rows.tolist()
        taken = np.zeros(len(nodes), np.bool_)
        for wanted in pod.signature.host_ports:
            conflicting = ports.conflicting_rows(wanted, among)
            if conflicting:
                taken |= nodes.mask_of(conflicting)
        return Verdicts(taken.astype(np.int32), self._table)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """A pod leaving with a port that this one wants, and new nodes."""
        return [
            EventRegistration(
                ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE), _gave_back_a_wanted_port, by_signature=True
            ),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),
        ]


def _gave_back_a_wanted_port(pod: PodInfo, old: object, new: object) -> Hint:
    given_back = old.signature.host_ports if isinstance(old, PodInfo) else ()
    clash = any(_clash(wanted, used) for wanted in pod.signature.host_ports for used in given_back)
    return Hint.queue_if(clash)


def _clash(wanted: HostPort, used: HostPort) -> bool:
    same_port = (wanted.protocol, wanted.port) == (used.protocol, used.port)
    return same_port and (wanted.ip == used.ip or ANY_ADDRESS in (wanted.ip, used.ip))
