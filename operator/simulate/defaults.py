"""The defaults that the API server sets when a pod is created, as far as scheduling reads them.

A manifest lacks these values, but an object of a cluster has them; setting them twice has the effect of once.
The functions take plain dicts, because some values depend on fields that scheduling does not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from muster.framework.model.faults import needed

_POD_LEVEL = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def with_defaults(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A pod's spec with its defaults: requests equal limits if only limits are given, and with host network every
    port is a host port. Raises FieldError for a port without a number.
    """
    filled = dict(spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            filled[field] = [
                _container(each, f"{field}[{index}]", host_network=bool(spec.get("hostNetwork")))
                for index, each in enumerate(spec[field])
            ]
    if spec.get("resources"):
        requested = _requested([*(filled.get("containers") or ()), *(filled.get("initContainers") or ())])
        filled["resources"] = _pod_level(spec["resources"], requested)
    return filled


def _container(container: Mapping[str, Any], part: str, *, host_network: bool) -> dict[str, Any]:
    filled = dict(container)
    resources = container.get("resources") or {}
    if resources.get("limits"):
        filled["resources"] = {**resources, "requests": {**resources["limits"], **(resources.get("requests") or {})}}
    if host_network and container.get("ports"):
        filled["ports"] = [
            {**port, "hostPort": port.get("hostPort") or needed(port, "containerPort", f"spec.{part}.ports[{index}]")}
            for index, port in enumerate(filled["ports"])
        ]
    return filled


def _pod_level(resources: Mapping[str, Any], requested: Iterable[str]) -> dict[str, Any]:
    """Set pod-level requests to the pod-level limits, except for resources that the pod's containers request."""
    of_containers = set(requested)
    limits = {
        name: amount
        for name, amount in (resources.get("limits") or {}).items()
        if name not in of_containers and (name in _POD_LEVEL or name.startswith(_HUGE_PAGES))
    }
    return {**resources, "requests": {**limits, **(resources.get("requests") or {})}}


def _requested(containers: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    return [name for each in containers for name in ((each.get("resources") or {}).get("requests") or {})]
