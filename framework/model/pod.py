"""Pod objects, as far as scheduling reads them. Environment, commands and probes are never decoded, so never kept."""

from __future__ import annotations

import msgspec

from .integers import Int32, Int64
from .meta import OwnedMeta, Wire
from .pod_relations import PodAffinity, TopologySpreadConstraint
from .quantity import Quantity
from .times import Time
from .volume_sources import ISCSI, RBD, Unread, VolumeSources


class ResourceRequirements(Wire):
    """Requests and limits by resource name."""

    requests: dict[str, Quantity] = msgspec.field(default_factory=dict)
    limits: dict[str, Quantity] = msgspec.field(default_factory=dict)


class ContainerPort(Wire):
    """A port of a container; only those with a `host_port` above 0 claim something of the node."""

    host_port: Int32 = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(default="", name="hostIP")


class VolumeMount(Wire):
    """`volumeMounts[]` of a container. Names are not read, for the same reason as those of volumes."""

    bind_mount_options: tuple[str, ...] = ()


class ContainerRestartRule(Wire):
    """`restartPolicyRules[]` of a container: what is done when it ends in a certain way."""

    action: str = ""


class Container(Wire):
    """A container or init container. An init container with restartPolicy Always is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class Toleration(Wire):
    """`spec.tolerations[]`. An empty key with operator Exists matches every taint; an empty effect every effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NodeSelectorRequirement(Wire):
    """One expression over a node's labels or fields."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Wire):
    """Expressions that must all hold; a term without any matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Wire):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Wire):
    """A term that adds `weight` to a node's score."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire):
    """`spec.affinity.nodeAffinity`."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class Affinity(Wire):
    """`spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SchedulingGate(Wire):
    """`spec.schedulingGates[]`: while one is there the pod is not ready to be scheduled."""

    name: str = ""


class ImageVolumeSource(Wire):
    """An image that is mounted as a volume."""

    reference: str = ""


class ClaimSource(Wire):
    """A persistent volume claim of the pod's namespace that is mounted as a volume."""

    claim_name: str = ""


class Volume(VolumeSources):
    """`spec.volumes[]`. The claim behind an `ephemeral` one has the pod's name and the volume's."""

    name: str = ""
    image: ImageVolumeSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Unread | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None


class PodResourceClaim(Wire):
    """`spec.resourceClaims[]`: a claim by name, or a template from which one is made for the pod."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Wire):
    """`spec.schedulingGroup`: the PodGroup of scheduling.k8s.io, of the pod's namespace, that the pod belongs to."""

    pod_group_name: str | None = None


class PodSpec(Wire):
    """`spec`. Of its volumes only those are kept that scheduling looks at: not secrets, tokens and the like."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    active_deadline_seconds: Int64 | None = None
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    overhead: dict[str, Quantity] = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None

    def __post_init__(self) -> None:
        if self.volumes:
            read = tuple(volume for volume in self.volumes if volume != Volume(name=volume.name))
            msgspec.structs.force_setattr(self, "volumes", read)


POD_SCHEDULED = "PodScheduled"
"""The type of the condition that says whether a pod has a node."""
SCHEDULING_GATED = "SchedulingGated"
"""The reason of this condition of a pod that is not to be tried yet."""
UNSCHEDULABLE = "Unschedulable"
"""Its reason for a pod that fits on no node; autoscalers add nodes for this reason alone."""
SCHEDULER_ERROR = "SchedulerError"
"""Its reason for a pod whose attempt ended with an error."""
WAITING_ON_PERMIT = "WaitingOnPermit"
"""Its reason for a pod that Permit has kept on its node for long. More nodes would not help it."""
_FOR_NODES = frozenset({UNSCHEDULABLE, SCHEDULER_ERROR, WAITING_ON_PERMIT})
_UNTRIED = frozenset({SCHEDULING_GATED, "WaitingForPods", "GatedPods"})


class PodCondition(Wire):
    """`status.conditions[]`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    last_transition_time: Time | None = None


def waits_for_nodes(condition: PodCondition | None) -> bool:
    """Whether a pod is tried on nodes and has none, by its condition PodScheduled.

    Other reasons are those of pods that wait for something else first: for the end of gates or of a hold, for members
    of their gang, for quota, or for what a plugin of another package names. Autoscalers ignore such pods. An error or a
    wait at Permit does not interrupt the wait for nodes.
    """
    return condition is not None and condition.status == "False" and condition.reason in _FOR_NODES


def is_rejected(condition: PodCondition | None) -> bool:
    """Whether a pod was tried and rejected, by its condition PodScheduled: for want of nodes, of quota, or by a plugin.

    Nobody has tried a pod that has gates or whose gang lacks members.
    """
    return condition is not None and condition.status == "False" and condition.reason not in _UNTRIED


def begins_to_wait(before: PodCondition | None, after: PodCondition) -> bool:
    """Whether a wait begins as one condition PodScheduled replaces another: the first, or that for nodes."""
    return any(waits(after) and not waits(before) for waits in (is_rejected, waits_for_nodes))


class ContainerStatus(Wire):
    """The resources that the kubelet gave a container: `resources` are in force, `allocated_resources` were granted."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, Quantity] = msgspec.field(default_factory=dict)


class PodResourceClaimStatus(Wire):
    """`status.resourceClaimStatuses[]`: the claim made from a template; no name where none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Wire):
    """`status`. Its resources are what the kubelet has given to the pod as a whole."""

    phase: str = ""
    start_time: Time | None = None
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, Quantity] = msgspec.field(default_factory=dict)
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()

    def condition(self, type: str) -> PodCondition | None:
        """The condition of a type, if it is there."""
        return next((each for each in self.conditions if each.type == type), None)


class PodMeta(OwnedMeta):
    """`metadata` of a pod. Annotations are kept for plugins of other packages, which often go by them."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class Pod(Wire):
    """A pod."""

    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
