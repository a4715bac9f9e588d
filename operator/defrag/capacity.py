"""The arithmetic of free capacity: how many waiting pods fit nodes by their amounts, before and after pods are moved.

`choices` asks it which sets of pods are worth a trial. Only amounts count here, so the engine may find that fewer pods
fit, and never that more do: a set that is ruled out here cannot help. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster.framework.contract import Placed
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WaitingDemand:
    """The demand of waiting pods on nodes.

    Attributes:
        each: the amounts that every one of them needs; where they differ, the least of each resource.
        pods: how many of them need a node.
        areas: the sets of nodes of which one has to take all of them.
    """

    each: Amounts
    pods: int
    areas: Sequence[Sequence[str]]


class FreeCapacity:
    """The free amounts of nodes, in the resources of one demand.

    Args:
        free: the free amounts by node and resource.
        demand: the amounts that one waiting pod needs.
    """

    def __init__(self, free: Mapping[str, Amounts], demand: Amounts) -> None:
        self._free = free
        self._demand = {name: amount for name, amount in demand.items() if amount > 0}

    def places(self, node: str, leaving: Iterable[Placed] = ()) -> int:
        """How many waiting pods fit the node once these pods have left it."""
        free = dict(self._free.get(node, {}))
        for placed in leaving:
            if placed.node_name == node:
                for name, amount in taken_by(placed.pod).items():
                    free[name] = free.get(name, 0) + amount
        return max(0, min((free.get(name, 0) // amount for name, amount in self._demand.items()), default=0))

    def fewest(self, node: str, movable: Collection[Placed]) -> int:
        """A lower bound of the pods that have to leave the node for one more place; more than there are if none helps.

        Each resource is looked at alone, with the pods that take most of it.
        """
        free, wanted, fewest = self._free.get(node, {}), self.places(node) + 1, 1
        for name, amount in self._demand.items():
            lacking = amount * wanted - free.get(name, 0)
            count = 0
            for taken in sorted((taken_by(placed.pod).get(name, 0) for placed in movable), reverse=True):
                if lacking <= 0:
                    break
                lacking, count = lacking - taken, count + 1
            fewest = max(fewest, count if lacking <= 0 else len(movable) + 1)
        return fewest

    def most(self, node: str, movable: Collection[Placed]) -> int:
        """An upper bound of the pods in a set that makes places and has no needless pod.

        So many pods make all places that the node can have, even if they take as little as possible of each resource.
        """
        free, wanted, most = self._free.get(node, {}), self.places(node, movable), 0
        for name, amount in self._demand.items():
            left, count = amount * wanted - free.get(name, 0), 0
            for taken in sorted(taken_by(placed.pod).get(name, 0) for placed in movable):
                if left <= 0:
                    break
                left, count = left - taken, count + 1
            most = max(most, count)
        return most

    def after(self, leaving: Collection[Placed]) -> FreeCapacity:
        """The capacity once these pods have left their nodes."""
        changed = {placed.node_name: dict(self._free[placed.node_name]) for placed in leaving if self._has(placed)}
        for placed in leaving:
            if self._has(placed):
                free = changed[placed.node_name]
                for name, amount in taken_by(placed.pod).items():
                    free[name] = free.get(name, 0) + amount
        return FreeCapacity({**self._free, **changed}, self._demand)

    def _has(self, placed: Placed) -> bool:
        return placed.node_name in self._free


def taken_by(pod: PodInfo) -> Amounts:
    """The amounts that a pod takes of its node."""
    return {**pod.signature.requests, PODS: 1}


def least_of_each(pods: Iterable[PodInfo]) -> Amounts:
    """The amounts that each of these pods needs at least."""
    needs = [taken_by(pod) for pod in pods]
    return {name: min(need.get(name, 0) for need in needs) for name in needs[0]} if needs else {}


class Destinations:
    """Whether moved pods find the amounts that they need on another node, as far as each of them alone goes.

    `free` has the free amounts of all resources by node. What is found for pods of one signature is kept.
    """

    def __init__(self, free: Mapping[str, Amounts]) -> None:
        self._free = free
        self._fitting: dict[int, tuple[PodInfo, Sequence[str]]] = {}

    def may_take(self, moved: Collection[Placed], closed: Collection[str] = ()) -> bool:
        """Whether each of these pods has a node with what it needs, less its own and those in `closed`.

        The others have left their nodes then.
        """
        return all(self._has_node(placed, moved, closed) for placed in moved)

    def _has_node(self, placed: Placed, moved: Collection[Placed], closed: Collection[str]) -> bool:
        own = placed.node_name
        if any(node != own and node not in closed for node in self._nodes_for(placed.pod)):
            return True
        emptier: dict[str, dict[str, int]] = {}
        for other in moved:
            node = other.node_name
            if node != own and node not in closed and node in self._free:
                free = emptier.setdefault(node, dict(self._free[node]))
                for name, amount in taken_by(other.pod).items():
                    free[name] = free.get(name, 0) + amount
        return any(_covers(free, placed.pod) for free in emptier.values())

    def _nodes_for(self, pod: PodInfo) -> Sequence[str]:
        known = self._fitting.get(id(pod.signature))
        if known is None:
            fitting = [node for node, free in self._free.items() if _covers(free, pod)]
            known = self._fitting[id(pod.signature)] = pod, fitting
        return known[1]


def _covers(free: Amounts, pod: PodInfo) -> bool:
    return all(free.get(name, 0) >= amount for name, amount in taken_by(pod).items() if amount > 0)
