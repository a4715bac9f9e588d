"""PreBind: writes the decision about a pod's claims to the API, and reverts it (upstream: `bindClaim`).

Claims are patched with the version on which the patch is based, so fields that Muster does not know stay unchanged. If
the answer to a patch is lost, the claim may or may not have the devices, and the watch may be late; so the claim is
read before any other claim may get them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Any

import msgspec

from muster.framework.contract import (
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    ApiError,
    Clock,
    DevicesResult,
    Handle,
    PodInfo,
    Status,
    pod_path,
)
from muster.framework.model.devices import (
    DEVICES_API,
    EXTENDED_RESOURCE_CLAIM,
    FINALIZER,
    AllocationResult,
    ConsumerReference,
    ResourceClaim,
)
from muster.framework.model.times import rfc3339

from .claiming import Claiming
from .extended import Mapping, in_memory
from .readiness import TIMED_OUT, allocated_devices, failure, has_conditions, ready, result_of, timed_out
from .tracker import ClaimTracker

log = logging.getLogger(__name__)

_CONFLICT, _NOT_FOUND = 409, 404
_UNSURE = (0, 500, 504)
"""Statuses after which the write may have taken effect; 0 stands for no answer."""
_TRIES = 5
_LOOKS = 20
_LOOK_SECONDS = 1.0
_POLL_SECONDS = 5.0


class ClaimBindingFailed(Exception):
    """Raised if a claim cannot be bound; the text is for users."""


class ClaimWriter:
    """Writes claims for one profile."""

    def __init__(self, claims: ClaimTracker, handle: Handle, binding_seconds: float) -> None:
        self._claims = claims
        self._handle = handle
        self._binding_seconds = binding_seconds

    async def bind(self, pod: PodInfo, claiming: Claiming, node_name: str) -> Status | None:
        """Allocate and reserve the pod's claims, then wait until their devices are ready."""
        plan = claiming.plan
        try:
            for at, claim in enumerate(claiming.claims):
                written = {claiming.claims[other].metadata.uid for other in claiming.written}
                if claim.metadata.uid in written:
                    continue
                if claim.reserved_for(pod.uid):
                    claiming.written.add(at)
                elif not claim.reserved_for(claiming.consumers[at].uid):
                    await self._bind(pod, claiming, at)
            await self._until_ready(pod, claiming, node_name)
        except (ApiError, ClaimBindingFailed) as error:
            return Status.failure(str(error))
        if plan is not None:
            for uid in plan.uids.values():
                self._claims.written(uid)
        return None

    async def take_back(self, pod: PodInfo, claims: Iterable[ResourceClaim]) -> None:
        """Revert the writes for a pod that is not bound: its reservations, and its claim for extended resources."""
        for claim in claims:
            if is_extended(claim):
                await self.delete(claim)
                continue
            patch = {
                "metadata": {"uid": claim.metadata.uid},
                "status": {"reservedFor": [{"$patch": "delete", "uid": pod.uid}]},
            }
            await self._quietly(self._patch(claim, patch, "/status", STRATEGIC_MERGE_PATCH), claim)

    async def leave(self, claim: ResourceClaim, consumer: str) -> None:
        """Remove the reservation for this UID from the claim, unless the claim has changed since."""
        left = [each for each in claim.status.reserved_for if each.uid != consumer]
        patch = _at(claim) | {"status": {"reservedFor": left or None}}
        await self._quietly(self._patch(claim, patch, "/status"), claim)

    async def deallocate(self, claim: ResourceClaim) -> None:
        """Deallocate a claim that is not in use."""
        patch = _at(claim) | {"status": {"allocation": None, "reservedFor": None, "devices": None}}
        await self._quietly(self._patch(claim, patch, "/status"), claim)

    async def delete(self, claim: ResourceClaim) -> None:
        """Delete a claim that the scheduler made."""
        await self._quietly(self._delete(claim), claim)

    async def _bind(self, pod: PodInfo, claiming: Claiming, at: int) -> None:
        claim, plan = claiming.claims[at], claiming.plan
        allocation = None if plan is None else plan.allocations.get(at)
        made = at == claiming.extended and in_memory(claim)
        if made:
            if plan is None or allocation is None or not plan.claim(at).spec.devices.requests:
                return
            claim = claiming.claims[at] = await self._create(plan.claim(at))
            claiming.written.add(at)
        bound = await self._reserve(self._latest(claim), allocation, claiming.consumers[at])
        claiming.claims[at] = bound
        claiming.written.add(at)
        self._claims.saw(bound)
        if made and plan is not None:
            await self._write_claim_status(pod, bound, plan.variant.mappings)

    def _latest(self, claim: ResourceClaim) -> ResourceClaim:
        """The latest known version of the claim: another pod of the group may have reserved it."""
        known = self._claims.get(claim.key)
        return claim if known is None or known.metadata.uid != claim.metadata.uid else known

    async def _reserve(
        self, claim: ResourceClaim, allocation: AllocationResult | None, consumer: ConsumerReference
    ) -> ResourceClaim:
        """The claim with the allocation and the consumer in its status; changes by others are kept."""
        for attempt in range(_TRIES):
            try:
                return await self._try_to_reserve(claim, allocation, consumer)
            except ApiError as error:
                last = attempt == _TRIES - 1
                if error.status in _UNSURE or (error.status == _CONFLICT and not last):
                    claim = await self._as_it_is(claim)
                    if claim.reserved_for(consumer.uid):
                        _check(claim, allocation)
                        return claim
                if last or error.status not in (_CONFLICT, *_UNSURE):
                    what = "reservation" if allocation is None else "allocation and reservation"
                    raise ClaimBindingFailed(f"add {what} to claim {claim.key}: {error}") from error
        raise AssertionError("the last try answers or fails")

    async def _as_it_is(self, claim: ResourceClaim) -> ResourceClaim:
        """The current version of the claim, read until there is an answer; later decisions rest on it."""
        for look in range(_LOOKS):
            try:
                found = _decode(await self._handle.api.get(_path(claim)))
            except ApiError as error:
                if error.status not in _UNSURE or look == _LOOKS - 1:
                    raise
                await _sleep(self._handle.clock, _LOOK_SECONDS)
            else:
                self._claims.saw(found)
                return found
        raise AssertionError("the last look answers or fails")

    async def _try_to_reserve(
        self, claim: ResourceClaim, allocation: AllocationResult | None, consumer: ConsumerReference
    ) -> ResourceClaim:
        _check(claim, allocation)
        if claim.reserved_for(consumer.uid):
            return claim
        known = claim.allocation
        if known is None and FINALIZER not in claim.metadata.finalizers:
            finalizers = {"finalizers": [*claim.metadata.finalizers, FINALIZER]}
            claim = await self._patch(claim, {"metadata": _at(claim)["metadata"] | finalizers})
        written = known or allocation
        if written is not None and written.allocation_timestamp is None:
            written = msgspec.structs.replace(written, allocation_timestamp=rfc3339(self._handle.clock.wall()))
        status = {"allocation": written, "reservedFor": [*claim.status.reserved_for, consumer]}
        return await self._patch(claim, _at(claim) | {"status": status}, "/status")

    async def _create(self, claim: ResourceClaim) -> ResourceClaim:
        meta = claim.metadata
        body = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": meta.generate_name,
                "namespace": meta.namespace,
                "annotations": meta.annotations,
                "finalizers": [FINALIZER],  # allocated next, it would need them in a write of its own
                "ownerReferences": meta.owner_references,
            },
            "spec": claim.spec,
        }
        try:
            created = await self._handle.api.post(_collection(claim), msgspec.json.encode(body))
        except ApiError as error:
            self._handle.metrics.resourceclaim_creates.add(("failure", "false", "", "Pod"))
            raise ClaimBindingFailed(f"create claim for extended resources {claim.key}: {error}") from error
        self._handle.metrics.resourceclaim_creates.add(("success", "false", "", "Pod"))
        return _decode(created)

    async def _write_claim_status(self, pod: PodInfo, claim: ResourceClaim, mappings: Iterable[Mapping]) -> None:
        """Write into the pod's status from which claim its extended resources come."""
        written = [
            {"containerName": each.container, "resourceName": each.resource, "requestName": each.request}
            for each in mappings
        ]
        status = {"requestMappings": written, "resourceClaimName": claim.metadata.name}
        body = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}
        path = pod_path(pod.pod.metadata, "status")
        try:
            await self._handle.api.patch(path, msgspec.json.encode(body), content_type=STRATEGIC_MERGE_PATCH)
        except ApiError as error:
            raise ClaimBindingFailed(f"update pod {pod.key} ExtendedResourceClaimStatus: {error}") from error

    async def _until_ready(self, pod: PodInfo, claiming: Claiming, node_name: str) -> None:
        """Wait for the binding conditions of devices. Raises ClaimBindingFailed when one failed or time is up."""
        if not any(map(has_conditions, claiming.claims)):
            return
        note = f"waiting for binding conditions for device on node {node_name}"
        self._handle.events.event(pod, type="Normal", reason="BindingConditionsPending", action="Scheduling", note=note)
        clock = self._handle.clock
        since = clock.now()
        result: DevicesResult = "success"
        try:
            while not self._all_ready(claiming):
                if clock.now() >= since + self._binding_seconds:
                    raise ClaimBindingFailed(f"{TIMED_OUT}: context deadline exceeded")
                await _sleep(clock, _POLL_SECONDS)
        except ClaimBindingFailed as error:
            result = result_of(str(error))
            raise
        finally:
            self._handle.metrics.devices_awaited(
                result,
                profile=pod.pod.spec.scheduler_name,
                drivers=[each.driver for each in allocated_devices(claiming.claims)],
                conditional=[each.driver for each in allocated_devices(claiming.claims) if each.binding_conditions],
                seconds=clock.now() - since,
            )

    def _all_ready(self, claiming: Claiming) -> bool:
        for at, claim in enumerate(claiming.claims):
            if in_memory(claim):
                continue
            now = self._claims.get(claim.key)
            if now is None:
                raise ClaimBindingFailed(f'could not find ResourceClaim "{claim.key}"')
            claiming.claims[at] = now
            if said := failure(now):
                raise ClaimBindingFailed(said)
            if not ready(now):
                if timed_out(now, self._handle.clock.wall(), self._binding_seconds):
                    raise ClaimBindingFailed(f"{TIMED_OUT}: claim={now.metadata.name}")
                return False
        return True

    async def _delete(self, claim: ResourceClaim) -> None:
        finalizers = [each for each in claim.metadata.finalizers if each != FINALIZER]
        await self._patch(claim, {"metadata": {"finalizers": finalizers}})
        options = msgspec.json.encode({"preconditions": {"uid": claim.metadata.uid}})
        await self._handle.api.delete(_path(claim), options)

    async def _patch(
        self, claim: ResourceClaim, patch: dict[str, Any], subresource: str = "", content_type: str = MERGE_PATCH
    ) -> ResourceClaim:
        path = _path(claim) + subresource
        return _decode(await self._handle.api.patch(path, msgspec.json.encode(patch), content_type=content_type))

    async def _quietly(self, work: Awaitable[object], claim: ResourceClaim) -> None:
        """Await work whose failure is logged and not raised: the pod's next attempt repeats it."""
        try:
            await work
        except ApiError as error:
            if error.status != _NOT_FOUND:
                log.warning("Could not give a claim back", extra={"pairs": {"claim": claim.key, "error": str(error)}})


def is_extended(claim: ResourceClaim) -> bool:
    """Whether the scheduler made the claim for extended resources."""
    return claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true"


def _check(claim: ResourceClaim, allocation: AllocationResult | None) -> None:
    """Raise ClaimBindingFailed unless the claim can have this allocation or, where that is None, still has its own."""
    known = claim.allocation
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimBindingFailed(f"claim {claim.key} got deleted in the meantime")
    if allocation is None and known is None:
        raise ClaimBindingFailed(f"claim {claim.key} got deallocated elsewhere in the meantime")
    if allocation is not None and known is not None and known.devices != allocation.devices:
        raise ClaimBindingFailed(f"claim {claim.key} got allocated elsewhere in the meantime")


def _at(claim: ResourceClaim) -> dict[str, Any]:
    """The part of a patch that makes it go by this version of this claim."""
    return {"metadata": {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}}


def _collection(claim: ResourceClaim) -> str:
    return f"{DEVICES_API}/namespaces/{claim.metadata.namespace}/resourceclaims"


def _path(claim: ResourceClaim) -> str:
    return f"{_collection(claim)}/{claim.metadata.name}"


def _decode(body: bytes) -> ResourceClaim:
    return msgspec.json.decode(body, type=ResourceClaim)


async def _sleep(clock: Clock, seconds: float) -> None:
    over = asyncio.Event()
    timer = clock.call_later(seconds, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()
