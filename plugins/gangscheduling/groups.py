"""The groups: what the scheduler knows of all PodGroups of scheduling.k8s.io at this moment.

One object serves the plugins of all profiles, and the operator's controller, which writes what is said here. It keeps
who is a member and who holds a node; all of it is rebuilt from the API after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muster.framework.contract import COMPOSITE_PREFIX, Clock, Disruption, Part, Topology
from muster.framework.groups import EndedMember, GroupBook, HealingPolicy, healing_policy
from muster.framework.model.pod_info import PodInfo

from . import messages
from .api import NativePodGroup, NativePodGroupSpec, group_key
from .composite_api import CompositePodGroup, CompositePodGroupSpec
from .conditions import NativePodGroupReason, Said
from .hierarchy import Hierarchy, is_root, topology_of
from .validation import fault


class NativePodGroups(GroupBook[NativePodGroup]):
    """All groups.

    Attributes:
        hierarchy: which groups are parts of which.
        on_standing: called with a group and how it stood before it was known that members have ended, which no plugin
            sees by itself.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(group_key, clock)
        self.on_standing: Callable[[str, tuple[bool, int]], None] = lambda group, before: None
        self._first_seen: dict[str, float] = {}
        self._said: dict[str, Said] = {}
        self._faults: dict[str, str | None] = {}
        self.hierarchy = Hierarchy(self)

    # What the watches saw.

    def follow_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended came, changed or went."""
        pod = new or old
        group = group_key(pod) if pod is not None else None
        if group is None:
            return
        changed = self.members.follow(old, new)
        if self.members.of(group):
            self._first_seen.setdefault(group, self._clock.now())
        else:
            self._first_seen.pop(group, None)
        if new is None and pod is not None:
            self._account_for(group, pod.uid)
        self.hierarchy.members_changed(group)
        self._forget_fault(group)
        if not self._look(group) and changed:
            self._changed(group)

    def follow_ended(self, uid: str, old: EndedMember | None, new: EndedMember | None) -> None:
        """A pod has ended, or one that had was deleted; see `Members`."""
        concerned = [member.group for member in (old, new) if member is not None]
        before = {group: self.standing(group) for group in concerned}
        super().follow_ended(uid, old, new)
        for group, standing in before.items():
            self.hierarchy.members_changed(group)
            self.on_standing(group, standing)

    def follow_group(self, group: str, new: NativePodGroup | None) -> None:
        """A PodGroup came, changed or went. What was said of one that went does not hold for a later one."""
        known = self._groups.pop(group, None)
        if known is not None and (new is None or new.metadata.uid != known.metadata.uid):
            self._said.pop(group, None)
        if new is not None:
            self._groups[group] = new
        if known is None or new is None or (known.metadata.uid, known.spec) != (new.metadata.uid, new.spec):
            self.hierarchy.follow_leaf(group, new)
            self._forget_fault(group)
        if new is not None:
            self._look(group)
        self._changed(group)

    def follow_composite(self, key: str, new: CompositePodGroup | None) -> None:
        """A CompositePodGroup came, changed or went."""
        name = COMPOSITE_PREFIX + key
        self.hierarchy.follow_composite(key, new)
        self._faults.clear()
        self._changed(name)
        for group in self.hierarchy.leaves(name):
            self._changed(group)

    # What they are.

    def object_of(self, group: str) -> NativePodGroup | CompositePodGroup | None:
        """The object of a PodGroup, or of a hierarchy or a part of one."""
        return self._groups.get(group) or self.hierarchy.get(group)

    def quorum(self, group: str) -> int:
        """How many pods have to be scheduled at once; 0 for a group that does not exist."""
        found = self._groups.get(group)
        return 0 if found is None else found.spec.min_count

    def scheduled(self, group: str) -> int:
        """How many members hold a node, or have succeeded: what an index has done needs not be done again."""
        return self.members.placed(group) + self.members.succeeded(group)

    def missing(self, group: str) -> int:
        """How many more members must get a node for the quorum."""
        return self.quorum(group) - self.scheduled(group)

    def existing(self, group: str) -> int:
        """How many members there are, whoever schedules them and whatever keeps them back."""
        return len(self.members.of(group)) + self.members.succeeded(group)

    def has_enough(self, group: str) -> bool:
        """Whether as many members exist as a gang needs."""
        found = self._groups[group]
        return found.spec.scheduling_policy.gang is None or self.existing(group) >= found.spec.min_count

    def is_ready(self, group: str) -> bool:
        """Whether a group that exists may be tried: as many pods exist as it, or what it is a part of, needs."""
        if not self.hierarchy.is_part(group):
            return self.has_enough(group)
        root = self.hierarchy.root_of(group)
        return root is not None and self.hierarchy.is_ready(root)

    def lack(self, group: str) -> str | None:
        """Why a group that exists is not tried yet; None when it may be."""
        if self.is_ready(group):
            return None
        if not self.hierarchy.is_part(group):
            return messages.TOO_FEW
        root = self.hierarchy.root_of(group)
        return self.hierarchy.gap(group) if root is None else messages.tree_lacks(root, self.hierarchy.lack(root))

    def waits_for(self, group: str) -> str | None:
        """What a group of ours of which pods exist lacks to be tried, for people; None when it may be."""
        if group not in self._groups or not self._is_ours(group):
            return None
        if not self.has_enough(group):
            return messages.waiting_for_pods(self.existing(group), self._groups[group].spec.min_count)
        return self.lack(group)

    def whole(self, group: str) -> str:
        """What a group is decided with: the hierarchy that it is in, else itself."""
        return self.hierarchy.root_of(group) or group

    def leaves(self, group: str) -> list[str]:
        """The PodGroups of a hierarchy; of a PodGroup, itself."""
        return [*self.hierarchy.leaves(group)] if is_root(group) else [group]

    def tree(self, group: str) -> Part | None:
        """A hierarchy as the engine decides about it; None for a PodGroup."""
        return self.hierarchy.tree(group) if self.hierarchy.get(group) is not None else None

    def holding(self, group: str) -> list[PodInfo]:
        """Members that hold a node."""
        return [*self.members.placed_pods(group)]

    def standing(self, group: str) -> tuple[bool, int]:
        """Whether a gang may be tried, and how many more of its pods must get a node."""
        return group in self._groups and self.is_ready(group), max(0, self.missing(group))

    def topology(self, group: str) -> Topology | None:
        """Where its own members have to be together; None for anywhere."""
        found = self._groups.get(group)
        return None if found is None else topology_of(found.spec.scheduling_constraints)

    def priority(self, group: str) -> int:
        """The group's own, whatever its pods have; 0 for one that names none, or does not exist."""
        found = self.object_of(group)
        return 0 if found is None else found.spec.priority or 0

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group that the pod runs with; where pods may go one by one, each by itself but as a group's.

        Of groups in groups the outermost counts that is disrupted as a whole; the priority is that of the outermost.
        """
        group = self.members.group_of(pod)
        found = self._groups.get(group) if group is not None else None
        if group is None or found is None:
            return None
        known: dict[str, NativePodGroup | CompositePodGroup] = {group: found, **dict(self.hierarchy.known_above(group))}
        priority = self.priority([*known][-1])
        for name, each in reversed(known.items()):
            if each.spec.disrupted_together:
                together = [member for leaf in self.leaves(name) for member in self.holding(leaf)]
                composite = isinstance(each, CompositePodGroup)
                return Disruption(name, together, priority, spare=0, composite=composite)
        return Disruption(f"{group}/{pod.name}", [pod], priority, spare=1)

    def healing(self, group: str) -> HealingPolicy:
        """What becomes of the group when it has lost pods: as it says, else as the innermost says that it is in."""
        found = self._groups.get(group)
        if found is None:
            return HealingPolicy.KEEP
        return healing_policy(found.annotations, *(above.annotations for _, above in self.hierarchy.known_above(group)))

    def tree_around(self, group: str) -> Part | None:
        """The hierarchy that a PodGroup is in."""
        return self.tree(self.whole(group))

    def falling_with(self, group: str) -> Sequence[str]:
        """The other parts of its hierarchy that cannot go on when it cannot."""
        return self.hierarchy.falling_with(group)

    def remaining(self, group: str) -> list[PodInfo]:
        """Members without a node that are ours to place and not held back by scheduling gates; in no certain order."""
        return [
            pod
            for pod in self.members.unplaced_pods(group)
            if pod.pod.spec.scheduler_name in self.profiles and not pod.pod.spec.scheduling_gates
        ]

    def remaining_count(self, group: str) -> int:
        """How many they are. Asked for each member that is tried, of thousands, of which few are held back."""
        if self.members.gated(group) or any(kind.scheduler not in self.profiles for kind in self.members.kinds(group)):
            return len(self.remaining(group))
        return len(self.members.of(group)) - self.members.placed(group)

    def fault(self, group: str) -> str | None:
        """Why its members cannot be one group; None when they can. See `validation`."""
        if group not in self._faults:
            found = self.object_of(group)
            leaves = self.leaves(group)
            if found is not None and self._are_alike(leaves, found.spec):
                self._faults[group] = None
                return None
            remaining = [pod for leaf in leaves for pod in self.remaining(leaf)]
            waiting = sorted(remaining, key=lambda pod: (-pod.priority, pod.key))
            scheduled = [pod for leaf in leaves for pod in self.members.placed_pods(leaf)]
            self._faults[group] = None if found is None else fault(found.spec, waiting, scheduled)
        return self._faults[group]

    def _are_alike(self, leaves: Sequence[str], spec: NativePodGroupSpec | CompositePodGroupSpec) -> bool:
        """Whether all members are of one kind, and that goes with the group: so it is as a rule."""
        kinds = {kind for leaf in leaves for kind in self.members.kinds(leaf)}
        some = next((pod for leaf in leaves for pod in self.members.of(leaf)), None)
        return len(kinds) == 1 and some is not None and fault(spec, [some], ()) is None

    def age(self, group: str) -> float:
        """Seconds since the first member of the group was seen."""
        now = self._clock.now()
        return now - self._first_seen.get(group, now)

    def _forget_fault(self, group: str) -> None:
        self._faults.pop(group, None)
        self._faults.pop(self.whole(group), None)

    # What was decided about them.

    def bound(self, pod: PodInfo) -> str | None:
        """The API accepted a member's binding. The group, if that completes its quorum for the first time."""
        self.members.bind(pod)
        group = self.members.group_of(pod)
        return group if group is not None and self._look(group) else None

    def say(self, group: str, reason: NativePodGroupReason, message: str = "", note: str = "") -> None:
        """The last word on a group. That it has been scheduled is the last of all."""
        found, said = self._groups.get(group), self._said.get(group)
        if found is None or (said is not None and said.reason is NativePodGroupReason.SCHEDULED):
            return
        self._said[group] = Said(reason, message, found.metadata.generation, note)
        if self._said[group] != said:
            self._changed(group)

    def said(self, group: str) -> Said | None:
        """The last word on a group."""
        return self._said.get(group)

    def _look(self, group: str) -> bool:
        """Whether the quorum of a group of ours has just become bound; then that is the word on it."""
        said = self._said.get(group)
        if group not in self._groups or (said is not None and said.reason is NativePodGroupReason.SCHEDULED):
            return False
        bound = self.members.bound(group) + self.members.succeeded(group)
        if bound < self.quorum(group) or not self._is_ours(group):
            return False
        self.say(group, NativePodGroupReason.SCHEDULED)
        return True

    def _is_ours(self, group: str) -> bool:
        first = next(iter(self.members.of(group)), None)
        return first is not None and first.pod.spec.scheduler_name in self.profiles
