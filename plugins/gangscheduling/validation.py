"""Whether pods may form one group: kube-scheduler's rules (`validatePodGroup`), checked before members are tried."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from muster.framework.groups import GroupRecord
from muster.framework.model.pod_info import PodInfo

from . import messages
from .api import PREEMPT_LOWER_PRIORITY, GroupSpec
from .hierarchy import Hierarchy


class ValidatedGroups(Protocol):
    """The requirements on groups and their members."""

    hierarchy: Hierarchy

    def object_of(self, group: str) -> Any:
        """The group's object, or that of a hierarchy."""
        ...

    def record(self, group: str) -> GroupRecord[Any]:
        """The record of a PodGroup and its members."""
        ...

    def remaining(self, group: str) -> Collection[PodInfo]:
        """Members that are to be tried."""
        ...


class GroupFaults:
    """The reasons why groups' pods cannot be one group, kept until a member or an object changes.

    They are no part of the groups' records: each is computed from a whole hierarchy, and all are forgotten together.
    """

    def __init__(self, groups: ValidatedGroups) -> None:
        self._groups = groups
        self._faults: dict[str, str | None] = {}

    def of(self, group: str) -> str | None:
        """Why the members of a PodGroup, or of a hierarchy, cannot be one group; None when they can."""
        if group not in self._faults:
            self._faults[group] = self._find(group)
        return self._faults[group]

    def forget(self, group: str) -> None:
        """The PodGroup or its members changed."""
        self._faults.pop(group, None)
        self._faults.pop(self._groups.hierarchy.whole(group), None)

    def forget_all(self) -> None:
        """A hierarchy changed."""
        self._faults.clear()

    def _find(self, group: str) -> str | None:
        found, groups = self._groups.object_of(group), self._groups
        leaves = [*groups.hierarchy.leaves(group)]
        if found is None or self._are_alike(leaves, found.spec):
            return None
        remaining = [pod for leaf in leaves for pod in groups.remaining(leaf)]
        waiting = sorted(remaining, key=lambda pod: (-pod.priority, pod.key))
        scheduled = [pod for leaf in leaves for pod in groups.record(leaf).placed_pods()]
        return fault(found.spec, waiting, scheduled)

    def _are_alike(self, leaves: Sequence[str], spec: GroupSpec) -> bool:
        """Whether all members are of one kind, and that goes with the group: so it is as a rule."""
        records = [self._groups.record(leaf) for leaf in leaves]
        kinds = {kind for record in records for kind in record.kinds}
        some = next((pod for record in records for pod in record.pods.values()), None)
        return len(kinds) == 1 and some is not None and fault(spec, [some], ()) is None


def fault(group: GroupSpec, waiting: Iterable[PodInfo], scheduled: Iterable[PodInfo]) -> str | None:
    """The problem with the first member that does not go with the group; None when all do.

    `waiting` are those that are to be tried, in their order; the first of them sets the schedulerName.
    """
    pods = [*waiting, *scheduled]
    if not pods:
        return None
    first = pods[0].pod.spec.scheduler_name
    priority, policy = group.priority or 0, group.preemption_policy
    for pod in pods:
        spec = pod.pod.spec
        own = spec.preemption_policy or PREEMPT_LOWER_PRIORITY
        if spec.scheduler_name != first:
            return messages.other_scheduler(spec.scheduler_name, first)
        if pod.priority != priority:
            return messages.other_priority(pod.priority, priority)
        if group.preemption_policy is not None and own != group.preemption_policy:
            return messages.other_preemption_policy(own, group.preemption_policy)
        policy = policy or own
        if own != policy:
            return messages.unlike_preemption_policies(own, policy)
    return None
