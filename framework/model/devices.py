"""Objects of resource.k8s.io/v1: claims for devices, classes of devices, and the slices in which drivers publish them.

Opaque configuration of drivers is kept as plain data: an allocation hands it on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .integers import Int64
from .meta import ObjectMeta, OwnerReference, Wire
from .pod import NodeSelector
from .quantity import Quantity
from .times import Time

DEVICES_API = "/apis/resource.k8s.io/v1"
FINALIZER = "resource.kubernetes.io/delete-protection"
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
CLASS_RESOURCE_PREFIX = "deviceclass.resource.kubernetes.io/"
EXACT_COUNT, ALL = "ExactCount", "All"
MAX_RESULTS = 32
"""Devices in one claim's allocation (AllocationResultsMaxSize)."""
MAX_ALTERNATIVES = 8
"""Alternatives of one request (FirstAvailableDeviceRequestMaxSize)."""


class CELSelector(Wire):
    """`selectors[].cel`."""

    expression: str = ""


class DeviceSelector(Wire):
    """`selectors[]`: what a device must meet."""

    cel: CELSelector | None = None


class DeviceTaint(Wire):
    """`taints[]` of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""


class DeviceToleration(Wire):
    """`tolerations[]` of a request; an allocation repeats them."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Wire):
    """How much of a shared device is wanted, by name of the capacity."""

    requests: dict[str, Quantity] = msgspec.field(default_factory=dict)


class ExactDeviceRequest(Wire):
    """`exactly`: so many devices of a class."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: Int64 = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(ExactDeviceRequest):
    """`firstAvailable[]`: an alternative."""

    name: str = ""


class DeviceRequest(Wire):
    """`requests[]`: devices, or a list of alternatives of which the first that can be had counts."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Wire):
    """`constraints[]`: an attribute that devices of these requests (of all, when empty) have alike, or each its own."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Wire):
    """`config[]` of a claim or class."""

    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceClaim(Wire):
    """`spec.devices` of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Wire):
    """`spec` of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Wire):
    """`results[]`: a device that was allocated for a request, or for an alternative (`request/alternative`)."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] | None = None
    skip_node_operations: tuple[Any, ...] = ()


class DeviceAllocationConfiguration(Wire):
    """`config[]` of an allocation, with where it comes from."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceAllocationResult(Wire):
    """`allocation.devices`."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Wire):
    """`status.allocation`: the devices, and the nodes on which they can be used (None: on all)."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: Time | None = None


class ConsumerReference(Wire):
    """`status.reservedFor[]`."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Wire):
    """A condition that a driver reports of an allocated device."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Wire):
    """`status.devices[]`: what a driver reports of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Wire):
    """`status` of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ClaimMeta(ObjectMeta):
    """`metadata` of a claim."""

    generate_name: str = ""
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class ResourceClaim(Wire):
    """A claim for devices."""

    metadata: ClaimMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.metadata.key

    @property
    def allocation(self) -> AllocationResult | None:
        """The claim's allocation."""
        return self.status.allocation

    def reserved_for(self, uid: str) -> bool:
        """Whether the object with this UID may use what is allocated."""
        return any(consumer.uid == uid for consumer in self.status.reserved_for)


class DeviceClassSpec(Wire):
    """`spec` of a class."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Wire):
    """A class of devices."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceAttribute(Wire):
    """A typed value; one field is set."""

    int_: Int64 | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class CapacityRange(Wire):
    """`validRange` of a capacity's policy."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityPolicy(Wire):
    """`requestPolicy`: what amounts of a capacity can be had, and how much when none is asked for."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Wire):
    """A capacity of a device."""

    value: Quantity = "0"
    request_policy: CapacityPolicy | None = None


class DeviceCounter(Wire):
    """An amount of a counter."""

    value: Quantity = "0"


class CounterSet(Wire):
    """`sharedCounters[]`: what devices of a pool share."""

    name: str = ""
    counters: dict[str, DeviceCounter] = msgspec.field(default_factory=dict)


class CounterConsumption(Wire):
    """`consumesCounters[]`: what an allocated device takes of a counter set."""

    counter_set: str = ""
    counters: dict[str, DeviceCounter] = msgspec.field(default_factory=dict)
    compatibility_groups: tuple[str, ...] = ()


class Device(Wire):
    """A device. Node name, selector and `all_nodes` count where the slice selects nodes per device."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(Wire):
    """`spec.pool` of a slice: which pool it is part of, and how many slices that has in this generation."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Wire):
    """`spec` of a slice."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool = False
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Wire):
    """Some devices of a pool, or counters that they share."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceTaintSelector(Wire):
    """`spec.deviceSelector` of a rule: fields that are set must match; with none every device does."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Wire):
    """`spec` of a rule."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Wire):
    """Taints devices that a driver published without."""

    metadata: ObjectMeta
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
