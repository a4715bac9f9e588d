"""NodeDeclaredFeatures: rejects nodes whose kubelet does not declare a feature that the pod needs.

A pod's needs are inferred from its spec; three features concern scheduling in this release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from muster.framework.authoring import PerNodeFilter, PerSignature
from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    Hint,
    Node,
    NodeInfo,
    NodeView,
    PodInfo,
    PreFilterPlugin,
    Status,
)
from muster.framework.model.pod import PodSpec

LACKING = Status.unresolvable("node(s) didn't match Pod's required features")


def _restarts_all_containers(spec: PodSpec) -> bool:
    containers = (*spec.containers, *spec.init_containers)
    return any(rule.action == "RestartAllContainers" for each in containers for rule in each.restart_policy_rules)


def _host_network_with_user_namespace(spec: PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


def _bind_mount_options(spec: PodSpec) -> bool:
    containers = (*spec.containers, *spec.init_containers)
    return any(mount.bind_mount_options for each in containers for mount in each.volume_mounts)


_FEATURES: Mapping[str, Callable[[PodSpec], bool]] = {
    "RestartAllContainersOnContainerExits": _restarts_all_containers,
    "UserNamespacesHostNetworkSupport": _host_network_with_user_namespace,
    "VolumeBindMountOptions": _bind_mount_options,
}
"""Features by name, with which pods need them."""


def required_features(spec: PodSpec) -> frozenset[str]:
    """The features that a node must declare to run a pod with this spec."""
    return frozenset(name for name, needed in _FEATURES.items() if needed(spec))


class NodeDeclaredFeatures(PreFilterPlugin[None], PerNodeFilter[None], EnqueueExtensions[None]):
    """Requires of a node every feature that the pod needs. Few pods need any, and those are asked once a node."""

    name = "NodeDeclaredFeatures"
    filter_depends_on = DependsOn.NODE

    _required = PerSignature(lambda pod: required_features(pod.pod.spec))

    def concerns(self, pod: PodInfo) -> bool:
        """Few pods need any feature."""
        return bool(self._required.of(pod))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Nothing to look at for a pod that needs nothing."""
        return None if self._required.of(pod) else Status.skip()

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Whether the node declares it all."""
        declared = node.node.status.declared_features
        return None if self._required.of(pod).issubset(declared) else LACKING

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Nodes that come or declare something else, and the pod needing something else."""
        node = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE)
        return [
            EventRegistration(node, _declares_anew, by_signature=True),
            EventRegistration(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE), _needs_changed, by_signature=True),
        ]


def _declares_anew(pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
    """A node came, or declares something else than before."""
    if old is not None and new is not None and old.status.declared_features == new.status.declared_features:
        return Hint.SKIP
    return Hint.QUEUE


def _needs_changed(pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> Hint:
    """The pod needs something else than before."""
    if old is None or new is None:
        return Hint.QUEUE
    same = required_features(old.pod.spec) == required_features(new.pod.spec)
    return Hint.SKIP if same else Hint.QUEUE
