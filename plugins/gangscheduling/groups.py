"""The groups: everything that the scheduler knows about all PodGroups of scheduling.k8s.io now.

One object serves the plugins of all profiles, and the operator's controller, which writes the reports that it yields.
It knows which pods are members and which of them hold nodes; all of it is rebuilt from the API after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.framework.contract import COMPOSITE_PREFIX, Clock, Disruption, Part, Topology
from muster.framework.groups import GroupBook, GroupRecord, HealingPolicy, healing_policy
from muster.framework.model.pod_info import PodInfo

from . import messages
from .api import NativePodGroup, group_key
from .composite_api import CompositePodGroup
from .conditions import NativePodGroupReason
from .hierarchy import CompositeRecord, Hierarchy, is_root, topology_of
from .validation import GroupFaults


@dataclass(slots=True, eq=False)
class NativePodGroupRecord(GroupRecord[NativePodGroup]):
    """The record of one PodGroup.

    Attributes:
        was_unfit: whether too few of its members fitted in an attempt, and none has arrived since.
        lateness_reported: whether an Event reported that it waits for pods.
    """

    was_unfit: bool = False
    lateness_reported: bool = False

    @property
    def has_been_scheduled(self) -> bool:
        """Whether the last word is that the group was scheduled."""
        return self.announced is not None and self.announced.reason is NativePodGroupReason.SCHEDULED

    @property
    def scheduled(self) -> int:
        """How many members hold a node, or have succeeded: what an index has done needs not be done again."""
        return len(self.placed) + self.succeeded

    @property
    def existing(self) -> int:
        """The number of members, of any scheduler and in any state of waiting."""
        return len(self.pods) + self.succeeded

    @property
    def has_enough(self) -> bool:
        """Whether as many members exist as a gang needs."""
        spec = None if self.group is None else self.group.spec
        return spec is None or spec.scheduling_policy.gang is None or self.existing >= spec.min_count

    @property
    def topology(self) -> Topology | None:
        """Where its own members have to be together; None for anywhere."""
        return None if self.group is None else topology_of(self.group.spec.scheduling_constraints)


class NativePodGroups(GroupBook[NativePodGroup, NativePodGroupRecord]):
    """All groups.

    Attributes:
        hierarchy: which groups are parts of which.
        faults: why pods cannot be one group.
    """

    def __init__(self, clock: Clock, ended: Callable[[str, tuple[bool, int]], None] | None = None) -> None:
        super().__init__(group_key, clock, NativePodGroupRecord, ended)
        self.hierarchy = Hierarchy(self)
        self.faults = GroupFaults(self)

    # What the watches saw.

    def _member_changed(self, record: NativePodGroupRecord, old: PodInfo | None, new: PodInfo | None) -> None:
        self.hierarchy.members_changed(record.key)
        self.faults.forget(record.key)
        self._look(record)

    def _member_ended(self, record: NativePodGroupRecord) -> None:
        self.hierarchy.members_changed(record.key)

    def _group_changed(self, record: NativePodGroupRecord, known: NativePodGroup | None, *, another: bool) -> None:
        if another:
            record.lateness_reported = record.was_unfit = False
        self.hierarchy.follow_leaf(record.key, record.group)
        self.faults.forget(record.key)
        self._look(record)

    def follow_composite(self, key: str, new: CompositePodGroup | None) -> None:
        """A CompositePodGroup came, changed or went."""
        name = COMPOSITE_PREFIX + key
        self.hierarchy.follow_composite(key, new)
        self.faults.forget_all()
        self._changed(name)
        for group in self.hierarchy.leaves(name):
            self._changed(group)

    # What they are.

    def record_of(self, group: str) -> NativePodGroupRecord | CompositeRecord:
        """The record of a PodGroup, or of a CompositePodGroup."""
        return self.hierarchy.record(group) if is_root(group) else self.record(group)

    def object_of(self, group: str) -> NativePodGroup | CompositePodGroup | None:
        """The object of a PodGroup, or of a hierarchy or a part of one."""
        return self.get(group) or self.hierarchy.get(group)

    def quorum(self, group: str) -> int:
        """The number of pods that have to be scheduled at once; 0 for a group that does not exist."""
        found = self.get(group)
        return 0 if found is None else found.spec.min_count

    def missing(self, group: str) -> int:
        """The number of members that still must get a node for the quorum."""
        return self.quorum(group) - self.record(group).scheduled

    def is_ready(self, group: str) -> bool:
        """Whether a group that exists may be tried: as many pods exist as it, or what it is a part of, needs."""
        if not self.hierarchy.is_part(group):
            return self.record(group).has_enough
        root = self.hierarchy.root_of(group)
        return root is not None and self.hierarchy.is_ready(root)

    def lack(self, group: str) -> str | None:
        """The reason why a group that exists is not tried yet; None when it may be."""
        if self.is_ready(group):
            return None
        if not self.hierarchy.is_part(group):
            return messages.TOO_FEW
        root = self.hierarchy.root_of(group)
        return self.hierarchy.gap(group) if root is None else messages.tree_lacks(root, self.hierarchy.lack(root))

    def waits_for(self, group: str) -> str | None:
        """The reason why a group of this plugin whose pods exist is not tried, for users; None when it may be."""
        record = self.record(group)
        if record.group is None or not self._is_ours(record):
            return None
        if not record.has_enough:
            return messages.waiting_for_pods(record.existing, record.group.spec.min_count)
        return self.lack(group)

    def quorum_state(self, group: str) -> tuple[bool, int]:
        """Whether a gang may be tried, and how many more of its pods must get a node."""
        return group in self and self.is_ready(group), max(0, self.missing(group))

    def priority(self, group: str) -> int:
        """The group's own, whatever its pods have; 0 for one that names none, or does not exist."""
        found = self.object_of(group)
        return 0 if found is None else found.spec.priority or 0

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group that the pod runs with; where pods may go one by one, each by itself but as a group's.

        Of groups in groups the outermost counts that is disrupted as a whole; the priority is that of the outermost.
        """
        group = self.members.group_of(pod)
        found = self.get(group) if group is not None else None
        if group is None or found is None:
            return None
        known: dict[str, NativePodGroup | CompositePodGroup] = {group: found, **dict(self.hierarchy.known_above(group))}
        priority = self.priority([*known][-1])
        for name, each in reversed(known.items()):
            if each.spec.disrupted_together:
                together = [
                    member for leaf in self.hierarchy.leaves(name) for member in self.record(leaf).placed_pods()
                ]
                composite = isinstance(each, CompositePodGroup)
                return Disruption(name, together, priority, spare=0, composite=composite)
        return Disruption(f"{group}/{pod.name}", [pod], priority, spare=1)

    def healing(self, group: str) -> HealingPolicy:
        """The group's healing policy: its own, else that of the innermost group above it that has one."""
        found = self.get(group)
        if found is None:
            return HealingPolicy.KEEP
        return healing_policy(found.annotations, *(above.annotations for _, above in self.hierarchy.known_above(group)))

    def tree_around(self, group: str) -> Part | None:
        """The hierarchy that a PodGroup is in."""
        return self.hierarchy.tree_of(self.hierarchy.whole(group))

    def falling_with(self, group: str) -> Sequence[str]:
        """The other parts of its hierarchy that cannot go on when it cannot."""
        return self.hierarchy.falling_with(group)

    def remaining(self, group: str) -> list[PodInfo]:
        """Members without a node that are ours to place and not held back by scheduling gates; in no certain order."""
        return [
            pod
            for pod in self.record(group).unplaced_pods()
            if pod.pod.spec.scheduler_name in self.profiles and not pod.pod.spec.scheduling_gates
        ]

    def remaining_count(self, group: str) -> int:
        """How many they are. Asked for each member that is tried, of thousands, of which few are held back."""
        record = self.record(group)
        if record.gated or any(kind.scheduler not in self.profiles for kind in record.kinds):
            return len(self.remaining(group))
        return len(record.pods) - len(record.placed)

    # What was decided about them.

    def bound(self, pod: PodInfo) -> None:
        """The API accepted a member's binding, which may complete the quorum of its group."""
        self.members.bind(pod)
        group = self.members.group_of(pod)
        if group is not None:
            self._look(self.record(group))

    def say(self, group: str, reason: NativePodGroupReason, message: str = "", note: str = "") -> None:
        """The last word on a group. That it has been scheduled is the last of all."""
        record = self.record(group)
        if record.group is not None and not record.has_been_scheduled:
            self.announce(group, reason, message, note=note, generation=record.group.metadata.generation)

    def _look(self, record: NativePodGroupRecord) -> None:
        """Once the quorum of a group of ours is bound that is the word on it."""
        if record.group is None or record.has_been_scheduled:
            return
        if len(record.bound) + record.succeeded >= record.group.spec.min_count and self._is_ours(record):
            self.say(record.key, NativePodGroupReason.SCHEDULED)

    def _is_ours(self, record: NativePodGroupRecord) -> bool:
        first = next(iter(record.pods.values()), None)
        return first is not None and first.pod.spec.scheduler_name in self.profiles
