"""The columns of the kinds that need little more than a path for each cell."""

from muster.sandbox.objects import Object, get_in
from muster.sandbox.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    count,
    field,
    joined,
    phase,
    text,
    wide,
)

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _ready_of_desired(workload: Object, now: float) -> str:
    return f"{get_in(workload, ('status', 'readyReplicas')) or 0}/{workload['spec'].get('replicas', 0)}"


def _access_modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in (modes or ()))


def _volume_modes(volume: Object, now: float) -> str:
    return _access_modes(volume["spec"].get("accessModes"))


def _claim_modes(claim: Object, now: float) -> str:
    return _access_modes(get_in(claim, ("status", "accessModes"))) if claim["spec"].get("volumeName") else ""


def _claim_capacity(claim: Object, now: float) -> str:
    return str(get_in(claim, ("status", "capacity", "storage")) or 0) if claim["spec"].get("volumeName") else ""


def _claim_of_volume(volume: Object, now: float) -> str:
    claim = volume["spec"].get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _ports(service: Object, now: float) -> str:
    ports = service["spec"].get("ports") or ()
    return ",".join(f"{port['port']}/{port['protocol']}" for port in ports) or NONE


def _selector(obj: Object, now: float) -> str:
    selector = obj["spec"].get("selector") or {}
    labels = selector.get("matchLabels", selector)
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def _of_containers(name: str) -> Cell:
    def cell(workload: Object, now: float) -> str:
        return ",".join(container[name] for container in workload["spec"]["template"]["spec"]["containers"])

    return cell


_TEMPLATE_COLUMNS = (wide("Containers", _of_containers("name")), wide("Images", _of_containers("image")))

NAMESPACES = (NAME, Column("Status", field("status.phase")), AGE)
LEASES = (NAME, Column("Holder", field("spec.holderIdentity")), AGE)
CONFIG_MAPS = (NAME, Column("Data", count("data")), AGE)
SERVICE_ACCOUNTS = (NAME, AGE)
CSI_NODES = (NAME, Column("Drivers", count("spec.drivers"), "integer"), AGE)
PRIORITY_CLASSES = (
    NAME,
    Column("Value", field("value"), "integer"),
    Column("Global-Default", field("globalDefault", absent=False), "boolean"),
    AGE,
    Column("PreemptionPolicy", field("preemptionPolicy")),
)
POD_DISRUPTION_BUDGETS = (
    NAME,
    Column("Min Available", text("spec.minAvailable", "N/A")),
    Column("Max Unavailable", text("spec.maxUnavailable", "N/A")),
    Column("Allowed Disruptions", field("status.disruptionsAllowed", 0), "integer"),
    AGE,
)
REPLICA_SETS = (
    NAME,
    Column("Desired", field("spec.replicas", 0), "integer"),
    Column("Current", field("status.replicas", 0), "integer"),
    Column("Ready", field("status.readyReplicas", 0), "integer"),
    AGE,
    *_TEMPLATE_COLUMNS,
    wide("Selector", _selector),
)
STATEFUL_SETS = (NAME, Column("Ready", _ready_of_desired), AGE, *_TEMPLATE_COLUMNS)
DEPLOYMENTS = (
    NAME,
    Column("Ready", _ready_of_desired),
    Column("Up-to-date", field("status.updatedReplicas", 0)),
    Column("Available", field("status.availableReplicas", 0)),
    AGE,
    *_TEMPLATE_COLUMNS,
    wide("Selector", _selector),
)
SERVICES = (
    NAME,
    Column("Type", field("spec.type")),
    Column("Cluster-IP", field("spec.clusterIP", NONE)),
    Column("External-IP", joined("spec.externalIPs", NONE)),
    Column("Port(s)", _ports),
    AGE,
    wide("Selector", _selector),
)
PERSISTENT_VOLUMES = (
    NAME,
    Column("Capacity", field("spec.capacity.storage")),
    Column("Access Modes", _volume_modes),
    Column("Reclaim Policy", field("spec.persistentVolumeReclaimPolicy")),
    Column("Status", phase),
    Column("Claim", _claim_of_volume),
    Column("StorageClass", field("spec.storageClassName")),
    Column("VolumeAttributesClass", field("spec.volumeAttributesClassName", UNSET)),
    Column("Reason", field("status.reason")),
    AGE,
    wide("VolumeMode", field("spec.volumeMode", UNSET)),
)
PERSISTENT_VOLUME_CLAIMS = (
    NAME,
    Column("Status", phase),
    Column("Volume", field("spec.volumeName")),
    Column("Capacity", _claim_capacity),
    Column("Access Modes", _claim_modes),
    Column("StorageClass", field("spec.storageClassName")),
    Column("VolumeAttributesClass", field("spec.volumeAttributesClassName", UNSET)),
    AGE,
    wide("VolumeMode", field("spec.volumeMode", UNSET)),
)
STORAGE_CLASSES = (
    NAME,
    Column("Provisioner", field("provisioner")),
    Column("ReclaimPolicy", field("reclaimPolicy")),
    Column("VolumeBindingMode", field("volumeBindingMode")),
    Column("AllowVolumeExpansion", field("allowVolumeExpansion", absent=False)),
    AGE,
)
CSI_STORAGE_CAPACITIES = (
    NAME,
    Column("StorageClassName", field("storageClassName")),
    Column("Capacity", field("capacity", UNSET)),
)
VOLUME_ATTACHMENTS = (
    NAME,
    Column("Attacher", field("spec.attacher")),
    Column("PV", field("spec.source.persistentVolumeName")),
    Column("Node", field("spec.nodeName")),
    Column("Attached", field("status.attached", absent=False), "boolean"),
    AGE,
)
