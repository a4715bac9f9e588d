"""Amounts of a new pod that the API server refuses: negative ones, and requests that do not match their limits.

`manifests` asks for each new pod after its defaults are set, as the API server validates after admission. Whether an
amount is a quantity at all is checked where the pod is decoded. The rules are those of `validateResourceRequirements`
(`pkg/apis/core/validation`), but for the names of resources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from muster.framework.model.canonical import canonical_amount
from muster.framework.model.pod import Pod, ResourceRequirements
from muster.framework.model.quantity import NANO_PER_UNIT, Quantity, QuantityError, milli_value, nanos, value

_HUGE_PAGES = "hugepages-"
_BESIDE_HUGE_PAGES = frozenset({"cpu", "memory"})
_MILLI_PER_UNIT = 1000


def refused_amounts(pod: Pod) -> str:
    """The reason for which the API server would refuse the pod's amounts, as it words it; "" if it would take them."""
    found = [*dict.fromkeys(_problems(pod))]
    return f"[{', '.join(found)}]" if len(found) > 1 else "".join(found)


def _problems(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    of_containers: set[str] = set()
    for part, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            of_containers |= container.resources.requests.keys()
            yield from _of_requirements(container.resources, f"spec.{part}[{index}].resources")
    if spec.resources is not None:
        yield from _of_requirements(spec.resources, "spec.resources", of_containers)
    yield from _of_requirements(ResourceRequirements(limits=spec.overhead), "spec.overhead")


def _of_requirements(resources: ResourceRequirements, path: str, beside: Set[str] = frozenset()) -> Iterator[str]:
    """The problems of requests and limits; for those of a whole pod, `beside` names what its containers request."""
    limits, requests = resources.limits, resources.requests
    for name, amount in limits.items():
        yield from _of_amount(name, amount, f"{path}.limits[{name}]")
    for name, amount in requests.items():
        yield from _of_amount(name, amount, f"{path}.requests[{name}]")
        yield from _unlike_limit(name, amount, limits, path)
    names = limits.keys() | requests.keys()
    if any(name.startswith(_HUGE_PAGES) for name in names) and not (names | beside) & _BESIDE_HUGE_PAGES:
        yield f"{path}: Forbidden: HugePages require cpu or memory"


def _of_amount(name: str, amount: Quantity, path: str) -> Iterator[str]:
    shown = canonical_amount(amount)
    if nanos(amount) < 0:
        yield f'{path}: Invalid value: "{shown}": must be greater than or equal to 0'
    if _is_extended(name) and milli_value(nanos(amount)) % _MILLI_PER_UNIT:
        yield f'{path}: Invalid value: "{shown}": must be an integer'
    if name.startswith(_HUGE_PAGES) and not _is_multiple(amount, name.removeprefix(_HUGE_PAGES)):
        yield f'{path}: Invalid value: "{shown}": {shown} is not positive integer multiple of {name}'


def _unlike_limit(name: str, request: Quantity, limits: Mapping[str, Quantity], path: str) -> Iterator[str]:
    limit, may_be_overcommitted = limits.get(name), _is_native(name) and not name.startswith(_HUGE_PAGES)
    if limit is None:
        if not may_be_overcommitted:
            yield f"{path}.limits: Required value: Limit must be set for non overcommitable resources"
    elif nanos(request) > nanos(limit) or (nanos(request) != nanos(limit) and not may_be_overcommitted):
        reason = f"must be {'less than or ' if may_be_overcommitted else ''}equal to {name} limit of"
        yield f'{path}.requests: Invalid value: "{canonical_amount(request)}": {reason} {canonical_amount(limit)}'


def _is_multiple(amount: Quantity, size: str) -> bool:
    """Whether an amount of huge pages is a whole number of pages of this size (`IsHugePageResourceValueDivisible`)."""
    try:
        page = nanos(size)
    except QuantityError:
        return False
    return page > 0 and page % NANO_PER_UNIT == 0 and value(nanos(amount)) % value(page) == 0


def _is_extended(name: str) -> bool:
    return not _is_native(name) and not name.startswith("requests.")


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name
