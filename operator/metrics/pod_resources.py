"""`kube_pod_resource_request` and `kube_pod_resource_limit`: the requests and limits of each pod of the cluster.

They are served separately from the other metrics because there are several series per pod. For the same reason this
module writes the text in blocks: writing ten thousand pods at once would block scheduling for half a second.

The sums follow kube-scheduler's collector, which reads only the pod's spec, also while a resize is in progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Literal

from muster.framework.model.pod import Pod, ResourceRequirements
from muster.framework.model.quantity import NANO_PER_UNIT, nanos

Part = Literal["requests", "limits"]

_FAMILIES: tuple[tuple[str, str, Part], ...] = (
    ("kube_pod_resource_limit", "[STABLE] The limit of a resource that a pod may use.", "limits"),
    ("kube_pod_resource_request", "[STABLE] The amount of a resource that a pod requests.", "requests"),
)
_PODS_A_BLOCK = 100
_BYTES = frozenset({"memory", "storage", "ephemeral-storage"})


def pod_resource_blocks(pods: Callable[[], Iterable[Pod]]) -> Iterator[bytes]:
    """The exposition text of all pods that have not ended on their node, a hundred pods a block.

    Args:
        pods: returns all known pods; called once. A process that does not lead returns none.
    """
    living = [pod for pod in pods() if not _ended(pod)]
    for name, text, part in _FAMILIES:
        rest = iter(living)
        yield f"# HELP {name} {text}\n# TYPE {name} gauge\n".encode()
        while batch := list(islice(rest, _PODS_A_BLOCK)):
            yield "".join(line for pod in batch for line in _lines(name, pod, part)).encode()


def effective(pod: Pod, part: Part) -> dict[str, int]:
    """The pod's requests or limits as a whole, in nano units by resource.

    Containers and sidecars add up, init containers count by the highest moment of the start, pod-level values replace
    the sums. Overhead comes on top: of every request, but only of limits that are set.
    """
    total: dict[str, int] = {}
    for container in pod.spec.containers:
        _add(total, _list(container.resources, part))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod.spec.init_containers:
        wanted = _list(container.resources, part)
        if container.restart_policy == "Always":
            _add(total, wanted)
            _add(sidecars, wanted)
            _raise_to(peak, sidecars)
        else:
            _add(wanted, sidecars)
            _raise_to(peak, wanted)
    _raise_to(total, peak)
    if pod.spec.resources is not None:
        total.update(_list(pod.spec.resources, part))
    overhead = {resource: nanos(text) for resource, text in pod.spec.overhead.items()}
    _add(total, {resource: n for resource, n in overhead.items() if part == "requests" or total.get(resource)})
    return total


def _lines(name: str, pod: Pod, part: Part) -> Iterator[str]:
    spec = pod.spec
    whose = (
        f'namespace="{pod.metadata.namespace}",pod="{pod.metadata.name}",node="{spec.node_name}",'
        f'scheduler="{_escaped(spec.scheduler_name)}",priority="{"" if spec.priority is None else spec.priority}"'
    )
    for resource, amount in effective(pod, part).items():
        if amount:
            yield (f'{name}{{{whose},resource="{resource}",unit="{_unit(resource)}"}} {amount / NANO_PER_UNIT}\n')


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""


def _ended(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and pod.status.phase in ("Succeeded", "Failed")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _list(resources: ResourceRequirements, part: Part) -> dict[str, int]:
    quantities = resources.requests if part == "requests" else resources.limits
    return {resource: nanos(text) for resource, text in quantities.items()}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for resource, n in more.items():
        total[resource] = total.get(resource, 0) + n


def _raise_to(total: dict[str, int], floor: Mapping[str, int]) -> None:
    for resource, n in floor.items():
        total[resource] = max(total.get(resource, 0), n)
