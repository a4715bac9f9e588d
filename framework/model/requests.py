"""A pod's effective resource request.

Called once for each distinct pod signature. The rules are those of kube-scheduler's `PodRequests`: containers add up,
sidecars (init containers with restartPolicy Always) stay and add up, plain init containers run one at a time before
the rest, pod-level resources override, and overhead is added. While a kubelet resizes a pod in place, the largest of
the desired, allocated and actual resources counts, summed over the containers before the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .pod import Container, Pod, PodSpec
from .quantity import Quantity, milli_value, nanos, value, whole_values

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
_BINARY_UNITS = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")

_SCORING_DEFAULTS = {CPU: nanos("100m"), MEMORY: nanos("200Mi")}

Quantities = Mapping[str, Quantity]
Nanos = dict[str, int]
Counts = Callable[[str], bool]
"""Whether a resource counts. A pod may name thousands, of which a caller needs few."""


def _every(resource: str) -> bool:
    return True


def _is_defaulted(resource: str) -> bool:
    return resource in _SCORING_DEFAULTS


def amount(resource: str, quantity_nanos: int) -> int:
    """Nano units as the scheduler counts them: thousandths of a core for cpu, whole units for everything else."""
    return milli_value(quantity_nanos) if resource == CPU else value(quantity_nanos)


def amounts(quantities: Quantities) -> dict[str, int]:
    """A resource list of the API ({"cpu": "2"}) as the scheduler counts it ({"cpu": 2000}).

    Raises QuantityError for a quantity that cannot be parsed.
    """
    return {resource: amount(resource, nanos(text)) for resource, text in quantities.items()}


def quantity(resource: str, n: int) -> str:
    """An amount as the API writes it: `1500m` cpu, `2Gi` memory."""
    if resource == CPU:
        return str(n // 1000) if n % 1000 == 0 else f"{n}m"
    for power, unit in zip(range(len(_BINARY_UNITS), 0, -1), _BINARY_UNITS, strict=True):
        if n and n % 1024**power == 0:
            return f"{n // 1024**power}{unit}"
    return str(n)


def pod_requests(pod: Pod) -> dict[str, int]:
    """The pod's effective request by resource: milli-cores for cpu, whole units otherwise."""
    total = _sum(pod, {})
    cpu = total.pop(CPU, None)
    requests = whole_values(total)
    return requests if cpu is None else {CPU: milli_value(cpu), **requests}


def scoring_requests(pod: Pod, requests: Mapping[str, int]) -> dict[str, int]:
    """The requests by which NodeResourcesFit scores the pod: like `requests`, the pod's own, with two differences.

    A container that names no cpu or memory counts as 100m and 200Mi, and requests of the pod as a whole do not count.
    """
    total = _containers(pod, _SCORING_DEFAULTS, _is_pod_level)
    _add(total, _parse(pod.spec.overhead, _is_pod_level))
    differing = {resource: amount(resource, n) for resource, n in total.items()}
    if not _asks_as_a_whole(pod):
        return {**requests, **differing}
    return differing | {resource: n for resource, n in requests.items() if not _is_pod_level(resource)}


def nonzero_requests(pod: Pod) -> dict[str, int]:
    """The cpu and memory that the pod counts on its node where other pods are scored: like `pod_requests`, but a
    container that names none of one counts as 100m and 200Mi.

    Where pod-level resources are set, only what neither they nor the containers name is defaulted.
    """
    defaults = _SCORING_DEFAULTS
    if _asks_as_a_whole(pod):
        requested = _sum(pod, {}, _is_defaulted)
        defaults = {resource: n for resource, n in defaults.items() if resource not in requested}
    return {resource: amount(resource, n) for resource, n in _sum(pod, defaults, _is_defaulted).items()}


def _sum(pod: Pod, defaults: Mapping[str, int], counts: Counts = _every) -> Nanos:
    total = _containers(pod, defaults, counts)
    if _asks_as_a_whole(pod):
        total.update({resource: n for resource, n in _pod_level(pod).items() if counts(resource)})
    _add(total, _parse(pod.spec.overhead, counts))
    return total


def _asks_as_a_whole(pod: Pod) -> bool:
    return pod.spec.resources is not None and any(map(_is_pod_level, pod.spec.resources.requests))


def _is_pod_level(resource: str) -> bool:
    return resource in (CPU, MEMORY) or resource.startswith("hugepages-")


def _pod_level(pod: Pod) -> Nanos:
    wanted, given = pod.spec.resources, pod.status.resources
    effective = {} if wanted is None or (given is not None and _resize_infeasible(pod)) else _parse(wanted.requests)
    if given is not None:
        _raise_to(effective, _parse(given.requests))
        _raise_to(effective, _parse(pod.status.allocated_resources))
    return {resource: n for resource, n in effective.items() if _is_pod_level(resource)}


def _containers(pod: Pod, defaults: Mapping[str, int], counts: Counts) -> Nanos:
    """The containers' requests of what counts together, each container's missing ones taken from `defaults`."""
    spec, status = pod.spec, pod.status
    wanted = _over_containers(spec, lambda container: container.resources.requests, defaults, counts)
    statuses = {s.name: s for s in (*status.init_container_statuses, *status.container_statuses)}
    infeasible = _resize_infeasible(pod)
    if not statuses and status.resources is None and not infeasible:
        return wanted

    def allocated(container: Container) -> Quantities:
        reported = statuses.get(container.name)
        if reported is not None and reported.allocated_resources:
            return reported.allocated_resources
        return {} if infeasible else container.resources.requests

    def actual(container: Container) -> Quantities:
        reported = statuses.get(container.name)
        if reported is not None and reported.resources is not None and reported.resources.requests:
            return reported.resources.requests
        return allocated(container)

    total = {} if infeasible else wanted
    if status.allocated_resources and status.resources is not None and status.resources.requests:
        _raise_to(total, _parse(status.allocated_resources, counts))
        _raise_to(total, _parse(status.resources.requests, counts))
    else:
        _raise_to(total, _over_containers(spec, allocated, defaults, counts))
        _raise_to(total, _over_containers(spec, actual, defaults, counts))
    return total


def _over_containers(
    spec: PodSpec, requests_of: Callable[[Container], Quantities], defaults: Mapping[str, int], counts: Counts
) -> Nanos:
    total: Nanos = {}
    for container in spec.containers:
        _add(total, {**defaults, **_parse(requests_of(container), counts)})
    sidecars: Nanos = {}
    peak: Nanos = {}
    for container in spec.init_containers:
        step = {**defaults, **_parse(requests_of(container), counts)}
        if container.restart_policy == "Always":
            _add(total, step)
            _add(sidecars, step)
            _raise_to(peak, sidecars)
        else:
            _add(step, sidecars)
            _raise_to(peak, step)
    _raise_to(total, peak)
    return total


def _parse(quantities: Quantities, counts: Counts = _every) -> Nanos:
    if counts is _every:
        return {resource: nanos(quantity) for resource, quantity in quantities.items()}
    return {resource: nanos(quantity) for resource, quantity in quantities.items() if counts(resource)}


def _resize_infeasible(pod: Pod) -> bool:
    return any(c.type == "PodResizePending" and c.reason == "Infeasible" for c in pod.status.conditions)


def _add(total: Nanos, more: Mapping[str, int]) -> None:
    if not total:
        total.update(more)
        return
    for resource, n in more.items():
        total[resource] = total.get(resource, 0) + n


def _raise_to(total: Nanos, floor: Mapping[str, int]) -> None:
    for resource, n in floor.items():
        total[resource] = max(n, total.get(resource, n))
