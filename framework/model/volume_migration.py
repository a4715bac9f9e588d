"""In-tree volumes that CSI drivers have taken over: which driver, under which handle, and where the volume can be used.

On nodes where the driver serves the volumes, volume limits and the node affinity of persistent volumes use the driver's
terms. The rules are those of `k8s.io/csi-translation-lib`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from .pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Volume
from .volume_sources import VolumeSources
from .volumes import CSINode, PersistentVolume, VolumeNodeAffinity

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
ZONES_DELIMITER: Final = "__"

_EBS = "kubernetes.io/aws-ebs"
_GCE = "kubernetes.io/gce-pd"
_AZURE_DISK = "kubernetes.io/azure-disk"
_CINDER = "kubernetes.io/cinder"
_PORTWORX = "kubernetes.io/portworx-volume"

DRIVERS: Final = {
    _GCE: "pd.csi.storage.gke.io",
    _EBS: "ebs.csi.aws.com",
    _CINDER: "cinder.csi.openstack.org",
    _AZURE_DISK: "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    _PORTWORX: "pxd.portworx.com",
}
"""The CSI driver for each in-tree plugin."""

_SWITCHED_ON: Final = frozenset({_EBS, _GCE, _AZURE_DISK, _CINDER, _PORTWORX})
TOPOLOGY_KEYS: Final = {
    _EBS: "topology.ebs.csi.aws.com/zone",
    _GCE: "topology.gke.io/zone",
    _CINDER: "topology.cinder.csi.openstack.org/zone",
}
_UNSPECIFIED = "UNSPECIFIED"
_NO_EBS_ID = "failed to translate Kubernetes ID to EBS Volume ID"
_EBS_ID = re.compile(r"vol-[^/]*")


class TranslationError(ValueError):
    """A volume that is not in the form that its in-tree plugin wants."""


class VolumeHandle(NamedTuple):
    """A volume as a CSI driver knows it."""

    driver: str
    name: str


def plugin_of(source: VolumeSources) -> str:
    """The in-tree plugin of the volume, if a CSI driver has taken it over; else empty."""
    return next((plugin for plugin, name in _FIELDS if getattr(source, name) is not None), "")


def served(plugin: str, csi_node: CSINode | None) -> bool:
    """Whether volumes of the in-tree plugin count as their driver's on this node."""
    return csi_node is not None and plugin in _SWITCHED_ON


def taken_over(plugin: str, csi_node: CSINode | None) -> bool:
    """Whether the node says that the driver serves the in-tree plugin's volumes there."""
    if csi_node is None or plugin not in _SWITCHED_ON:
        return False
    return plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def inline_handle(volume: Volume) -> VolumeHandle:
    """The pod's inline in-tree volume as its driver knows it.

    Raises TranslationError.
    """
    return _handle(volume, {})


def volume_handle(volume: PersistentVolume) -> VolumeHandle:
    """The in-tree persistent volume as its driver knows it.

    Raises TranslationError.
    """
    return _handle(volume.spec, volume.metadata.labels)


def node_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """Where the in-tree persistent volume can be used, in its driver's terms.

    Raises TranslationError.
    """
    volume_handle(volume)
    affinity = volume.spec.node_affinity or VolumeNodeAffinity()
    key = TOPOLOGY_KEYS.get(plugin_of(volume.spec))
    return affinity.required if key is None else _translated(affinity.required, volume.metadata.labels, key)


_FIELDS: Final = (
    (_GCE, "gce_persistent_disk"),
    (_EBS, "aws_elastic_block_store"),
    (_CINDER, "cinder"),
    (_AZURE_DISK, "azure_disk"),
    ("kubernetes.io/azure-file", "azure_file"),
    ("kubernetes.io/vsphere-volume", "vsphere_volume"),
    (_PORTWORX, "portworx_volume"),
)


def _handle(source: VolumeSources, labels: dict[str, str]) -> VolumeHandle:
    name = ""
    if source.gce_persistent_disk is not None:
        name = f"projects/{_UNSPECIFIED}/{_gce_place(labels)}/disks/{source.gce_persistent_disk.pd_name}"
    elif source.aws_elastic_block_store is not None:
        name = _ebs_id(source.aws_elastic_block_store.volume_id)
    elif source.cinder is not None:
        name = source.cinder.volume_id
    elif source.azure_disk is not None:
        kind = source.azure_disk.kind
        if kind is not None and kind.lower() != "managed":
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        name = source.azure_disk.disk_uri
    elif source.portworx_volume is not None:
        name = source.portworx_volume.volume_id
    return VolumeHandle(DRIVERS.get(plugin_of(source), ""), name)


def _ebs_id(volume_id: str) -> str:
    if not volume_id.startswith("aws://"):
        return volume_id
    try:
        name = urlsplit(volume_id).path.strip("/")
    except ValueError as error:
        raise TranslationError(f"{_NO_EBS_ID} Invalid disk name ({volume_id}): {error}") from None
    if not _EBS_ID.fullmatch(name):
        raise TranslationError(f"{_NO_EBS_ID} Invalid format for AWS volume ({volume_id})")
    return name


def _gce_place(labels: dict[str, str]) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONES_DELIMITER)
    if len(zones) == 1:
        return f"zones/{zones[0] or _UNSPECIFIED}"
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            problem = f"zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            raise TranslationError(f"failed to get region from zones: {problem}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        listed = " ".join(f"{region}:{{}}" for region in sorted(regions))
        problem = f"multiple or no regions gotten from zones, got: map[{listed}]"
        raise TranslationError(f"failed to get region from zones: {problem}")
    return f"regions/{regions.pop()}"


def _translated(required: NodeSelector | None, labels: dict[str, str], key: str) -> NodeSelector | None:
    """The volume's topology terms, with the zone under the driver's label, from the volume's labels where need be."""
    terms = required.node_selector_terms if required is not None else ()
    expressions = [each for term in terms for each in term.match_expressions]
    keys = {each.key for each in expressions}
    if ZONE in keys:
        zone = ZONE
    elif BETA_ZONE in keys:
        zone = BETA_ZONE
    else:
        zone = ZONE if ZONE in labels or BETA_ZONE not in labels else BETA_ZONE
    valued = {each.key for each in expressions if each.values}
    renamed = {zone: key} if zone in valued else {}
    if zone == BETA_ZONE and BETA_REGION in valued:
        renamed[BETA_REGION] = REGION
    added: tuple[NodeSelectorRequirement, ...] = ()
    if zone not in renamed and zone in labels:
        values = {name.strip() for name in labels[zone].split(ZONES_DELIMITER)} - {""}
        if values:
            added = (NodeSelectorRequirement(key, "In", tuple(sorted(values))),)
            terms = terms or (NodeSelectorTerm(),)
    if required is None and not added:
        return None
    return NodeSelector(tuple(_with(term, renamed, added) for term in terms))


def _with(
    term: NodeSelectorTerm, renamed: dict[str, str], added: tuple[NodeSelectorRequirement, ...]
) -> NodeSelectorTerm:
    expressions = (
        msgspec.structs.replace(each, key=renamed.get(each.key, each.key)) for each in term.match_expressions
    )
    return msgspec.structs.replace(term, match_expressions=(*expressions, *added))
