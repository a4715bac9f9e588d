"""The shortfall of groups and sets of equal pods: the least number of further nodes of a shape that the cluster has.

`simulate` and `why GROUP` call it. Groups and sets that nodes of one shape help are listed with that shape, each with
the number of nodes that it needs by itself. Groups and sets that no number of such nodes helps are listed too.
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

from .additions import LikePods, NodeAddition, Shortfall
from .least import least
from .rehearsal import Placement, Rehearsal
from .wording import alike

_HOSTNAME = "kubernetes.io/hostname"
_SHAPES_TRIED = 5
_SETS_TRIED = 5
_PREFIX = "muster-simulated-node-"


async def shortfall(rehearsal: Rehearsal, placements: Sequence[Placement]) -> Shortfall | None:
    """The least additions of nodes with which all pods are placed that nodes can help, each after the previous ones.

    None if no pod lacks nodes, or if no shape of the cluster helps. The shape that helps most pods comes first; among
    equal ones the shape of which fewest nodes are needed, then the most common one. The five most common shapes are
    tried. The rehearsal cannot place these pods again afterwards.
    """
    left = [placement for placement in placements if placement.lacks_nodes]
    misfits = await rehearsal.misfits([each.pod for each in left])
    await rehearsal.remove([each.pod.pod for each in left])
    shapes = _shapes(rehearsal.nodes) if left else []
    additions: list[NodeAddition] = []
    in_place: list[tuple[list[Node], list[Pod]]] = []
    while left:
        best: _Found | None = None
        for shape in shapes:
            best = await _with_nodes_like(shape, rehearsal, left, misfits, best=best) or best
        if best is None:
            break
        sets = sorted(alike(best.helped, _likeness), key=len, reverse=True)
        helped = [await _alone(best, rehearsal, each, misfits) for each in sets[:_SETS_TRIED]]
        helped += map(_set_of, sets[_SETS_TRIED:])
        additions.append(NodeAddition(best.nodes, best.shape.metadata.name, _offer(best.shape), tuple(helped)))
        left = [each for each in left if _unit(each) in best.hopeless]
        shapes = [shape for shape in shapes if shape is not best.shape]
        if left and shapes:
            in_place.append(await _put_in_place(rehearsal, best, len(in_place)))
    for nodes, pods in in_place:
        await rehearsal.remove(pods)
        rehearsal.remove_nodes(nodes)
    hopeless = tuple(_set_of(each) for each in alike(left, _likeness))
    return Shortfall(tuple(additions), hopeless) if additions else None


@dataclass(frozen=True, slots=True)
class _Found:
    """The number of nodes of a shape with which all of `helped` are placed, and the units that no number helps."""

    shape: Node
    nodes: int
    helped: Sequence[Placement]
    hopeless: Collection[str]


async def _with_nodes_like(
    shape: Node,
    rehearsal: Rehearsal,
    lacking: Sequence[Placement],
    misfits: Collection[PodInfo],
    *,
    best: _Found | None,
) -> _Found | None:
    """The result with nodes of this shape, if better than `best`, without pods that no number of nodes helps."""
    helped, hopeless = lacking, frozenset[str]()
    count = await _least_for(shape, rehearsal, helped, misfits, best=best)
    if count is None:
        hopeless = await _Trial(rehearsal, shape, [each.pod.pod for each in lacking]).unplaced(len(lacking))
        helped = [each for each in lacking if _unit(each) not in hopeless]
        if len(helped) in (0, len(lacking)):
            return None
        count = await _least_for(shape, rehearsal, helped, misfits, best=best)
    return None if count is None else _Found(shape, count, helped, hopeless)


async def _least_for(
    shape: Node,
    rehearsal: Rehearsal,
    helped: Sequence[Placement],
    misfits: Collection[PodInfo],
    *,
    best: _Found | None,
) -> int | None:
    """The number of nodes of this shape with which all of `helped` are placed; None if it is no better than `best`."""
    if best is not None and len(helped) < len(best.helped):
        return None
    limit = best.nodes - 1 if best is not None and len(helped) == len(best.helped) else len(helped)
    return await _least(rehearsal, shape, helped, misfits, limit=limit)


async def _least(
    rehearsal: Rehearsal, shape: Node, helped: Sequence[Placement], misfits: Collection[PodInfo], *, limit: int
) -> int | None:
    own = {each.pod.uid for each in helped}
    guess = _guess(shape, [pod for pod in misfits if pod.uid in own])
    trial = _Trial(rehearsal, shape, [each.pod.pod for each in helped])
    return await least(trial.suffice, guess=guess, limit=limit)


async def _alone(
    found: _Found, rehearsal: Rehearsal, some: Sequence[Placement], misfits: Collection[PodInfo]
) -> LikePods:
    """A set of equal pods, with the number of nodes of the shape that it needs by itself."""
    if len(some) == len(found.helped):
        return _set_of(some, found.nodes)
    return _set_of(some, await _least(rehearsal, found.shape, some, misfits, limit=found.nodes))


async def _put_in_place(rehearsal: Rehearsal, found: _Found, number: int) -> tuple[list[Node], list[Pod]]:
    """Add the found nodes, and place the pods that they help, for the next shape; returns the addition."""
    nodes = [_copy(found.shape, f"{_PREFIX}{number}-{index}") for index in range(found.nodes)]
    pods = [each.pod.pod for each in found.helped]
    rehearsal.add_nodes(nodes)
    await rehearsal.place(pods)
    return nodes, pods


def _set_of(placements: Sequence[Placement], nodes: int | None = None) -> LikePods:
    return LikePods(_unit(placements[0]), bool(placements[0].group), len(placements), nodes)


def _likeness(placement: Placement) -> object:
    return placement.likeness


def _unit(placement: Placement) -> str:
    """The unit of placement: the pod's group, or the pod itself."""
    return placement.group or placement.pod.key


def _offer(shape: Node) -> dict[str, str]:
    return {name: str(amount) for name, amount in shape.status.allocatable.items()}


@dataclass(frozen=True, slots=True)
class _Trial:
    """A trial of pods without nodes, with added nodes of one shape."""

    rehearsal: Rehearsal
    shape: Node
    pods: Sequence[Pod]

    async def suffice(self, count: int) -> bool:
        """Whether all pods are placed with `count` further nodes; does not change the cluster."""
        return not await self.unplaced(count)

    async def unplaced(self, count: int) -> frozenset[str]:
        """The groups and single pods that are not placed with `count` further nodes; does not change the cluster."""
        nodes = [_copy(self.shape, f"{_PREFIX}{index}") for index in range(count)]
        self.rehearsal.add_nodes(nodes)
        placements = await self.rehearsal.place(self.pods)
        await self.rehearsal.remove(self.pods)
        self.rehearsal.remove_nodes(nodes)
        return frozenset(_unit(each) for each in placements if not each.node)


def _shapes(nodes: Iterable[Node]) -> list[Node]:
    """One node of each of the most common shapes; nodes of a shape differ in name, hostname and images only."""
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
    """The number of nodes that offer as much as the pods request."""
    offered = amounts(shape.status.allocatable)
    total: Counter[str] = Counter()
    for pod in pods:
        total[PODS] += 1
        total.update(pod.signature.requests)
    return max((-(-total[name] // offered[name]) for name in total if offered.get(name)), default=1)


def _copy(shape: Node, name: str) -> Node:
    labels = {**shape.metadata.labels, _HOSTNAME: name}
    return msgspec.structs.replace(shape, metadata=ObjectMeta(name=name, uid=name, labels=labels))
