"""Placement requests: what pods and groups that were rejected for lack of capacity need in order to start.

They are read from decisions, and `planning` finds capacity for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from muster.framework.contract import (
    CycleState,
    GroupDecision,
    Part,
    PodDecision,
    PodInfo,
    PodSignature,
    Topology,
    TotalCapacity,
    checkpoint,
    entity_group,
    rank,
)

from .args import NAME

Rows = npt.NDArray[np.intp]

_OF_CAPACITY = frozenset({"NodeResourcesFit", NAME})


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """The request of a pod or a group that has to be placed at once.

    Attributes:
        key: a group as `plugin/id`, a pod as `namespace/name`.
        members: the pods, as many as are needed; a tree has none of its own.
        states: the cycle state of each member's attempt; None if no pod with its signature was tried.
        levels: the node labels on which all members have to agree; empty if they need no domain.
        slice_size, slice_level: the number of successive members that form a slice, and the label on which they have
            to agree besides; 0 and "" without slices.
        placed_members: if members need a domain, those that have a node.
        parts: for a tree, the groups that it consists of.
        needed: for a tree, the number of parts that have to start.
        in_all: the capacity that has to be free for the whole group on any of some nodes.
        within: the rows that it may use; None for all.
    """

    key: str
    members: Sequence[PodInfo] = ()
    states: Sequence[CycleState | None] = ()
    levels: tuple[str, ...] = ()
    slice_size: int = 0
    slice_level: str = ""
    placed_members: Sequence[PodInfo] = ()
    parts: Sequence[PlacementRequest] = ()
    needed: int = 0
    in_all: TotalCapacity | None = None
    within: Rows | None = None

    def groups(self) -> Iterator[PlacementRequest]:
        """This request and all groups in it, each before its parts."""
        yield self
        for part in self.parts:
            yield from part.groups()

    @property
    def pods(self) -> Sequence[PodInfo]:
        """All pods in it."""
        return [pod for group in self.groups() for pod in group.members]


def lacks_capacity(decision: PodDecision) -> bool:
    """Whether a member lacks capacity: no node takes it, or too little is free for its group."""
    in_all = _in_all(decision)
    return _taken_by_none(decision) or (in_all is not None and not in_all.free and _rejected(decision))


def is_kept_off(decision: PodDecision) -> bool:
    """Whether reservations rejected a member on some nodes: more may be lacking there than it says."""
    return _rejected(decision) and NAME in decision.unschedulable_plugins


def wanted_by_pod(decision: PodDecision) -> PlacementRequest | None:
    """The request of a single pod; None if it was not rejected for lack of capacity."""
    if not _taken_by_none(decision):
        return None
    return PlacementRequest(decision.pod.key, [decision.pod], [decision.state], within=decision.within)


def _taken_by_none(decision: PodDecision) -> bool:
    return _rejected(decision) and not _OF_CAPACITY.isdisjoint(decision.unschedulable_plugins)


def _rejected(decision: PodDecision) -> bool:
    return decision.status is not None and decision.status.rejected


def _in_all(decision: PodDecision) -> TotalCapacity | None:
    found = decision.state.get(TotalCapacity.KEY)
    return found if isinstance(found, TotalCapacity) else None


def wanted_by_group(decision: GroupDecision) -> PlacementRequest | None:
    """The request of a group; None if it does not lack capacity, or its pods do not exist.

    For a tree that has all the parts that it needs, it is the request of the next waiting part.
    """
    lacking = decision.status is not None and any(lacks_capacity(each) for each in decision.members)
    if decision.tried_as is None or not lacking:
        return None
    states = {each.pod.signature: each.state for each in (*decision.untried, *decision.members)}
    waiting = dict(decision.waiting_in)
    for leaf in decision.tried_as.leaves():
        if leaf.topology is not None and leaf.topology.slice_size:
            waiting[leaf.key] = _by_rank(waiting.get(leaf.key, ()))
    wanted = _Requests(decision.plugin, waiting, states).of(decision.tried_as, one_more=not decision.tried_as.least)
    in_all = next((found for each in decision.members if (found := _in_all(each)) is not None), None)
    return wanted if wanted is None or in_all is None else replace(wanted, in_all=in_all)


def _by_rank(pods: Sequence[PodInfo]) -> Sequence[PodInfo]:
    """Members in the order in which they form slices."""
    ranks = []
    for pod in pods:
        ranks.append(rank(pod))
        checkpoint()
    return [pods[place] for place in sorted(range(len(pods)), key=ranks.__getitem__)]


@dataclass(frozen=True, slots=True)
class _Requests:
    """The requests of a plugin's groups, from the waiting pods of each group and the states by pod signature."""

    plugin: str
    waiting_in: Mapping[str, Sequence[PodInfo]]
    states: Mapping[PodSignature, CycleState]

    def of(self, part: Part, *, one_more: bool) -> PlacementRequest | None:
        """The request of a group, for one more member if it has its quorum; None if its pods do not exist."""
        key, topology = entity_group(self.plugin, part.key), part.topology or Topology((), 0)
        levels = topology.levels[: topology.required]
        if part.parts is None:
            count = 1 if one_more else max(0, part.needed)
            pods = self.waiting_in.get(part.key, ())[:count]
            if len(pods) < count:
                return None
            states = [self.states.get(pod.signature) for pod in pods]
            return PlacementRequest(
                key, pods, states, levels, topology.slice_size, topology.slice_level, part.placed_members
            )
        all_parts = (self.of(each, one_more=one_more and not each.least) for each in part.parts)
        parts = [each for each in all_parts if each is not None]
        needed = 1 if one_more else part.needed
        if len(parts) < needed:
            return None
        return PlacementRequest(key, levels=levels, placed_members=part.placed_members, parts=parts, needed=needed)
