"""Extended resources that device classes back: a pod's requests by name become requests of a claim.

One claim is created for all of them and belongs to the pod. Which resources it covers depends on the node: a resource
that a device plugin offers there belongs to NodeResourcesFit (upstream: `extendeddynamicresources`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from muster.framework.model.devices import (
    CLASS_RESOURCE_PREFIX,
    EXTENDED_RESOURCE_CLAIM,
    ClaimMeta,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from muster.framework.model.meta import OwnerReference
from muster.framework.model.names import is_extended_resource
from muster.framework.model.pod import Container
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import NANO_PER_UNIT, nanos

from .classes import DeviceClasses

IN_MEMORY = "<extended-resources>"
"""The name of the claim until the API server gives it one. It cannot be that of any other claim."""


class Mapping(NamedTuple):
    """Which request of the claim a container's resource comes from."""

    container: str
    resource: str
    request: str


class _Part(NamedTuple):
    """The part of one container: a request of its own, if any, and where its resource comes from."""

    request: DeviceRequest | None
    mappings: list[Mapping]


def is_dra_resource(name: str) -> bool:
    """Whether a resource of this name may be backed by devices."""
    return is_extended_resource(name) or name.startswith(CLASS_RESOURCE_PREFIX)


def asks_for_devices(pod: PodInfo) -> bool:
    """Whether the pod requests a resource that devices may back."""
    return any(amount and is_dra_resource(name) for name, amount in pod.signature.requests.items())


def resources_of(pod: PodInfo) -> list[str]:
    """The resources the pod asks for that devices may back, in order of their names."""
    return sorted(name for name, amount in pod.signature.requests.items() if amount and is_dra_resource(name))


def backed(resources: Iterable[str], classes: DeviceClasses) -> bool:
    """Whether a device class stands for one of the resources."""
    return any(classes.of_resource(resource) is not None for resource in resources)


def claim_for(pod: PodInfo) -> ResourceClaim:
    """The pod's claim, without requests yet."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    return ResourceClaim(
        ClaimMeta(
            name=IN_MEMORY,
            namespace=pod.namespace,
            uid=f"{pod.uid}{IN_MEMORY}",
            generate_name=f"{pod.name}-extended-resources-",
            annotations={EXTENDED_RESOURCE_CLAIM: "true"},
            owner_references=(owner,),
        )
    )


def in_memory(claim: ResourceClaim) -> bool:
    """Whether the claim is one that the API does not have."""
    return claim.metadata.name == IN_MEMORY


def requests_and_mappings(
    pod: PodInfo, resources: Collection[str], classes: DeviceClasses
) -> tuple[DeviceClaim, tuple[Mapping, ...]]:
    """The claim's requests that provide these resources by devices, and which container gets which."""
    spec = pod.pod.spec
    containers = (*spec.init_containers, *spec.containers)
    passing = [at for at, each in enumerate(spec.init_containers) if each.restart_policy != "Always"]
    staying = [at for at in range(len(containers)) if at not in passing]
    requests: list[DeviceRequest] = []
    mappings: list[Mapping] = []
    for resource in sorted(resources):
        of_class = classes.of_resource(resource)
        if of_class is None:
            continue
        parts = {at: _part(at, containers[at], resource, of_class.metadata.name, reusable=()) for at in staying}
        own = [parts[at].request if at in parts else None for at in range(len(containers))]
        before = [_part(at, containers[at], resource, of_class.metadata.name, reusable=own[at:]) for at in passing]
        largest = _largest(before)
        requests += [request for request in (largest, *own) if request is not None]
        mappings += [mapping for part in parts.values() for mapping in part.mappings]
        mappings += _renamed(before, largest)
    requests.sort(key=lambda request: request.name)
    return DeviceClaim(tuple(requests)), tuple(mappings)


def _part(
    at: int, container: Container, resource: str, class_name: str, *, reusable: Sequence[DeviceRequest | None]
) -> _Part:
    asked = container.resources.requests
    amount, rest = divmod(nanos(asked[resource]), NANO_PER_UNIT) if resource in asked else (0, 0)
    if not amount or rest:
        return _Part(None, [])
    mappings: list[Mapping] = []
    covered = 0
    for request in reusable:
        if request is None or request.exactly is None:
            continue
        covered += request.exactly.count
        mappings.append(Mapping(container.name, resource, request.name))
        if covered >= amount:
            return _Part(None, mappings)
    name = f"container-{at}-request-{sorted(asked).index(resource)}"
    mappings.append(Mapping(container.name, resource, name))
    exactly = ExactDeviceRequest(device_class_name=class_name, count=amount - covered)
    return _Part(DeviceRequest(name=name, exactly=exactly), mappings)


def _largest(parts: Iterable[_Part]) -> DeviceRequest | None:
    """The largest request of containers that run one after another; of equal ones the first."""
    largest: DeviceRequest | None = None
    for part in parts:
        if largest is None or _count(part.request) > _count(largest):
            largest = part.request or largest
    return largest


def _count(request: DeviceRequest | None) -> int:
    return request.exactly.count if request is not None and request.exactly is not None else 0


def _renamed(parts: Sequence[_Part], largest: DeviceRequest | None) -> list[Mapping]:
    """The mappings of containers that run one after another: they all use the largest request."""
    own = {part.request.name for part in parts if part.request is not None}
    return [
        mapping._replace(request=largest.name) if largest is not None and mapping.request in own else mapping
        for part in parts
        for mapping in part.mappings
    ]


def with_requests(claim: ResourceClaim, spec: DeviceClaim) -> ResourceClaim:
    """The claim with these requests."""
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, devices=spec))
