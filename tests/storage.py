"""Builders of storage objects for every test, in the API's own JSON shape: `make_claim("data", size="1Gi")`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.builders import ObjectDict, require

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def make_claim(
    name: str,
    *,
    namespace: str = "default",
    storage_class: str | None = None,
    volume: str = "",
    size: str = "5Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    **spec: object,
) -> "ClaimDict":
    """A claim; with a `volume` it is bound to that, and the controller of volumes is done with it."""
    claim = ClaimDict(
        apiVersion="v1",
        kind="PersistentVolumeClaim",
        metadata={"name": name, "namespace": namespace, "uid": f"claim-{namespace}-{name}", "resourceVersion": "1"},
        spec={"accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec},
        status={"phase": "Bound" if volume else "Pending"},
    )
    if storage_class is not None:
        claim["spec"]["storageClassName"] = storage_class
    if volume:
        claim["spec"]["volumeName"] = volume
        claim.annotations(BOUND)
    return claim


def make_volume(
    name: str,
    *,
    storage_class: str = "",
    size: str = "10Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    source: Mapping[str, object] | None = None,
    **spec: object,
) -> "VolumeDict":
    """A volume without a claim, of a CSI driver unless another source is given by its API name."""
    return VolumeDict(
        apiVersion="v1",
        kind="PersistentVolume",
        metadata={"name": name, "uid": f"volume-{name}", "resourceVersion": "1"},
        spec={
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": storage_class,
            **({"csi": {"driver": "csi.example.com", "volumeHandle": name}} if source is None else source),
            **spec,
        },
        status={"phase": "Available"},
    )


def make_class(
    name: str, *, provisioner: str = "csi.example.com", waits: bool = True, topologies: Sequence[Mapping[str, Any]] = ()
) -> ObjectDict:
    """A storage class; its claims wait for their first consumer by default.

    `topologies` are the terms of which a node must meet one: labels, each with the values that will do.
    """
    terms = [
        {"matchLabelExpressions": [{"key": key, "values": values} for key, values in term.items()]}
        for term in topologies
    ]
    return ObjectDict(
        apiVersion="storage.k8s.io/v1",
        kind="StorageClass",
        metadata={"name": name, "uid": f"class-{name}", "resourceVersion": "1"},
        provisioner=provisioner,
        volumeBindingMode="WaitForFirstConsumer" if waits else "Immediate",
        **({"allowedTopologies": terms} if terms else {}),
    )


def make_csi_node(name: str, limits: Mapping[str, int | None] = {}, *, migrated: Sequence[str] = ()) -> ObjectDict:
    """The drivers on a node, each with the number of volumes it can have there (None: any)."""
    drivers = [
        {"name": driver, "nodeID": name} | ({} if count is None else {"allocatable": {"count": count}})
        for driver, count in limits.items()
    ]
    node = ObjectDict(
        apiVersion="storage.k8s.io/v1",
        kind="CSINode",
        metadata={"name": name, "uid": f"csinode-{name}", "resourceVersion": "1"},
        spec={"drivers": drivers},
    )
    return node.annotations({"storage.alpha.kubernetes.io/migrated-plugins": ",".join(migrated)}) if migrated else node


def make_csi_driver(name: str, **spec: object) -> ObjectDict:
    return ObjectDict(
        apiVersion="storage.k8s.io/v1",
        kind="CSIDriver",
        metadata={"name": name, "uid": f"driver-{name}", "resourceVersion": "1"},
        spec=dict(spec),
    )


def make_capacity(
    name: str,
    storage_class: str,
    labels: Mapping[str, str] | None,
    capacity: str | None = None,
    *,
    maximum: str | None = None,
) -> ObjectDict:
    """The free capacity of a class for nodes with these labels; None for no node's."""
    given = {"capacity": capacity, "maximumVolumeSize": maximum}
    topology = {} if labels is None else {"nodeTopology": {"matchLabels": dict(labels)}}
    return ObjectDict(
        apiVersion="storage.k8s.io/v1",
        kind="CSIStorageCapacity",
        metadata={"name": name, "namespace": "kube-system", "uid": f"capacity-{name}", "resourceVersion": "1"},
        storageClassName=storage_class,
        **topology,
        **{key: value for key, value in given.items() if value is not None},
    )


def make_attachment(name: str, node: str, volume: str, *, attacher: str = "csi.example.com") -> ObjectDict:
    return ObjectDict(
        apiVersion="storage.k8s.io/v1",
        kind="VolumeAttachment",
        metadata={"name": name, "uid": f"attachment-{name}", "resourceVersion": "1"},
        spec={"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}},
    )


class ClaimDict(ObjectDict):
    """A claim in the API's JSON shape."""

    def owned_by(self, pod: ObjectDict) -> "ClaimDict":
        """Makes it the claim of the pod's ephemeral volume."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod["metadata"]["uid"], "controller": True}
        self["metadata"]["ownerReferences"] = [owner]
        return self

    def selected(self, node: str) -> "ClaimDict":
        """Says that a volume is to be made for this node."""
        return self.annotations({"volume.kubernetes.io/selected-node": node})

    def phase(self, phase: str) -> "ClaimDict":
        self["status"]["phase"] = phase
        return self

    def deleted(self) -> "ClaimDict":
        self["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return self


class VolumeDict(ObjectDict):
    """A volume in the API's JSON shape."""

    def at(self, *requirements: Mapping[str, object]) -> "VolumeDict":
        """Adds a term of the nodes that can reach it."""
        affinity = self["spec"].setdefault("nodeAffinity", {"required": {"nodeSelectorTerms": []}})
        affinity["required"]["nodeSelectorTerms"].append({"matchExpressions": list(requirements)})
        return self

    def on(self, node: str) -> "VolumeDict":
        """Makes it local to a node."""
        return self.at(require(HOSTNAME, "In", node))

    def kept_for(self, claim: ClaimDict, *, uid: bool = True) -> "VolumeDict":
        """Keeps it for a claim, for a certain one or for any of that name."""
        meta = claim["metadata"]
        reference = {"kind": "PersistentVolumeClaim", "name": meta["name"], "namespace": meta["namespace"]}
        self["spec"]["claimRef"] = reference | ({"uid": meta["uid"]} if uid else {})
        return self

    def phase(self, phase: str) -> "VolumeDict":
        self["status"]["phase"] = phase
        return self

    def deleted(self) -> "VolumeDict":
        self["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return self
