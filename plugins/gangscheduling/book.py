"""The book of the PodGroups of scheduling.k8s.io: everything that the scheduler knows about them now.

One object serves the plugins of all profiles, and the operator's controller, which writes the reports that it yields.
It knows which pods are members and which of them have nodes; all of it is rebuilt from the API after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.framework.contract import COMPOSITE_PREFIX, Clock, Disruption, Part
from muster.framework.groups import GroupBook, QuorumFollower, QuorumState
from muster.framework.model.pod_info import PodInfo

from . import messages
from .api import NativePodGroup, group_key
from .composite_api import CompositePodGroup
from .record import NativePodGroupReason, NativePodGroupRecord
from .trees import CompositeRecord, GroupTrees, is_composite
from .validation import GroupFaults


class NativePodGroups(GroupBook[NativePodGroup, NativePodGroupRecord]):
    """The book of all PodGroups of scheduling.k8s.io.

    Attributes:
        trees: which groups are parts of which.
        faults: why pods cannot be one group.
    """

    def __init__(self, clock: Clock, quorum_follower: QuorumFollower | None = None) -> None:
        self.trees = GroupTrees(self)
        super().__init__(group_key, clock, NativePodGroupRecord, quorum_follower, above=self.trees.above)
        self.faults = GroupFaults(self)

    # Reports of the watches.

    def _member_changed(self, record: NativePodGroupRecord, old: PodInfo | None, new: PodInfo | None) -> None:
        self.trees.members_changed(record.key)
        self.faults.forget(record.key)
        self._announce_state(record)

    def _member_ended(self, record: NativePodGroupRecord) -> None:
        self.trees.members_changed(record.key)

    def _group_changed(self, record: NativePodGroupRecord, known: NativePodGroup | None, *, another: bool) -> None:
        if another:
            record.lateness_reported = record.was_unfit = False
        self.trees.follow_leaf(record.key, record.group)
        self.faults.forget(record.key)
        self._announce_state(record)

    def follow_composite(self, key: str, new: CompositePodGroup | None) -> None:
        """A CompositePodGroup was added, changed or deleted."""
        name = COMPOSITE_PREFIX + key
        self.revision += 1
        self.holds.follow(name, None if new is None else new.annotations)
        self.trees.follow_composite(key, new)
        self.faults.forget_all()
        self.mark_changed(name)
        for group in self.trees.leaves(name):
            self._announce_state(self.record(group))
            self.mark_changed(group)

    # Questions about groups.

    def record_of(self, group: str) -> NativePodGroupRecord | CompositeRecord:
        """The record of a PodGroup, or of a CompositePodGroup."""
        return self.trees.record(group) if is_composite(group) else self.record(group)

    def object_of(self, group: str) -> NativePodGroup | CompositePodGroup | None:
        """The object of a PodGroup or a CompositePodGroup."""
        return self.get(group) or self.trees.get(group)

    def quorum(self, group: str) -> int:
        """The number of pods that have to be scheduled at once; 0 for a group that does not exist."""
        return self.record(group).quorum

    def missing(self, group: str) -> int:
        """The number of members that still must get a node for the quorum."""
        return self.record(group).missing

    def is_ready(self, group: str) -> bool:
        """Whether a group that exists may be tried: as many pods exist as the group, or its tree, needs."""
        if not self.trees.is_part(group):
            return self.record(group).has_enough
        root = self.trees.root_of(group)
        return root is not None and self.trees.is_ready(root)

    def why_not_ready(self, group: str) -> str | None:
        """The reason why a group that exists is not tried yet; None when it may be tried."""
        if self.is_ready(group):
            return None
        if not self.trees.is_part(group):
            return messages.TOO_FEW
        root = self.trees.root_of(group)
        return (
            self.trees.why_no_root(group)
            if root is None
            else messages.tree_not_ready(root, self.trees.why_not_ready(root))
        )

    def waits_for(self, group: str) -> str | None:
        """The reason for users why a group of ours that has pods is not tried; None when it may be tried."""
        record = self.record(group)
        if record.group is None or not self._is_ours(record):
            return None
        if not record.has_enough:
            return messages.waiting_for_pods(record.existing, record.group.spec.min_count)
        return self.why_not_ready(group)

    def quorum_state(self, group: str) -> QuorumState:
        """A group may be tried if it, and in a tree all that the tree needs, have enough pods."""
        record = self.record(group)
        may_be_tried = record.group is not None and self.is_ready(group)
        return QuorumState(may_be_tried, max(0, record.missing), record.may_preempt)

    def priority(self, group: str) -> int:
        """The priority in the group's spec, whatever its pods have; 0 if it names none, or does not exist."""
        found = self.object_of(group)
        return 0 if found is None else found.spec.priority or 0

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group with which the pod is evicted: the outermost of its groups that is disrupted as a whole.

        If none is, the pod is evicted alone, as a disruption of its group. The priority is that of the outermost group.
        """
        group = self.members.counted_in(pod)
        found = self.get(group) if group is not None else None
        if group is None or found is None:
            return None
        known: list[tuple[str, NativePodGroup | CompositePodGroup]] = [(group, found), *self.trees.known_above(group)]
        priority = known[-1][1].spec.priority or 0
        for name, each in reversed(known):
            if each.spec.disrupted_together:
                together = [member for leaf in self.trees.leaves(name) for member in self.record(leaf).placed_pods()]
                composite = isinstance(each, CompositePodGroup)
                return Disruption(name, together, priority, spare=0, composite=composite)
        return Disruption(f"{group}/{pod.name}", [pod], priority, spare=1)

    def annotations_around(self, group: str) -> Sequence[Mapping[str, str]]:
        """Muster's annotations of the group's object, then of the groups above it, the innermost first."""
        own = super().annotations_around(group)
        return (*own, *(above.annotations for _, above in self.trees.known_above(group))) if own else ()

    def tree_around(self, group: str) -> Part | None:
        """The tree that a PodGroup is in."""
        return self.trees.tree_of(self.trees.tree_key(group))

    def evicted_with(self, group: str) -> Sequence[str]:
        """The other leaves of its tree that cannot continue without it."""
        return self.trees.evicted_with(group)

    def remaining(self, group: str) -> list[PodInfo]:
        """Members without a node and without scheduling gates that name one of our profiles, by arrival."""
        return [
            pod
            for pod in self.record(group).unplaced_pods()
            if pod.pod.spec.scheduler_name in self.profiles and not pod.pod.spec.scheduling_gates
        ]

    def remaining_count(self, group: str) -> int:
        """The number of `remaining` members; computed without listing them if none can be gated or left to others."""
        record = self.record(group)
        if record.gated or any(kind.scheduler not in self.profiles for kind in record.kinds):
            return len(self.remaining(group))
        return len(record.pods) - len(record.placed)

    # What was decided about groups.

    def bound(self, pod: PodInfo) -> None:
        """The API accepted a member's binding, which may complete the quorum of its group."""
        record = self.members.record_of(pod)
        if record is not None:
            self.members.count_bound(pod)
            self._announce_state(record)

    def announce_until_scheduled(
        self, group: str, reason: NativePodGroupReason, message: str = "", note: str = ""
    ) -> None:
        """Announce a decision, unless SCHEDULED has been announced before."""
        record = self.record(group)
        if record.group is not None and not record.has_been_scheduled:
            self.announce(group, reason, message, note=note, generation=record.group.metadata.generation)

    def _announce_state(self, record: NativePodGroupRecord) -> None:
        """Announce of a group of ours that its quorum is bound, or else that the group is held or no longer held."""
        if record.group is None or record.has_been_scheduled or not self._is_ours(record):
            return
        hold = self.holds.text(record.key)
        if len(record.bound) + record.succeeded >= record.group.spec.min_count:
            self.announce_until_scheduled(record.key, NativePodGroupReason.SCHEDULED)
        elif hold is not None:
            self.announce_until_scheduled(record.key, NativePodGroupReason.HELD, hold)
        elif record.reports_hold:
            user = self.holds.resumed_by(record.key)
            note = f"Resumed by {user}" if user else ""
            self.announce_until_scheduled(record.key, NativePodGroupReason.UNSCHEDULABLE, messages.RESUMED, note)

    def _is_ours(self, record: NativePodGroupRecord) -> bool:
        first = next(iter(record.pods.values()), None)
        return first is not None and first.pod.spec.scheduler_name in self.profiles
