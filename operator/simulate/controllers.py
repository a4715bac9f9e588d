"""The storage controllers of a cluster, as far as a rehearsal needs them: they give claims their volumes.

They bind a claim to its assigned volume at once, and create every volume that is needed, for any node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from muster.framework.contract import EventResource
from muster.framework.embedded.known import KnownObjects
from muster.framework.model.claims import BIND_COMPLETED, SELECTED_NODE, class_of_claim
from muster.framework.model.meta import OwnerReference, from_plain
from muster.framework.model.volume_sources import CSISource
from muster.framework.model.volumes import (
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PhaseStatus,
    StorageClass,
    StorageMeta,
)

_replace = msgspec.structs.replace


def bind_volumes(written: Any, listers: Mapping[str, KnownObjects]) -> Iterator[tuple[str, Any]]:
    """The changes that follow a write: a claim bound to its volume, or a new volume for a claim, and that claim."""
    if isinstance(written, PersistentVolume) and (reference := written.spec.claim_ref) is not None:
        claim = listers[EventResource.PERSISTENT_VOLUME_CLAIM].get(f"{reference.namespace}/{reference.name}")
        if isinstance(claim, PersistentVolumeClaim):
            yield EventResource.PERSISTENT_VOLUME_CLAIM, _bound(claim, written.metadata.name)
    elif isinstance(written, PersistentVolumeClaim) and SELECTED_NODE in written.metadata.annotations:
        made = _made_for(written, listers)
        yield EventResource.PERSISTENT_VOLUME, made
        yield EventResource.PERSISTENT_VOLUME_CLAIM, _bound(written, made.metadata.name)


def claim_from(template: Mapping[str, Any], name: str, namespace: str, owner: str = "") -> PersistentVolumeClaim:
    """The claim that a controller creates from a template, owned by the pod with UID `owner` if one is given.

    Raises FieldError for an invalid template.
    """
    metadata = template.get("metadata") or {}
    plain = {**template, "metadata": {**metadata, "name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}}
    claim = from_plain(plain, PersistentVolumeClaim)
    owners = (OwnerReference(kind="Pod", uid=owner, controller=True),) if owner else ()
    return _replace(claim, metadata=_replace(claim.metadata, owner_references=owners))


def _bound(claim: PersistentVolumeClaim, volume: str) -> PersistentVolumeClaim:
    annotations = {**claim.metadata.annotations, BIND_COMPLETED: "yes"}
    return _replace(
        claim,
        metadata=_replace(claim.metadata, annotations=annotations),
        spec=_replace(claim.spec, volume_name=volume),
        status=PhaseStatus("Bound"),
    )


def _made_for(claim: PersistentVolumeClaim, listers: Mapping[str, KnownObjects]) -> PersistentVolume:
    meta, class_name = claim.metadata, class_of_claim(claim)
    name = f"pvc-{claim.metadata.key}"
    storage_class = listers[EventResource.STORAGE_CLASS].get(class_name)
    driver = storage_class.provisioner if isinstance(storage_class, StorageClass) else ""
    spec = PersistentVolumeSpec(
        capacity=claim.spec.resources.requests,
        access_modes=claim.spec.access_modes,
        claim_ref=ClaimReference(meta.namespace, meta.name, meta.uid),
        storage_class_name=class_name,
        csi=CSISource(driver, name),
    )
    return PersistentVolume(StorageMeta(name=name, uid=name), spec, PhaseStatus("Bound"))
