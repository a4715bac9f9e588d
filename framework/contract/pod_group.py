"""Preemption for a whole group: the group, a trial of all that it lacks, and groups as victims.

The runtime implements `PodGroupTrial` and passes it to `PodGroupPostFilterPlugin`s. Plugins that know groups say
through `DisruptionPlugin` (see `group`) which pods may not be evicted without others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..model.pod_info import PodInfo
from ..snapshot.view import Rows
from .extender import Victims
from .status import Status


class Placed(NamedTuple):
    """A pod and the node that it is counted on, which one that is only assumed does not name itself."""

    pod: PodInfo
    node_name: str


@dataclass(frozen=True, slots=True)
class PodGroupInfo:
    """A group that does not fit as it is.

    Attributes:
        key: its id, as `GroupPlugin.group_of` names it.
        uid: of its object.
        members: those that wait for a node, in the order that they are tried in.
        missing: how many of them must get one.
        priority: what victims have to be below.
        may_preempt: whether it may evict anybody.
        terse: whether it gets no message where there is no pod to evict, see `GroupPlugin.terse`.
    """

    key: str
    uid: str
    members: Sequence[PodInfo]
    missing: int
    priority: int
    may_preempt: bool
    terse: bool = False


@dataclass(frozen=True, slots=True)
class DisruptionUnit:
    """Pods that run and need one another.

    Attributes:
        key: distinguishes it from others.
        pods: all of them that hold a node, reserved or bound.
        priority: what a preemptor's has to exceed to evict any of them.
        spare: so many of them may be evicted and the others go on; one more, and all have to go.
        composite: whether they are those of a group of groups.
    """

    key: str
    pods: Sequence[Placed]
    priority: int
    spare: int
    composite: bool = False


class TrialFailed(Exception):
    """A plugin broke in a trial, so nothing can be concluded from that; `status` names the plugin and the point."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class PodGroupTrial(Protocol):
    """What would be if these pods were gone, asked for a whole group. Nothing that it does outlives `scenario`.

    `remove_pod`, `add_pod` and `fits` raise TrialFailed when a plugin breaks; the scenario is to be left then.
    """

    @property
    def assignments(self) -> Sequence[Placed]:
        """What `schedule` found: as many members as the group lacks, in the order they were placed."""
        ...

    @property
    def depends_on_cluster(self) -> bool:
        """Whether a Filter plugin looks beyond each node for one of the assignments, see `fits`."""
        ...

    def scenario(self) -> AbstractContextManager[None]:
        """Around the calls below: at the end all is as before. Nominations of the group's members do not count."""
        ...

    def remove_pod(self, pod: PodInfo, node_name: str) -> None:
        """Take a pod off its node. Raises KeyError when it is not counted there."""
        ...

    def add_pod(self, pod: PodInfo, node_name: str) -> None:
        """Put one back that was taken off."""
        ...

    def ask_about_nodes(self) -> Status | None:
        """None once extenders have said which nodes they let members have if pods are evicted there; else why not.

        They are asked then, and the group is decided again with their answers: to be called first, and outside of a
        scenario. Without an extender that is interested in a member there is nothing to ask.
        """
        ...

    def ask_about_evictions(self, placement: Sequence[Placed], victims: Mapping[str, Victims]) -> Status | None:
        """None once extenders have agreed that the victims, by node, are evicted for these members; else why not.

        A node whose victims they do not agree to is not given to such members any more when the group is decided again.
        """
        ...

    def schedule(self) -> Status | None:
        """Find nodes for as many members as the group lacks, with all plugins; None, or why that many do not fit.

        Leaves the members off the nodes again. kube-scheduler's PodGroupSchedulingFunc.
        """
        ...

    def fits(self, nodes: Collection[str] | None = None) -> bool:
        """Whether the assignments still do, member by member, each with those before it on their nodes.

        With `nodes` only those to these nodes are looked at.
        """
        ...

    @property
    def rows_in_all(self) -> Rows:
        """Rows on which so much has to be free that the group asks for as a whole, see `TotalCapacity`; else none.

        `schedule` and `fits` look at that, too.
        """
        ...

    def rows(self, pod: PodInfo) -> tuple[Rows, Rows]:
        """Rows that could take the member as things are, and rows that could perhaps if pods were gone from them.

        Those that extenders do not let through are left out once they were asked, see `ask_about_nodes`.
        """
        ...


def with_preemption(reason: str, message: str) -> str:
    """A group's reason and what PodGroupPostFilter made of it: after a sentence another, else as kube-scheduler."""
    if not message:
        return reason
    return f"{reason} {message}" if reason.endswith(".") else f"{reason}, {message}"
