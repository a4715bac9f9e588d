"""Volumes, claims and storage classes: the defaults that a scheduler reads, and the state they start in."""

from collections.abc import Iterator

from muster.sandbox.errors import REQUIRED, InvalidField
from muster.sandbox.objects import Object, get_in, with_defaults


def complete_volume(volume: Object) -> Object:
    """A persistent volume with its defaults."""
    defaults = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
    spec = with_defaults(volume.get("spec"), defaults)
    if spec.get("hostPath"):
        spec["hostPath"] = with_defaults(spec["hostPath"], {"type": ""})
    return volume | {"spec": spec}


def begin_volume(volume: Object, now: str) -> Object:
    """A persistent volume as it is when just created. No finalizer protects it, as nothing here would remove one."""
    return volume | {"status": {"phase": "Pending", "lastPhaseTransitionTime": now}}


def complete_claim(claim: Object) -> Object:
    """A claim with its defaults."""
    return claim | {"spec": with_defaults(claim.get("spec"), {"volumeMode": "Filesystem"})}


def begin_claim(claim: Object, now: str) -> Object:
    """A claim as it is when just created."""
    return claim | {"status": {"phase": "Pending"}}


def validate_volume(volume: Object) -> Iterator[InvalidField]:
    """A volume has a size and says how it can be mounted."""
    for field in ("accessModes", "capacity"):
        if not volume["spec"].get(field):
            yield InvalidField(REQUIRED, f"spec.{field}")


def validate_claim(claim: Object) -> Iterator[InvalidField]:
    """A claim asks for a size and says how it wants to mount."""
    if not claim["spec"].get("accessModes"):
        yield InvalidField(REQUIRED, "spec.accessModes", "at least 1 access mode is required")
    if get_in(claim, ("spec", "resources", "requests", "storage")) is None:
        yield InvalidField(REQUIRED, "spec.resources[storage]")


def complete_class(storage_class: Object) -> Object:
    """A storage class with its defaults."""
    return with_defaults(storage_class, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


def validate_class(storage_class: Object) -> Iterator[InvalidField]:
    """A storage class names its provisioner."""
    if not storage_class.get("provisioner"):
        yield InvalidField(REQUIRED, "provisioner")


def begin_attachment(attachment: Object, now: str) -> Object:
    """An attachment as it is when just created."""
    return attachment | {"status": {"attached": False}}


def complete_csi_node(node: Object) -> Object:
    """A CSI node, which says of each driver what topology it knows, even if none."""
    drivers = [{"topologyKeys": None} | driver for driver in (node.get("spec") or {}).get("drivers") or ()]
    return node | {"spec": {"drivers": drivers}}


def begin_csi_node(node: Object, now: str) -> Object:
    """A CSI node as it is when just created."""
    return node | {"status": {}}


def complete_driver(driver: Object) -> Object:
    """A CSI driver with its defaults."""
    defaults = {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "preventPodSchedulingIfMissing": False,
        "seLinuxMount": False,
    }
    return driver | {"spec": with_defaults(driver.get("spec"), defaults)}
