"""Whether pods may form one group: kube-scheduler's rules (`validatePodGroup`), checked before members are tried."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from muster.framework.groups import GroupRecord
from muster.framework.model.pod_info import PodInfo

from . import messages
from .api import PREEMPT_LOWER_PRIORITY, GroupSpec
from .trees import GroupTrees


class ValidatedGroups(Protocol):
    """The requirements on groups and their members."""

    trees: GroupTrees

    def object_of(self, group: str) -> Any:
        """The object of a PodGroup or a CompositePodGroup."""
        ...

    def record(self, group: str, /) -> GroupRecord[Any]:
        """The record of a PodGroup and its members."""
        ...

    def remaining(self, group: str) -> Collection[PodInfo]:
        """The members that are to be tried, in the order in which they arrived."""
        ...


class GroupFaults:
    """The reasons why pods may not form one group, kept until a member or an object changes.

    They are kept apart from the records because each depends on a whole tree, and all are forgotten together.
    """

    def __init__(self, groups: ValidatedGroups) -> None:
        self._groups = groups
        self._faults: dict[str, str | None] = {}

    def of(self, group: str) -> str | None:
        """Why the members of a PodGroup, or of a tree, may not form one group; None when they may."""
        if group not in self._faults:
            self._faults[group] = self._find(group)
        return self._faults[group]

    def forget(self, group: str) -> None:
        """Forget the faults of a PodGroup that changed, or whose members changed, and of its tree."""
        self._faults.pop(group, None)
        self._faults.pop(self._groups.trees.tree_key(group), None)

    def forget_all(self) -> None:
        """Forget all faults, because a CompositePodGroup changed."""
        self._faults.clear()

    def _find(self, group: str) -> str | None:
        found, groups = self._groups.object_of(group), self._groups
        leaves = [*groups.trees.leaves(group)]
        if found is None or self._are_alike(leaves, found.spec):
            return None
        waiting = [pod for leaf in leaves for pod in sorted(groups.remaining(leaf), key=lambda pod: -pod.priority)]
        scheduled = [pod for leaf in leaves for pod in groups.record(leaf).placed_pods()]
        return fault(found.spec, waiting, scheduled)

    def _are_alike(self, leaves: Sequence[str], spec: GroupSpec) -> bool:
        """Whether all members are of one kind, which the group admits: the usual case, and quick to check."""
        records = [self._groups.record(leaf) for leaf in leaves]
        kinds = {kind for record in records for kind in record.kinds}
        some = next((pod for record in records for pod in record.pods.values()), None)
        return len(kinds) == 1 and some is not None and fault(spec, [some], ()) is None


def fault(group: GroupSpec, waiting: Iterable[PodInfo], scheduled: Iterable[PodInfo]) -> str | None:
    """The problem with the first member that may not belong to the group; None when all may.

    `waiting` are the members to try, part by part, each by priority and then by arrival, as `as_queued` tries them; the
    first of them sets the schedulerName.
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
