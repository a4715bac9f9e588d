"""Groups of pods that are placed together, and plugins that follow what happens in the cluster.

The first GroupPlugin of a profile that claims a pod handles it. The queue keeps the waiting members of a group in one
entry, and `GroupScheduler` places the members that the group lacks in one transaction. The words are kube-scheduler's
where it has them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..model.pod_info import PodInfo
from .eviction import EvictionLimit, EvictionRule
from .group_tree import Part, Shortage
from .group_view import GroupKind
from .plugin import Args, Plugin
from .status import Code, Status
from .topology import NoDomain, Topology


class GroupPlugin(Plugin[Args]):
    """Knows which pods belong together and how many of them must be placed at once."""

    kind: ClassVar[GroupKind[Any] | None] = None
    """The kind of its groups' objects, for showing them to users; None for groups without objects."""

    terse: ClassVar[bool] = False
    """Whether all members get the same message about preemption, and none if there is no pod to evict.

    Otherwise messages are kube-scheduler's: always one, but none for members that were no longer tried.
    """

    fails_as_one: ClassVar[bool] = False
    """Whether an ERROR about one of the members tried together fails all of them, as in kube-scheduler.

    `reject_group` then gets that ERROR as its cause. Otherwise the member counts like one that does not fit. An ERROR
    of a PodGroupPostFilter plugin is then the status of all members. Otherwise it is only a part of the message.
    """

    @abstractmethod
    def group_of(self, pod: PodInfo) -> str | None:
        """The id of the group with which `pod` is tried; None to try it alone, or with another plugin's group.

        Called whenever the pod enters the queue. The answer may change over time, although the pod names the same group
        (`GroupKind.named_by`): members that come after the quorum may be tried alone. Groups of two plugins are
        different groups, whatever their ids.
        """

    def priority(self, group: str) -> int | None:
        """The priority with which the group is queued; None for that of its pods."""
        return None

    @abstractmethod
    def missing(self, group: str) -> int:
        """The number of members that still need a node for the quorum; 0 or less when the group has it.

        Members of a group with its quorum are placed one by one.
        """

    def fault(self, group: str) -> str | None:
        """The reason why the pods cannot form a group; no member is tried then, and all get this reason. Pure."""
        return None

    @abstractmethod
    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The one status that all members get when `placed` of them fit but `missing` had to.

        `cause` is the status of the first member that did not fit; if it names no plugin, it is PENDING and means that
        too few members existed to be tried. With `no_domain`, the members need one domain, and counts and cause are
        those of the domain that comes closest. If the answer is UNSCHEDULABLE, PodGroupPostFilter then looks for pods
        to evict. Pure, like all deciding: `DecisionFollower.on_group_decision` carries out the consequences.

        Legal statuses: a rejection, ERROR.
        """

    def reject_trial(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The status that describes a trial without the pods that may be evicted; only for messages.

        By default, why the first member did not fit. Pure.

        Legal statuses: a rejection, ERROR.
        """
        return cause

    def topology(self, group: str) -> Topology | None:
        """In which domain members have to be together; None for anywhere. Asked at every attempt, after `group_of`."""
        return None

    def placed_members(self, group: str) -> Iterable[PodInfo]:
        """Members that have a node, reserved or bound: they determine the domain of the others. Asked if there is a
        topology.

        `group_of` has to name a group with a topology also when the group has its quorum: later members are held to the
        domain of the earlier ones.
        """
        return ()

    def reject_member(self, status: Status, own: Status | None, *, placed: bool) -> Status:
        """The status that one member gets when its group is rejected, `status` being `reject_group`'s answer.

        `own` is why it found no node; None when it was placed in the trial, was not tried, or has no domain in which to
        be tried. By default all members get the same status, except those that wait for something of their own. Pure.

        Legal statuses: a rejection, ERROR.
        """
        return own if own is not None and own.code is status.code is Code.PENDING else status

    def tree(self, group: str) -> Part | None:
        """The groups of which the group consists now; None for a group of pods.

        All waiting members of a tree are decided together, whatever `missing` says.
        """
        return None

    def part_of(self, pod: PodInfo) -> str:
        """The key of the leaf of its tree to which the pod belongs. Asked about members of trees."""
        raise NotImplementedError

    def reject_part(self, part: Part, cause: Shortage | Status | None) -> Status:
        """The status of a part that did not fit, by what it lacks or by the error of a member or a part. Pure.

        Asked of plugins that have trees; without a cause when the tree has what it needs and no other member fits.

        Legal statuses: a rejection, ERROR.
        """
        raise NotImplementedError

    def preemption_priority(self, group: str, waiting: Sequence[PodInfo]) -> int:
        """The priority below which pods may be evicted for the group: its own, else the highest of its members."""
        own = self.priority(group)
        return max(pod.priority for pod in waiting) if own is None else own

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        """Whether the group may evict pods: not if any of its waiting members has `preemptionPolicy: Never`."""
        return all(pod.pod.spec.preemption_policy != "Never" for pod in waiting)

    def preempts_as(self, pod: PodInfo) -> str | None:
        """The id of the group as which a waiting pod preempts, also beyond the quorum.

        The group then gets as many nodes by evictions as it can, not only for the members that it lacks, and
        PodGroupPostFilter is asked about its later members too. None for a group that evicts pods for its quorum alone,
        and whose later members preempt as pods without a group do.
        """
        return None

    def uid(self, group: str) -> str:
        """The UID of the group's object, for messages."""
        return group


@dataclass(frozen=True, slots=True)
class Disruption:
    """The consequences of evicting a pod for its group, see `DisruptionPlugin`.

    Attributes:
        group: the group's id.
        pods: its members that have a node or are about to, the pod among them.
        priority: the group's, which a preemptor's has to exceed.
        spare: how many of `pods` may be evicted without the others; one more, and all are.
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
        """The pod's group, as far as it runs; None for a pod that may be evicted alone. Pure, and fast.

        Asked about pods of all profiles. A pod about which it fails is not evicted.
        """

    @abstractmethod
    def disruption_epoch(self) -> Hashable:
        """A value that changes with all on which `disruption` depends besides the pods that have nodes.

        Such as the objects of groups, and members without a node. Answers about running pods are kept while it and
        these pods are the same.
        """


class EvictionRulePlugin(Plugin[Args]):
    """Restricts, and extends, which pods may be evicted for whom."""

    @abstractmethod
    def eviction_rule(self, members: Sequence[PodInfo], missing: int, priority: int) -> EvictionRule | None:
        """The rule for a preemptor; None leaves it to priorities. Pure; never asked in a trial.

        For a pod without a group, the rule must follow from its signature, its namespace and the cluster: of pods that
        have these in common, one may be tried for all.

        Args:
            members: the pods that wait: one, or the waiting members of a group.
            missing: how many of them have to be placed.
            priority: the preemptor's.
        """

    @abstractmethod
    def may_claim(self, pods: Sequence[PodInfo], missing: int) -> bool:
        """Whether the rule may permit evictions for these pods that their priority does not. Must be fast.

        Asked before waiting pods are retried, about one pod of each signature.
        """


class EvictionLimitPlugin(Plugin[Args]):
    """Protects pods from eviction for a time, or makes a preemptor wait, whichever rule permits the evictions.

    A profile's preemptors are subject to the limits of the profile's own plugins.
    """

    @abstractmethod
    def eviction_limit(
        self, members: Sequence[PodInfo], missing: int, priority: int, reason: str
    ) -> EvictionLimit | None:
        """The limit for a preemptor; None for none. Pure; never asked in a trial.

        Its `protected_until` is asked about the pods that may be evicted, at most once each. `reason` is that of the
        condition PodScheduled which the preemptor gets unless it evicts pods, such as Unschedulable or QuotaExceeded;
        the other arguments are those of `EvictionRulePlugin.eviction_rule`. To learn whether a pod may be moved, which
        is no preemption, the limit is asked for with that pod as the only member, and with priority 0.
        """


class PodFollower(Plugin[Args]):
    """Follows all pods of the cluster that have not ended, whichever scheduler they name."""

    @abstractmethod
    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod was added (`old` is None), changed, or was removed (`new` is None). Called before the queue knows."""

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        """A bound pod was never reported on its node, and is no longer counted there."""


class ObjectFollower(Plugin[Args]):
    """Follows the objects of the kinds it declared in `watches`."""

    @abstractmethod
    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """An object was added (`old` is None), changed, or deleted (`new` is None). Called before the queue knows."""
