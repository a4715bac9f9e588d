"""The volume binder: writes what was reserved for a pod, and waits until the volume controllers have bound everything.

PreBind of VolumeBinding calls it. A write is valid only for the version that the decision saw; the informers report
newer versions, which also end the wait. Errors are kube-scheduler's.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from muster.framework.contract import ApiError, EventResource, Handle
from muster.framework.model.claims import BOUND_BY_CONTROLLER, SELECTED_NODE, fully_bound
from muster.framework.model.node_selector import picks
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.volume_migration import TranslationError, node_affinity, plugin_of, taken_over
from muster.framework.model.volumes import PersistentVolume, PersistentVolumeClaim

from .accessible import place_of
from .ledger import VolumeLedger
from .reserving import Binding, Provisioning, VolumeReservation
from .storage import Storage

_POLL_SECONDS = 1.0


class VolumeBindingFailed(Exception):
    """Raised if volumes were not bound; the text is for users."""


class VolumeBinder:
    """Binds volumes through the API."""

    def __init__(self, handle: Handle, storage: Storage, ledger: VolumeLedger, timeout_seconds: float) -> None:
        self._handle = handle
        self._storage = storage
        self._ledger = ledger
        self._timeout = timeout_seconds

    async def bind(self, pod: PodInfo, node_name: str, reservation: VolumeReservation) -> None:
        """Return when the pod's volumes are bound.

        Raises VolumeBindingFailed. What was written by then is marked so in the reservation.
        """
        try:
            for binding in reservation.bindings:
                await self._write_volume(binding)
            for provisioning in reservation.provisionings:
                await self._write_claim(provisioning)
        except ApiError as error:
            raise VolumeBindingFailed(str(error)) from error
        try:
            await self._wait(pod, node_name, reservation)
        except VolumeBindingFailed as error:
            raise VolumeBindingFailed(f"binding volumes: {error}") from error

    async def _write_volume(self, binding: Binding) -> None:
        volume, claim = binding.volume, binding.claim
        if binding.changed:
            reference = {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": claim.metadata.namespace,
                "name": claim.metadata.name,
                "uid": claim.metadata.uid,
                "resourceVersion": claim.metadata.resource_version,
            }
            notes = volume.metadata.annotations
            kept = {BOUND_BY_CONTROLLER: notes[BOUND_BY_CONTROLLER]} if BOUND_BY_CONTROLLER in notes else {}
            path = f"/api/v1/persistentvolumes/{volume.metadata.name}"
            patch = _patch(volume.metadata.resource_version, kept) | {"spec": {"claimRef": reference}}
            answer = await self._handle.api.patch(path, msgspec.json.encode(patch))
            binding.volume = msgspec.json.decode(answer, type=PersistentVolume)
        binding.written = True

    async def _write_claim(self, provisioning: Provisioning) -> None:
        meta = provisioning.claim.metadata
        path = f"/api/v1/namespaces/{meta.namespace}/persistentvolumeclaims/{meta.name}"
        patch = _patch(meta.resource_version, {SELECTED_NODE: meta.annotations[SELECTED_NODE]})
        answer = await self._handle.api.patch(path, msgspec.json.encode(patch))
        provisioning.claim = msgspec.json.decode(answer, type=PersistentVolumeClaim)
        provisioning.written = True

    async def _wait(self, pod: PodInfo, node_name: str, reservation: VolumeReservation) -> None:
        """Check again whenever one of the objects changes, and once a second for other changes."""
        clock = self._handle.clock
        deadline = clock.now() + self._timeout
        objects = list(_objects(reservation))
        while not self._is_bound(pod, node_name, reservation):
            left = deadline - clock.now()
            if left <= 0:
                raise VolumeBindingFailed("context deadline exceeded")
            await self._ledger.wakeups.wait(objects, min(_POLL_SECONDS, left))

    def _is_bound(self, pod: PodInfo, node_name: str, reservation: VolumeReservation) -> bool:
        """Whether all volumes are bound according to the API. Raises VolumeBindingFailed if that will never be so."""
        snapshot = self._handle.snapshot
        row = snapshot.live_row_of(node_name)
        if row is None:
            raise VolumeBindingFailed(f'failed to get node "{node_name}": node "{node_name}" not found')
        if pod.uid not in snapshot.pods[row]:
            raise VolumeBindingFailed(f'pod does not exist any more: pod "{pod.name}" not found')
        return all(self._has_its_volume(binding, node_name) for binding in reservation.bindings) and all(
            self._was_provisioned(provisioning, node_name) for provisioning in reservation.provisionings
        )

    def _has_its_volume(self, binding: Binding, node_name: str) -> bool:
        name, key = binding.volume.metadata.name, binding.claim.metadata.key
        volume = self._ledger.volumes.stored(name)
        if volume is None:
            raise VolumeBindingFailed(f"failed to check binding: {self._ledger.volumes.not_found(name)}")
        claim = self._ledger.claims.stored(key)
        if claim is None:
            raise VolumeBindingFailed(f"failed to check binding: {self._ledger.claims.not_found(key)}")
        if _older(volume.metadata.resource_version, binding.volume.metadata.resource_version):
            return False
        self._check_place(volume, node_name, "failed to translate pv to csi: ")
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise VolumeBindingFailed(f'ClaimRef got reset for pv "{name}"')
        return fully_bound(claim)

    def _was_provisioned(self, provisioning: Provisioning, node_name: str) -> bool:
        asked = provisioning.claim.metadata
        claim = self._ledger.claims.stored(provisioning.claim.metadata.key)
        if claim is None:
            missing = self._ledger.claims.not_found(provisioning.claim.metadata.key)
            raise VolumeBindingFailed(f"failed to check provisioning pvc: {missing}")
        if _older(claim.metadata.resource_version, asked.resource_version):
            return False
        if not claim.metadata.annotations:
            raise VolumeBindingFailed(f'selectedNode annotation reset for PVC "{asked.name}"')
        if claim.metadata.annotations.get(SELECTED_NODE) != node_name:
            raise VolumeBindingFailed(f'provisioning failed for PVC "{asked.name}"')
        if claim.spec.volume_name:
            volume = self._ledger.volumes.stored(claim.spec.volume_name)
            if volume is None:
                return False
            self._check_place(volume, node_name, "")
        return fully_bound(claim)

    def _check_place(self, volume: PersistentVolume, node_name: str, in_translation: str) -> None:
        """Raise VolumeBindingFailed unless the volume can be used on the node."""
        affinity = volume.spec.node_affinity
        required = None if affinity is None else affinity.required
        if taken_over(plugin_of(volume.spec), self._storage.csi_node(node_name)):
            try:
                required = node_affinity(volume)
            except TranslationError as error:
                raise VolumeBindingFailed(f"{in_translation}could not translate pv: {error}") from error
        place = place_of(None if required is None else required.node_selector_terms)
        snapshot = self._handle.snapshot
        node = snapshot.nodes[snapshot.row_of(node_name) or 0]
        labels = {} if node is None else node.metadata.labels
        if place is not None and not any(picks(term, labels, "") for term in place):
            where = f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node_name}"'
            raise VolumeBindingFailed(f"{where}: no matching NodeSelectorTerms")


def _patch(resource_version: str, annotations: dict[str, str]) -> dict[str, object]:
    """A merge patch that fails if the object no longer has this version."""
    return {"metadata": {"resourceVersion": resource_version, "annotations": annotations}}


def _objects(reservation: VolumeReservation) -> Iterable[tuple[str, str]]:
    for binding in reservation.bindings:
        yield EventResource.PERSISTENT_VOLUME, binding.volume.metadata.name
        yield EventResource.PERSISTENT_VOLUME_CLAIM, binding.claim.metadata.key
    for provisioning in reservation.provisionings:
        yield EventResource.PERSISTENT_VOLUME_CLAIM, provisioning.claim.metadata.key


def _older(version: str, than: str) -> bool:
    """Whether a version is older than another. Versions are growing numbers; other texts are not compared."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)
