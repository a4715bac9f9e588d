"""Groups of pods that are placed together, and plugins that follow what happens in the cluster.

The first GroupPlugin of a profile that claims a pod handles it. The queue keeps the waiting members of a group in one
entry, and the group cycle places the members that the group lacks in one transaction. The words are kube-scheduler's
where it has them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..model.pod_info import PodInfo
from .group_tree import Part, Shortage
from .group_view import GroupKind
from .plugin import Args, Plugin
from .status import Code, Status
from .topology import NoDomain, Topology


class GroupPlugin(Plugin[Args]):
    """Knows which pods belong together and how many of them must be placed at once."""

    kind: ClassVar[GroupKind[Any] | None] = None
    """The kind of its groups' objects, so that people are shown them; None for groups that have no object."""

    terse: ClassVar[bool] = False
    """Whether all members get the same message about preemption, and none where there is no pod to evict.

    If not, messages are kube-scheduler's: always one, but none for members that were not tried any more.
    """

    @abstractmethod
    def group_of(self, pod: PodInfo) -> str | None:
        """The id of the group that `pod` is to be tried with; None to try it by itself, or with another plugin's group.

        Called whenever the pod enters the queue. The answer may change over time. Groups of two plugins are two groups,
        whatever their ids.
        """

    def priority(self, group: str) -> int | None:
        """The priority that the group queues with; None for that of its pods."""
        return None

    @abstractmethod
    def missing(self, group: str) -> int:
        """How many more members must get a place for the group to have its quorum; 0 or less when it has it.

        When it has it, members are placed each on its own.
        """

    def fault(self, group: str) -> str | None:
        """Why the group's pods cannot be one group; then none is tried, and all get it as their reason. Pure."""
        return None

    @abstractmethod
    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The one status that all members get when `placed` of them fit but `missing` had to.

        `cause` is the status of the first member that did not fit; one that names no plugin is PENDING and says that
        too few members were there to be tried. With `no_domain`, the members have to be together and these are the
        counts and the cause of the domain that comes closest. Pure, as deciding is: what follows from it is done in
        `DecisionFollower.on_group_decision`.

        Legal statuses: a rejection, ERROR.
        """

    def reject_trial(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The status that describes a trial without pods that may be evicted; only for messages.

        Unless it is overridden, why the first member did not fit. Pure.

        Legal statuses: a rejection, ERROR.
        """
        return cause

    def topology(self, group: str) -> Topology | None:
        """Where members have to be together; None for anywhere. Asked at every attempt, after `group_of`."""
        return None

    def placed_members(self, group: str) -> Iterable[PodInfo]:
        """Members that hold a node, reserved or bound: the others go to their domain. Asked where there is a topology.

        A group that has a topology is to be named by `group_of` also when it has its quorum: members that come later
        are held to the domain of those before them.
        """
        return ()

    def reject_member(self, status: Status, own: Status | None, *, placed: bool) -> Status:
        """The status that one member gets when its group is rejected, `status` being `reject_group`'s answer.

        `own` is why it found no node; None when it was placed in the trial, or was not tried. Unless it is overridden,
        all get the same, but for those that wait for something of their own. Pure.

        Legal statuses: a rejection, ERROR.
        """
        return own if own is not None and own.code is status.code is Code.PENDING else status

    def tree(self, group: str) -> Part | None:
        """The groups that the group consists of, as they are now; None for one whose members are its own.

        All waiting members of a tree are decided for together, whatever `missing` says.
        """
        return None

    def part_of(self, pod: PodInfo) -> str:
        """The key of the leaf of its tree that the pod is a member of. Asked about members of trees."""
        raise NotImplementedError

    def reject_part(self, part: Part, cause: Shortage | Status | None) -> Status:
        """The status of a part that did not fit, by what it lacks or by the error of a member or a part. Pure.

        Asked of plugins that have trees; without a cause when the tree has what it needs and no other member fits.

        Legal statuses: a rejection, ERROR.
        """
        raise NotImplementedError

    def preemption_priority(self, group: str, waiting: Sequence[PodInfo]) -> int:
        """What pods must be below for the group to evict them: its own, else the highest of those that wait."""
        own = self.priority(group)
        return max(pod.priority for pod in waiting) if own is None else own

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        """Whether the group may evict pods: not if `preemptionPolicy: Never` holds for any of those that wait."""
        return all(pod.pod.spec.preemption_policy != "Never" for pod in waiting)

    def uid(self, group: str) -> str:
        """The UID of the group's object, for messages."""
        return group


@dataclass(frozen=True, slots=True)
class Disruption:
    """What evicting a pod means for others, see `DisruptionPlugin`.

    Attributes:
        group: the group's id.
        pods: its members that hold a node or are about to, the pod among them.
        priority: the group's: what a preemptor's has to exceed.
        spare: so many of `pods` may go and the others go on; one more, and all have to.
        composite: whether it is a group of groups, which is more important than a group of pods of its priority.
    """

    group: str
    pods: Sequence[PodInfo]
    priority: int
    spare: int
    composite: bool = False


class DisruptionPlugin(Plugin[Args]):
    """Knows which running pods need one another, so that preemption evicts all of them or none."""

    @abstractmethod
    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The pod's group, as far as it runs; None for a pod that may be evicted by itself. Pure, and fast.

        Asked about pods of all profiles. A pod about which it fails is not evicted.
        """


class PodFollower(Plugin[Args]):
    """Follows all pods of the cluster that have not ended, whoever schedules them."""

    @abstractmethod
    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod came (`old` is None), changed, or went (`new` is None). Called before the queue hears of it."""

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        """A pod that was bound was never reported on its node, and is not counted there any more."""


class ObjectFollower(Plugin[Args]):
    """Follows the objects of the kinds it declared in `watches`."""

    @abstractmethod
    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """An object came (`old` is None), changed, or went (`new` is None). Called before the queue hears of it."""
