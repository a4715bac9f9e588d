"""Builders of what devices and claims consist of, in the API's JSON shape."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.builders import PodDict, make_pod

GPU, NIC = "gpu.example.com", "nic.example.com"
Object = dict[str, Any]


def make_class(name: str, *expressions: str, resource: str = "", config: Sequence[Object] = ()) -> Object:
    """A class of devices that meet all expressions. `resource` is the extended resource that it stands for."""
    spec: Object = {"selectors": [{"cel": {"expression": each}} for each in expressions], "config": list(config)}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "uid": f"class-{name}"},
        "spec": spec | ({"extendedResourceName": resource} if resource else {}),
    }


def device(name: str, *, capacity: Mapping[str, str] = {}, **attributes: object) -> Object:
    """A device. Attributes are typed by their values; one that is a `version(...)` is a semantic version."""
    made: Object = {"name": name}
    if attributes:
        made["attributes"] = {key: _attribute(value) for key, value in attributes.items()}
    if capacity:
        made["capacity"] = {key: {"value": value} for key, value in capacity.items()}
    return made


class Version(str):
    """A semantic version among attributes."""


def make_slice(
    name: str,
    *devices: Object,
    node: str | None = None,
    driver: str = GPU,
    pool: str | None = None,
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> Object:
    """A slice with devices of one node, or as `spec` says (`allNodes=True`, `nodeSelector=...`)."""
    where = {"nodeName": node} if node is not None else {}
    of = {"name": pool or node or name, "generation": generation, "resourceSliceCount": count}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "uid": f"slice-{name}"},
        "spec": {"driver": driver, "pool": of, "devices": list(devices), **where, **spec},
    }


def exactly(count: int = 1, *expressions: str, of: str = "gpu", **more: Any) -> Object:
    """So many devices of a class that meet all expressions."""
    selectors = {"selectors": [{"cel": {"expression": each}} for each in expressions]} if expressions else {}
    return {"deviceClassName": of, "allocationMode": "ExactCount", "count": count, **selectors, **more}


def all_of(of: str = "gpu", *expressions: str, **more: Any) -> Object:
    """All devices of a class that meet all expressions."""
    asked = exactly(1, *expressions, of=of, **more)
    del asked["count"]
    return asked | {"allocationMode": "All"}


def make_claim(
    name: str, *requests: Object, namespace: str = "default", owner: PodDict | None = None, **devices: Any
) -> Object:
    """A claim. Requests are called r0, r1, …; `devices` is what else the claim says of its devices."""
    claim: Object = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"claim-{namespace}-{name}", "resourceVersion": "1"},
        "spec": {"devices": {"requests": [_request(at, each) for at, each in enumerate(requests)], **devices}},
    }
    if owner is not None:
        meta = owner["metadata"]
        reference = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
        claim["metadata"]["ownerReferences"] = [reference]
    return claim


def first_of(*alternatives: Object) -> Object:
    """The first of these that can be had."""
    return {"firstAvailable": [{"name": f"s{at}", **each} for at, each in enumerate(alternatives)]}


def allocated(
    claim: Object,
    *devices: tuple[str, str, str],
    node: str | None = None,
    reserved: Sequence[str] = (),
    admin: bool = False,
    share: Mapping[str, str] | None = None,
) -> Object:
    """The claim with `(driver, pool, device)` allocated, usable on one node or on all, reserved for pods by UID.

    With `share` it has so much of each capacity, and others may have more of the device.
    """
    more: Object = {"adminAccess": True} if admin else {}
    if share is not None:
        more |= {"shareID": "9c8e1d6e-2f1d-4f1e-8f1e-0a6f2d3b4c5d", "consumedCapacity": dict(share)}
    results = [
        {"request": "r0", "driver": driver, "pool": pool, "device": device} | more for driver, pool, device in devices
    ]
    allocation: Object = {"devices": {"results": results}}
    if node is not None:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    consumers = [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved]
    return claim | {"status": {"allocation": allocation, "reservedFor": consumers}}


def claiming_pod(name: str, *claims: str, namespace: str = "default") -> PodDict:
    """A pod that uses claims by their names."""
    pod = make_pod(name, namespace=namespace)
    pod["spec"]["resourceClaims"] = [{"name": f"c{at}", "resourceClaimName": each} for at, each in enumerate(claims)]
    return pod


def _request(at: int, asked: Object) -> Object:
    return {"name": f"r{at}", **(asked if "firstAvailable" in asked else {"exactly": asked})}


def _attribute(value: object) -> Object:
    kinds = {bool: "bool", int: "int", str: "string", Version: "version"}
    return {kinds[type(value)]: str(value) if isinstance(value, Version) else value}
