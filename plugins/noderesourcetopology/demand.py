"""The demand of a pod on zones: what each container requests, and which of it a kubelet gives to no other pod.

Computed once per signature. The rules are those of scheduler-plugins: a sidecar is looked at like an init container,
and the effective request of a pod takes it as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from muster.framework.contract import PodInfo
from muster.framework.model.pod import Container, Pod
from muster.framework.model.quantity import Quantity, nanos
from muster.framework.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, amount

from .api import MOST_AMOUNT

Amounts = Mapping[str, int]
_COMPUTE = (CPU, MEMORY)
_THOUSANDTHS = 1000
_TOO_MUCH = MOST_AMOUNT + 1


@dataclass(frozen=True, slots=True)
class ContainerDemand:
    """The requests of one container.

    Attributes:
        kind: `init`, `sidecar` or `app`.
        requests: the amounts by resource.
        exclusive: those of them that are its own as long as it runs; nothing for an init container, which ends.
    """

    kind: str
    requests: Amounts
    exclusive: Amounts


@dataclass(frozen=True, slots=True)
class ZoneDemand:
    """The requests of a pod.

    Attributes:
        guaranteed: whether its QoS class is Guaranteed. A kubelet gives cpus and memory of their own to no others.
        aligned: whether a topology manager looks at it.
        containers: in the order in which they start.
        together: the effective request of the pod.
        takes: what it may take of a zone at most, sidecars besides the containers.
        units: what each of its containers may take of a zone for itself, without those that take nothing.
        holds_any: whether anything is its own.
        resources: the resources that it names.
    """

    guaranteed: bool
    aligned: bool
    containers: tuple[ContainerDemand, ...]
    together: Amounts
    takes: Amounts
    units: tuple[Amounts, ...]
    holds_any: bool
    resources: frozenset[str]

    @property
    def exclusive(self) -> Amounts:
        """The resources that are its own as long as it runs."""
        found: dict[str, int] = {}
        for container in self.containers:
            for name, n in container.exclusive.items():
                found[name] = found.get(name, 0) + n
        return found


def demand_of(pod: PodInfo) -> ZoneDemand:
    """The demand of pods with this one's signature."""
    spec = pod.signature.spec
    qos = qos_class(pod.pod)
    guaranteed = qos == "Guaranteed"
    containers = (
        *(
            _demand(each, "sidecar" if each.restart_policy == "Always" else "init", guaranteed)
            for each in spec.init_containers
        ),
        *(_demand(each, "app", guaranteed) for each in spec.containers),
    )
    named = {name for each in containers for name in each.requests}
    return ZoneDemand(
        guaranteed,
        qos != "BestEffort" or not all(map(is_native, named)),
        containers,
        _together(pod.pod),
        {name: min(n, _TOO_MUCH) for name, n in pod.signature.requests.items()},
        tuple(filter(None, (taken(each.requests, guaranteed) for each in containers))),
        any(_is_exclusive(name, n, guaranteed) for each in containers for name, n in each.requests.items()),
        frozenset(named | spec.overhead.keys()),
    )


def is_native(resource: str) -> bool:
    """Whether the name is one of Kubernetes' own, and no device's or other extended resource's."""
    return "/" not in resource or "kubernetes.io/" in resource


def may_have_no_zone(resource: str) -> bool:
    """Whether the resource may belong to a node as a whole: storage, and devices whose plugin names no NUMA node."""
    return resource in (EPHEMERAL_STORAGE, "storage") or not is_native(resource)


def is_bound_to_zones(resource: str) -> bool:
    """Whether a kubelet takes the resource from zones, and gives it to pods of the class Guaranteed alone."""
    return resource in _COMPUTE or resource.startswith("hugepages-")


def taken(request: Amounts, guaranteed: bool) -> Amounts:
    """The resources that a kubelet may give to such a container alone: cpus and memory only to a Guaranteed one."""
    return {name: n for name, n in request.items() if n and (guaranteed or not is_bound_to_zones(name))}


def qos_class(pod: Pod) -> str:
    """The pod's QoS class, `Guaranteed`, `Burstable` or `BestEffort`, as admission has computed it."""
    spec = pod.spec
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        parts = [(spec.resources.requests, spec.resources.limits)]
    else:
        parts = [(each.resources.requests, each.resources.limits) for each in (*spec.containers, *spec.init_containers)]
    requests = _sum(requests for requests, _ in parts)
    limits = _sum(limits for _, limits in parts)
    if not requests and not limits:
        return "BestEffort"
    limited = all(_positive(name, limits) for _, limits in parts for name in _COMPUTE)
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _positive(resource: str, quantities: Mapping[str, Quantity]) -> bool:
    return resource in quantities and nanos(quantities[resource]) > 0


def _sum(parts: Iterable[Mapping[str, Quantity]]) -> dict[str, int]:
    """The cpu and memory in all parts together, in nano units, without what is zero."""
    found: dict[str, int] = {}
    for quantities in parts:
        for name in _COMPUTE:
            if _positive(name, quantities):
                found[name] = found.get(name, 0) + nanos(quantities[name])
    return found


def _demand(container: Container, kind: str, guaranteed: bool) -> ContainerDemand:
    requests = {name: _amount(name, nanos(text)) for name, text in container.resources.requests.items()}
    own = {} if kind == "init" else {name: n for name, n in requests.items() if _is_exclusive(name, n, guaranteed)}
    return ContainerDemand(kind, requests, own)


def _is_exclusive(resource: str, n: int, guaranteed: bool) -> bool:
    if not is_native(resource):
        return True
    if not guaranteed or n <= 0:
        return False
    return n % _THOUSANDTHS == 0 if resource == CPU else is_bound_to_zones(resource)


def _together(pod: Pod) -> dict[str, int]:
    """The sum of the containers, at least what each init container requests, and the overhead besides."""
    spec = pod.spec
    total: dict[str, int] = {}
    for name, n in _each(spec.containers):
        total[name] = total.get(name, 0) + n
    for name, n in _each(spec.init_containers):
        total[name] = max(n, total.get(name, 0))
    for name, text in spec.overhead.items():
        total[name] = total.get(name, 0) + nanos(text)
    return {name: _amount(name, n) for name, n in total.items()}


def _amount(resource: str, quantity_nanos: int) -> int:
    """The amount as the scheduler counts it; what no zone can have is all the same."""
    return min(amount(resource, quantity_nanos), _TOO_MUCH)


def _each(containers: Iterable[Container]) -> Iterator[tuple[str, int]]:
    for container in containers:
        for name, text in container.resources.requests.items():
            yield name, nanos(text)
