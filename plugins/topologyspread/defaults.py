"""Default constraints: for pods without constraints of their own that a service or a controller selects.

The plugin asks from which pods such a pod is to be spread, and passes on changes of services and controllers.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.framework.contract import EventResource, Handle, PodInfo, WatchedKind
from muster.framework.contract.arguments import PodTopologySpreadArgs
from muster.framework.model.label_selector import (
    NOTHING,
    LabelSelector,
    Selector,
    SelectorError,
    read_selector,
    with_labels,
)
from muster.framework.model.meta import OwnerReference
from muster.framework.model.pod_relations import TopologySpreadConstraint
from muster.framework.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet

from .constraint import HOSTNAME, SOFT

SERVICES = WatchedKind(EventResource.SERVICE, "/api/v1/services", Service)
_REPLICATION_CONTROLLERS = WatchedKind(
    EventResource.REPLICATION_CONTROLLER, "/api/v1/replicationcontrollers", ReplicationController
)
_REPLICA_SETS = WatchedKind(EventResource.REPLICA_SET, "/apis/apps/v1/replicasets", ReplicaSet)
_STATEFUL_SETS = WatchedKind(EventResource.STATEFUL_SET, "/apis/apps/v1/statefulsets", StatefulSet)
WATCHED = (SERVICES, _REPLICATION_CONTROLLERS, _REPLICA_SETS, _STATEFUL_SETS)

_SYSTEM = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT),
)
_CONTROLLERS: Mapping[tuple[str, str], WatchedKind] = {
    ("v1", "ReplicationController"): _REPLICATION_CONTROLLERS,
    ("apps/v1", "ReplicaSet"): _REPLICA_SETS,
    ("apps/v1", "StatefulSet"): _STATEFUL_SETS,
}


def default_constraints(args: PodTopologySpreadArgs) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints of pods that have none: the system's or those of the arguments."""
    if args.defaulting_type == "System":
        return _SYSTEM
    return tuple(
        TopologySpreadConstraint(
            max_skew=each.max_skew,
            topology_key=each.topology_key,
            when_unsatisfiable=each.when_unsatisfiable,
            min_domains=each.min_domains,
            node_affinity_policy=each.node_affinity_policy,
            node_taints_policy=each.node_taints_policy,
        )
        for each in args.default_constraints
    )


def controller_of(pod: PodInfo) -> OwnerReference | None:
    """The controller that owns the pod."""
    return next((owner for owner in pod.pod.metadata.owner_references if owner.controller), None)


class Siblings:
    """Knows what services and controllers pick.

    Attributes:
        epoch: grows whenever an answer may have become another one.
    """

    def __init__(self, handle: Handle) -> None:
        self.epoch = 0
        self._handle = handle
        self._services: dict[str, dict[str, Mapping[str, str]]] = {}

    def of(self, pod: PodInfo) -> Selector | None:
        """The selector of the pods that the pod is to be spread from; None if there is none."""
        selector = with_labels(self._picked_by_services(pod))
        owner = controller_of(pod)
        kind = _CONTROLLERS.get((owner.api_version, owner.kind)) if owner is not None else None
        if owner is not None and kind is not None:
            found = self._handle.lister(kind).get(f"{pod.namespace}/{owner.name}")
            if isinstance(found, ReplicationController):
                selector = with_labels({**self._picked_by_services(pod), **(found.spec.selector or {})})
            elif isinstance(found, (ReplicaSet, StatefulSet)):
                selector = selector.and_all(_read(found.spec.selector))
        return None if selector.empty else selector

    def follow(self, old: object | None, new: object | None) -> None:
        """A service or controller came (`old` is None), changed, or went (`new` is None)."""
        if _selection(old) == _selection(new):
            return
        self.epoch += 1
        if isinstance(old, Service) and (known := self._services.get(old.metadata.namespace)) is not None:
            known.pop(old.metadata.name, None)
            if not known:
                del self._services[old.metadata.namespace]
        if isinstance(new, Service) and new.spec.selector is not None:
            self._services.setdefault(new.metadata.namespace, {})[new.metadata.name] = new.spec.selector

    def _picked_by_services(self, pod: PodInfo) -> dict[str, str]:
        labels: dict[str, str] = {}
        for selector in self._services.get(pod.namespace, {}).values():
            if selector.items() <= pod.labels.items():
                labels.update(selector)
        return labels


def _selection(obj: object | None) -> object:
    if isinstance(obj, (Service, ReplicationController, ReplicaSet, StatefulSet)):
        return (obj.metadata.namespace, obj.metadata.name, obj.spec.selector)
    return None


def _read(selector: LabelSelector | None) -> Selector:
    try:
        return read_selector(selector)
    except SelectorError:
        return NOTHING
