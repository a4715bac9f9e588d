"""What is missing: the smallest number of nodes, of a shape that the cluster has, with which all fits that nodes help.

`simulate` and `why GROUP` ask. Groups and single pods that no number of such nodes helps are named, and do not hide the
answer about the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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
_NAMED = 3
_PREFIX = "muster-simulated-node-"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """So many more nodes make everything fit that nodes help.

    Attributes:
        nodes: how many.
        like: a node of their shape.
        allocatable: what each of them offers.
        hopeless: the keys of groups and single pods that nodes of this shape do not help, sorted.
    """

    nodes: int
    like: str
    allocatable: dict[str, str]
    hopeless: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The shortfall in a sentence."""
        offer = ", ".join(f"{amount} {name}" for name, amount in self.allocatable.items())
        nodes = "1 more node" if self.nodes == 1 else f"{self.nodes} more nodes"
        found = f"{nodes} like {self.like} ({offer}) would make the rest fit"
        if not self.hopeless:
            return f"{found}."
        named = ", ".join(self.hopeless[:_NAMED])
        more = f" and {len(self.hopeless) - _NAMED} more" if len(self.hopeless) > _NAMED else ""
        return f"{found}, but for {named}{more}, which no number of them would help."


async def shortfall(rehearsal: Rehearsal, placements: Sequence[Placement]) -> Shortfall | None:
    """The least addition of nodes of one shape after which those are placed that it helps, with the others in place.

    None when nothing lacks nodes, and when no shape in the cluster helps anybody. The shape that helps most pods wins,
    of those the one of which fewest nodes are needed, of those the most common. The five most common shapes are tried.
    Ends the rehearsal as far as those pods are concerned.
    """
    lacking = [placement for placement in placements if placement.lacks_nodes]
    misfits = await rehearsal.misfits([each.pod for each in lacking])
    await rehearsal.remove([each.pod.pod for each in lacking])
    best: _Found | None = None
    for shape in _shapes(rehearsal.nodes) if lacking else ():
        best = await _with_nodes_like(shape, rehearsal, lacking, misfits, best=best) or best
    return None if best is None else best.shortfall


@dataclass(frozen=True, slots=True)
class _Found:
    """A shortfall, and how many pods it helps."""

    shortfall: Shortfall
    pods: int


async def _with_nodes_like(
    shape: Node,
    rehearsal: Rehearsal,
    lacking: Sequence[Placement],
    misfits: Collection[PodInfo],
    *,
    best: _Found | None,
) -> _Found | None:
    """The result with nodes of this shape, if better than `best`; pods that many of them do not help are left out."""
    helped, hopeless = lacking, frozenset[str]()
    count = await _least_for(shape, rehearsal, helped, misfits, best=best)
    if count is None:
        hopeless = await _Trial(rehearsal, shape, [each.pod.pod for each in lacking]).unplaced(len(lacking))
        helped = [each for each in lacking if _unit(each) not in hopeless]
        if len(helped) in (0, len(lacking)):
            return None
        count = await _least_for(shape, rehearsal, helped, misfits, best=best)
    if count is None:
        return None
    allocatable = {name: str(amount) for name, amount in shape.status.allocatable.items()}
    return _Found(Shortfall(count, shape.metadata.name, allocatable, tuple(sorted(hopeless))), len(helped))


async def _least_for(
    shape: Node,
    rehearsal: Rehearsal,
    helped: Sequence[Placement],
    misfits: Collection[PodInfo],
    *,
    best: _Found | None,
) -> int | None:
    """With how many nodes of this shape all of `helped` are placed; None where that is no better than `best`."""
    if best is not None and len(helped) < best.pods:
        return None
    pods = [each.pod.pod for each in helped]
    limit = best.shortfall.nodes - 1 if best is not None and len(helped) == best.pods else len(pods)
    own = {each.pod.uid for each in helped}
    guess = _guess(shape, [pod for pod in misfits if pod.uid in own])
    return await least(_Trial(rehearsal, shape, pods).suffice, guess=guess, limit=limit)


def _unit(placement: Placement) -> str:
    """The unit of placement: the group, or the pod alone."""
    return placement.group or placement.pod.key


@dataclass(frozen=True, slots=True)
class _Trial:
    """Pods that lack nodes, and nodes of one shape for them."""

    rehearsal: Rehearsal
    shape: Node
    pods: Sequence[Pod]

    async def suffice(self, count: int) -> bool:
        """Whether all pods are placed with so many nodes more; leaves the cluster as it was."""
        return not await self.unplaced(count)

    async def unplaced(self, count: int) -> frozenset[str]:
        """The groups and single pods that are not placed with so many nodes more; leaves the cluster as it was."""
        nodes = [_copy(self.shape, f"{_PREFIX}{index}") for index in range(count)]
        self.rehearsal.add_nodes(nodes)
        placements = await self.rehearsal.place(self.pods)
        await self.rehearsal.remove(self.pods)
        self.rehearsal.remove_nodes(nodes)
        return frozenset(_unit(each) for each in placements if not each.node)


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
