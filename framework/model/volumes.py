"""Storage objects of the API, as far as scheduling reads them.

The volume plugins watch them and decide by them; nothing else in the engine knows of them.
"""

from __future__ import annotations

import msgspec

from .integers import Int32
from .label_selector import LabelSelector
from .meta import ObjectMeta, OwnerReference, Wire
from .pod import NodeSelector
from .quantity import Quantity
from .volume_sources import VolumeSources


class StorageMeta(ObjectMeta):
    """`metadata` with annotations, by which the controllers of volumes talk to each other."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()


class ClaimReference(Wire):
    """`spec.claimRef`: the claim that a volume is bound to or kept for; without a UID any of that name."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Wire):
    """`spec.nodeAffinity`: the nodes that can reach a volume; by their labels alone."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(VolumeSources):
    """`spec`."""

    capacity: dict[str, Quantity] = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None


class PhaseStatus(Wire):
    """`status` of volumes and claims."""

    phase: str = ""


class PersistentVolume(Wire):
    """A piece of storage."""

    metadata: StorageMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PhaseStatus = PhaseStatus()


class VolumeResources(Wire):
    """`spec.resources` of a claim."""

    requests: dict[str, Quantity] = msgspec.field(default_factory=dict)


class PersistentVolumeClaimSpec(Wire):
    """`spec`."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResources = VolumeResources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(Wire):
    """A request for storage, and once it is bound the way to the volume."""

    metadata: StorageMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PhaseStatus = PhaseStatus()


class TopologySelectorRequirement(Wire):
    """A label of which a node must have one of these values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Wire):
    """Labels that must all be right; a term without any picks nothing."""

    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(Wire):
    """How volumes of a class are made, when they are bound, and where they may be."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Wire):
    """How many volumes a driver can have on a node; None for any number."""

    count: Int32 | None = None


class CSINodeDriver(Wire):
    """A driver that runs on a node."""

    name: str = ""
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Wire):
    """`spec`."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Wire):
    """The CSI drivers of the node with this name."""

    metadata: StorageMeta
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Wire):
    """`spec`."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriverMeta(ObjectMeta):
    """Metadata with the driver's name."""


class CSIDriver(Wire):
    """A CSI driver, and what it wants of a scheduler."""

    metadata: CSIDriverMeta
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Wire):
    """How much storage of a class there is for the nodes of a topology."""

    metadata: ObjectMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class AttachmentSource(Wire):
    """`spec.source`."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire):
    """`spec`."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Wire):
    """A volume that a driver attaches to a node."""

    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
