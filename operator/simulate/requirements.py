"""Amounts of a new pod that the API server refuses: negative ones, and requests that exceed their limits.

`manifests` asks for each new pod after its defaults are set, as the API server validates after admission. Whether an
amount is a quantity at all is checked where the pod is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muster.framework.model.pod import Pod, ResourceRequirements
from muster.framework.model.quantity import Quantity, nanos


def refused_amounts(pod: Pod) -> str:
    """The reason for which the API server would refuse the pod's amounts, as it words it; "" if it would take them."""
    found = [*_problems(pod)]
    return f"[{', '.join(found)}]" if len(found) > 1 else "".join(found)


def _problems(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    for part, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            yield from _of_requirements(container.resources, f"spec.{part}[{index}].resources")
    if spec.resources is not None:
        yield from _of_requirements(spec.resources, "spec.resources")
    yield from _negative(spec.overhead, "spec.overhead.limits")


def _of_requirements(resources: ResourceRequirements, path: str) -> Iterator[str]:
    yield from _negative(resources.limits, f"{path}.limits")
    yield from _negative(resources.requests, f"{path}.requests")
    for name, request in resources.requests.items():
        limit = resources.limits.get(name)
        if limit is not None and nanos(request) > nanos(limit):
            relation = "less than or equal to" if _may_be_overcommitted(name) else "equal to"
            yield f'{path}.requests: Invalid value: "{request}": must be {relation} {name} limit of {limit}'


def _negative(amounts: Mapping[str, Quantity], path: str) -> Iterator[str]:
    for name, amount in amounts.items():
        if nanos(amount) < 0:
            yield f'{path}[{name}]: Invalid value: "{amount}": must be greater than or equal to 0'


def _may_be_overcommitted(name: str) -> bool:
    return ("/" not in name or "kubernetes.io/" in name) and not name.startswith("hugepages-")
