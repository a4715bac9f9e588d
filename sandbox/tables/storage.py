"""The columns of volumes, claims, storage drivers, and of devices and their claims."""

from muster.framework.model.times import age
from muster.sandbox.objects import Object, get_in, metadata
from muster.sandbox.tables.columns import AGE, NAME, NONE, UNSET, Column, count, field, joined, phase, wide

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


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


def _claim_state(claim: Object, now: float) -> str:
    status, deleted = claim.get("status") or {}, bool(metadata(claim).get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    elif not deleted:
        states.append("pending")
    return ",".join(states)


def _time_added(rule: Object, now: float) -> str:
    return age(get_in(rule, ("spec", "taint", "timeAdded")), now)


def _audiences(driver: Object, now: float) -> str:
    requests = driver["spec"].get("tokenRequests") or ()
    return ",".join(request.get("audience", "") for request in requests) or UNSET


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
VOLUME_ATTACHMENTS = (
    NAME,
    Column("Attacher", field("spec.attacher")),
    Column("PV", field("spec.source.persistentVolumeName")),
    Column("Node", field("spec.nodeName")),
    Column("Attached", field("status.attached", absent=False), "boolean"),
    AGE,
)
CSI_NODES = (NAME, Column("Drivers", count("spec.drivers"), "integer"), AGE)
CSI_DRIVERS = (
    NAME,
    Column("AttachRequired", field("spec.attachRequired", absent=True), "boolean"),
    Column("PodInfoOnMount", field("spec.podInfoOnMount", absent=False), "boolean"),
    Column("StorageCapacity", field("spec.storageCapacity", absent=False), "boolean"),
    Column("TokenRequests", _audiences),
    Column("RequiresRepublish", field("spec.requiresRepublish", absent=False), "boolean"),
    Column("Modes", joined("spec.volumeLifecycleModes", NONE)),
    AGE,
)
RESOURCE_CLAIMS = (NAME, Column("State", _claim_state), AGE)
DEVICE_TAINT_RULES = (
    NAME,
    Column("Key", field("spec.taint.key")),
    Column("Value", field("spec.taint.value")),
    Column("Effect", field("spec.taint.effect")),
    Column("TimeAdded", _time_added),
    AGE,
)
RESOURCE_SLICES = (
    NAME,
    Column("Node", field("spec.nodeName")),
    Column("Driver", field("spec.driver")),
    Column("Pool", field("spec.pool.name")),
    AGE,
)
