"""Preemption for a whole group: the group, a trial of all that it lacks, and groups as victims.

The runtime implements `PodGroupTrial` and passes it to `PodGroupPostFilterPlugin`s. Plugins that know groups say
through `DisruptionPlugin` (see `group`) which pods may not be evicted without others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..model.pod_info import PodInfo
from ..snapshot.view import Rows
from .extender import Victims
from .status import Status


class Placed(NamedTuple):
    """A pod and the node on which it is counted; the object of an assumed pod does not name that node."""

    pod: PodInfo
    node_name: str


@dataclass(frozen=True, slots=True)
class PodGroupInfo:
    """A group that does not fit without evictions.

    Attributes:
        key: its id, as `GroupPlugin.group_of` names it.
        uid: of its object.
        members: its waiting members, in the order in which they are tried.
        missing: how many of them must get a node.
        priority: the priority below which pods may be victims.
        may_preempt: whether it may evict pods.
        reason: that of the condition PodScheduled which its members get unless it evicts pods.
        terse: whether it gets no message if there is no pod to evict, see `GroupPlugin.terse`.
        all_that_fit: whether more than `missing` members get a node if evictions make more of them fit.
        chooses_domain: whether it still has to get a domain, and gets the one that it would get without all pods that
            may be evicted.
    """

    key: str
    uid: str
    members: Sequence[PodInfo]
    missing: int
    priority: int
    may_preempt: bool
    reason: str
    terse: bool
    all_that_fit: bool = False
    chooses_domain: bool = False

    @property
    def wanted(self) -> int:
        """The number of members that are to get a node if they can."""
        return len(self.members) if self.all_that_fit else self.missing


@dataclass(frozen=True, slots=True, weakref_slot=True)
class DisruptionUnit:
    """Running pods that need one another.

    Attributes:
        key: distinguishes it from others.
        pods: all of them that have a node, reserved or bound.
        priority: what a preemptor's has to exceed to evict any of them.
        spare: how many of them may be evicted without the others; one more, and all are.
        composite: whether they are the pods of a group of groups.
    """

    key: str
    pods: Sequence[Placed]
    priority: int
    spare: int
    composite: bool = False


class TrialFailed(Exception):
    """A plugin broke in a trial, so the trial has no result; `status` names the plugin and the point."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


Domains = Mapping[str, Rows | None]
"""The domain of each member that has found a node, by UID: its rows; None if the member needs no domain."""


class PodGroupTrial(Protocol):
    """Trials of a whole group with pods removed. Nothing that it does outlives `scenario`.

    `remove_pod`, `add_pod` and `fits` raise TrialFailed when a plugin breaks; the caller must leave the scenario then.
    """

    @property
    def assignments(self) -> Sequence[Placed]:
        """The result of `schedule`: as many members as the group lacks, or all that fit if it is to have all of them.

        They are in the order in which they were placed.
        """
        ...

    @property
    def depends_on_cluster(self) -> bool:
        """Whether a Filter plugin reads pods beyond each node for one of the assignments, see `fits`."""
        ...

    @property
    def domains(self) -> Domains:
        """The domains of the members that `schedule` found nodes for."""
        ...

    def scenario(self, domains: Domains | None = None) -> AbstractContextManager[None]:
        """The block for the calls below: its end undoes everything. The members' nominations do not count in it.

        With `domains`, as an earlier scenario had them, the group and its parts get no other ones.
        """
        ...

    def remove_pod(self, pod: PodInfo, node_name: str) -> None:
        """Remove a pod from its node. Raises KeyError if it is not counted there."""
        ...

    def add_pod(self, pod: PodInfo, node_name: str) -> None:
        """Add a removed pod again."""
        ...

    def ask_about_nodes(self) -> Status | None:
        """None once extenders have said which nodes members may have after evictions there; else a status.

        They are called after the decision, and the group is decided again with their answers: so call this first, and
        outside of a scenario. If no extender is interested in a member, there is nothing to ask.
        """
        ...

    def ask_about_evictions(self, placement: Sequence[Placed], victims: Mapping[str, Victims]) -> Status | None:
        """None once extenders have agreed that the victims, by node, are evicted for these members; else a status.

        When the group is decided again, equal members do not get a node on whose victims extenders did not agree.
        """
        ...

    def schedule(self, members: Iterable[PodInfo] | None = None) -> Status | None:
        """Find nodes for as many members as the group lacks, with all plugins; None, or the status if fewer fit.

        With `members`, only these are tried, see `selections`. Leaves the members off the nodes afterwards.
        kube-scheduler's PodGroupSchedulingFunc.
        """
        ...

    def rejection(self) -> Status:
        """The status of the group as it was decided, without evictions, in the words of `schedule`."""
        ...

    def selections(self) -> Iterable[Sequence[PodInfo]]:
        """Selections of fewer than `missing` members with which the group would start, the preferred one first.

        Only a group of groups has any: kube-scheduler tries all of its waiting members. Members that no eviction helps
        are in none of them. Call it in a scenario.
        """
        ...

    def fits(self, nodes: Collection[str] | None = None, *, returned_to: Collection[str] = ()) -> bool:
        """Whether the assignments still fit, member by member, each with the previous ones on their nodes.

        With `nodes`, only assignments to these nodes are checked. `returned_to` names nodes to which pods were put
        back: a member that lacks capacity there is found first, so that it costs little to learn that it does.
        """
        ...

    @property
    def rows_in_all(self) -> Rows:
        """Rows on which the group as a whole needs a total amount of free capacity, see `TotalCapacity`; else none.

        `schedule` and `fits` check that amount too.
        """
        ...

    @property
    def pods_anywhere_matter(self) -> bool:
        """Whether a Filter plugin reads pods beyond each node for one of the members about which `rows` was asked.

        A pod on a node that no member can use may then keep members from other nodes.
        """
        ...

    def rows(self, pods: Sequence[PodInfo]) -> tuple[Rows, Rows]:
        """Rows that could take one of these members now, and rows that perhaps could after evictions.

        The members have to be of one signature; they may differ in their claims and labels. Rows that extenders
        rejected are left out once they were asked, see `ask_about_nodes`, and so are those outside of the scenario's
        domains.
        """
        ...


def with_reservation(reason: str, reservation: str | None) -> str:
    """A group's reason, followed by the sentence about its reservation (`RESERVATIONS`) if it has one."""
    return reason if reservation is None else f"{reason.removesuffix('.')}. {reservation}"


def with_preemption(reason: str, message: str) -> str:
    """A group's reason and what PodGroupPostFilter made of it: after a sentence another, else as kube-scheduler."""
    if not message:
        return reason
    return f"{reason} {message}" if reason.endswith(".") else f"{reason}, {message}"
