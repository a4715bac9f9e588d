"""Queueing hints of NodeResourcesFit: whether a change of a node or pod may make room for a rejected pod."""

from __future__ import annotations

from muster.framework.contract import Hint
from muster.framework.model.node import Node
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS, amounts

from .names import is_scheduled


def grew(pod: PodInfo, old: object, new: object) -> Hint:
    """A node came or changed: it must fit the pod when empty, and offer more of something the pod needs than before."""
    offered = amounts(new.status.allocatable) if isinstance(new, Node) else {}
    needed = {**_wanted(pod), PODS: 1}
    if any(amount > offered.get(name, 0) for name, amount in needed.items()):
        return Hint.SKIP
    if not isinstance(old, Node):
        return Hint.QUEUE
    before = amounts(old.status.allocatable)
    return Hint.QUEUE if any(offered.get(name, 0) > before.get(name, 0) for name in needed) else Hint.SKIP


def shrank(pod: PodInfo, old: object, new: object) -> Hint:
    """A pod on a node was scaled down: it must ask for less of something that the pod wants."""
    before, after = (each.signature.requests if isinstance(each, PodInfo) else {} for each in (old, new))
    return Hint.QUEUE if any(before.get(name, 0) > after.get(name, 0) for name in _wanted(pod)) else Hint.SKIP


def _wanted(pod: PodInfo) -> dict[str, int]:
    return {name: amount for name, amount in pod.signature.requests.items() if amount > 0 and is_scheduled(name)}
