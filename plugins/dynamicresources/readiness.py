"""Binding conditions: some devices have to be prepared before a pod can be bound, which may fail or take long."""

from __future__ import annotations

from collections.abc import Iterable

from muster.framework.contract import DevicesResult
from muster.framework.model.devices import AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim
from muster.framework.model.times import parse_time

FAILED = "device binding failed"
TIMED_OUT = "device binding timeout"


def result_of(reason: str) -> DevicesResult:
    """The result of the wait for devices, by why it failed."""
    return "timeout" if reason.startswith(TIMED_OUT) else "failure" if reason.startswith(FAILED) else "error"


def allocated_devices(claims: Iterable[ResourceClaim]) -> list[DeviceRequestAllocationResult]:
    """The devices of all claims."""
    return [each for claim in claims if claim.allocation is not None for each in claim.allocation.devices.results]


def has_conditions(claim: ResourceClaim) -> bool:
    """Whether any of the claim's devices has to be made ready."""
    return claim.allocation is not None and any(each.binding_conditions for each in claim.allocation.devices.results)


def failure(claim: ResourceClaim) -> str:
    """The failure of making a device ready; "" if there was none."""
    for result in claim.allocation.devices.results if claim.allocation is not None else ():
        status = _status(claim, result.driver, result.pool, result.device) if result.binding_conditions else None
        for condition in status.conditions if status is not None else ():
            if condition.type in result.binding_failure_conditions and condition.status == "True":
                said = f"reason={condition.reason}, message={_quoted(condition.message)}"
                return f"{FAILED}: claim={claim.metadata.name}, {said}"
        if result.binding_conditions and not _ready(status, result.binding_conditions):
            return ""
    return ""


def ready(claim: ResourceClaim) -> bool:
    """Whether all of the claim's devices are ready. One without an allocation is not."""
    return claim.allocation is not None and all(
        _ready(_status(claim, result.driver, result.pool, result.device), result.binding_conditions)
        for result in claim.allocation.devices.results
        if result.binding_conditions
    )


def timed_out(claim: ResourceClaim, now: float, timeout: float) -> bool:
    """Whether the devices were allocated too long ago. `now` is in seconds since the epoch."""
    if not has_conditions(claim) or claim.allocation is None or claim.allocation.allocation_timestamp is None:
        return False
    return parse_time(claim.allocation.allocation_timestamp) + timeout < now


def _status(claim: ResourceClaim, driver: str, pool: str, device: str) -> AllocatedDeviceStatus | None:
    wanted = driver, pool, device
    return next((each for each in claim.status.devices if (each.driver, each.pool, each.device) == wanted), None)


def _ready(status: AllocatedDeviceStatus | None, conditions: tuple[str, ...]) -> bool:
    met = {condition.type for condition in status.conditions if condition.status == "True"} if status else set()
    return met.issuperset(conditions)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
