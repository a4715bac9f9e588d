"""What is missing: the smallest number of nodes, of a shape that the cluster has, with which everything fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from muster.framework.model.meta import ObjectMeta
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS, amounts

from .least import least
from .rehearsal import Placement, Rehearsal

_HOSTNAME = "kubernetes.io/hostname"
_SHAPES_TRIED = 5
_PREFIX = "muster-simulated-node-"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """So many more nodes like `like` make everything fit."""

    nodes: int
    like: str
    allocatable: dict[str, str]

    @property
    def sentence(self) -> str:
        """The same for people."""
        offer = ", ".join(f"{amount} {name}" for name, amount in self.allocatable.items())
        nodes = "1 more node" if self.nodes == 1 else f"{self.nodes} more nodes"
        return f"{nodes} like {self.like} ({offer}) would make the rest fit."


async def shortfall(rehearsal: Rehearsal, placements: Sequence[Placement]) -> Shortfall | None:
    """The least addition of nodes of one shape after which all that lack nodes are placed, with the others in place.

    None when nothing lacks nodes, and when no shape in the cluster helps. Of shapes that need equally many nodes the
    most common wins. The five most common shapes are tried. Ends the rehearsal as far as those pods are concerned.
    """
    lacking = [placement.pod for placement in placements if placement.lacks_nodes]
    pods = [pod.pod for pod in lacking]
    misfits = rehearsal.misfits(lacking)
    await rehearsal.remove(pods)
    best: Shortfall | None = None
    for shape in _shapes(rehearsal.nodes) if pods else ():
        trial = _Trial(rehearsal, shape, pods)
        limit = len(pods) if best is None else best.nodes - 1
        count = await least(trial.suffice, guess=_guess(shape, misfits), limit=limit)
        if count is not None:
            allocatable = {name: str(amount) for name, amount in shape.status.allocatable.items()}
            best = Shortfall(count, shape.metadata.name, allocatable)
    return best


@dataclass(frozen=True, slots=True)
class _Trial:
    """Pods that lack nodes, and nodes of one shape for them."""

    rehearsal: Rehearsal
    shape: Node
    pods: Sequence[Pod]

    async def suffice(self, count: int) -> bool:
        """Whether all pods are placed with so many nodes more; leaves the cluster as it was."""
        nodes = [_copy(self.shape, f"{_PREFIX}{index}") for index in range(count)]
        self.rehearsal.add_nodes(nodes)
        placements = await self.rehearsal.place(self.pods)
        await self.rehearsal.remove(self.pods)
        self.rehearsal.remove_nodes(nodes)
        return all(placement.node for placement in placements)


def _shapes(nodes: Iterable[Node]) -> list[Node]:
    """One node of each of the most common shapes: equal but for name, hostname and images."""
    of_shape: dict[bytes, Node] = {}
    count: Counter[bytes] = Counter()
    for node in nodes:
        if node.spec.unschedulable:
            continue
        labels = {key: value for key, value in node.metadata.labels.items() if key != _HOSTNAME}
        key = msgspec.msgpack.encode(
            [sorted(labels.items()), node.spec.taints, sorted(node.status.allocatable.items())]
        )
        of_shape.setdefault(key, node)
        count[key] += 1
    return [of_shape[key] for key, _ in count.most_common(_SHAPES_TRIED)]


def _guess(shape: Node, pods: Iterable[PodInfo]) -> int:
    """How many nodes offer as much as the pods ask for."""
    offered = amounts(shape.status.allocatable)
    total: Counter[str] = Counter()
    for pod in pods:
        total[PODS] += 1
        total.update(pod.signature.requests)
    return max((-(-total[name] // offered[name]) for name in total if offered.get(name)), default=1)


def _copy(shape: Node, name: str) -> Node:
    labels = {**shape.metadata.labels, _HOSTNAME: name}
    return msgspec.structs.replace(shape, metadata=ObjectMeta(name=name, uid=name, labels=labels))
