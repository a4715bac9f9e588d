"""The groups: what the scheduler knows of all PodGroups of scheduling.k8s.io at this moment.

One object serves the plugins of all profiles, and the operator's controller, which writes what is said here. It keeps
who is a member and who holds a node; all of it is rebuilt from the API after a restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muster.framework.contract import Clock, Disruption, Favour, Topology
from muster.framework.contract.group_book import GroupBook
from muster.framework.model.pod_info import PodInfo

from .api import PodGroup, group_key
from .validation import fault


class Reason(StrEnum):
    """Why a group is, or is not, scheduled: the reasons of the condition, in Kubernetes' words."""

    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    SCHEDULER_ERROR = "SchedulerError"


@dataclass(frozen=True, slots=True)
class Said:
    """The last word on a group.

    Attributes:
        generation: of its object that was decided about.
        note: more for people, beyond what kube-scheduler has words for.
    """

    reason: Reason
    message: str
    generation: int
    note: str = ""


class Groups(GroupBook[PodGroup]):
    """All groups."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(group_key, clock)
        self._first_seen: dict[str, float] = {}
        self._said: dict[str, Said] = {}
        self._faults: dict[str, str | None] = {}

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
        self._faults.pop(group, None)
        if not self._look(group) and changed:
            self._changed(group)

    def follow_group(self, group: str, new: PodGroup | None) -> None:
        """A PodGroup came, changed or went. What was said of one that went does not hold for a later one."""
        known = self._groups.pop(group, None)
        if known is not None and (new is None or new.metadata.uid != known.metadata.uid):
            self._said.pop(group, None)
        self._faults.pop(group, None)
        if new is not None:
            self._groups[group] = new
            self._look(group)
        self._changed(group)

    # What they are.

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

    def lacks_pods(self, group: str) -> bool:
        """Whether it is a gang of ours of which some pods exist, and too few to be tried."""
        return group in self._groups and self._is_ours(group) and not self.has_enough(group)

    def topology(self, group: str) -> Topology | None:
        """Where its members have to be together, the domain chosen as kube-scheduler does; None for anywhere."""
        found = self._groups.get(group)
        constraints = found.spec.scheduling_constraints if found is not None else None
        keys = tuple(each.key for each in constraints.topology) if constraints is not None else ()
        return Topology(keys, len(keys), Favour.PLACEMENT_SCORE) if keys else None

    def priority(self, group: str) -> int:
        """The group's own, whatever its pods have; 0 for one that names none, or does not exist."""
        found = self._groups.get(group)
        return 0 if found is None else found.spec.priority or 0

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group that the pod runs with; where pods may go one by one, each by itself but as a group's."""
        group = self.members.group_of(pod)
        found = self._groups.get(group) if group is not None else None
        if group is None or found is None:
            return None
        if found.spec.disrupted_together:
            return Disruption(group, [*self.members.placed_pods(group)], self.priority(group), spare=0)
        return Disruption(f"{group}/{pod.name}", [pod], self.priority(group), spare=1)

    def remaining(self, group: str) -> list[PodInfo]:
        """Members without a node that are ours to place and not held back by scheduling gates; in no certain order."""
        return [
            pod
            for pod in self.members.unplaced_pods(group)
            if pod.pod.spec.scheduler_name in self.profiles and not pod.pod.spec.scheduling_gates
        ]

    def fault(self, group: str) -> str | None:
        """Why its members cannot be one group; None when they can. See `validation`."""
        if group not in self._faults:
            waiting = sorted(self.remaining(group), key=lambda pod: (-pod.priority, pod.key))
            self._faults[group] = fault(self._groups[group], waiting, self.members.placed_pods(group))
        return self._faults[group]

    def age(self, group: str) -> float:
        """Seconds since the first member of the group was seen."""
        now = self._clock.now()
        return now - self._first_seen.get(group, now)

    # What was decided about them.

    def bound(self, pod: PodInfo) -> str | None:
        """The API accepted a member's binding. The group, if that completes its quorum for the first time."""
        self.members.bind(pod)
        group = self.members.group_of(pod)
        return group if group is not None and self._look(group) else None

    def say(self, group: str, reason: Reason, message: str = "", note: str = "") -> None:
        """The last word on a group. That it has been scheduled is the last of all."""
        found, said = self._groups.get(group), self._said.get(group)
        if found is None or (said is not None and said.reason is Reason.SCHEDULED):
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
        if group not in self._groups or (said is not None and said.reason is Reason.SCHEDULED):
            return False
        bound = self.members.bound(group) + self.members.succeeded(group)
        if bound < self.quorum(group) or not self._is_ours(group):
            return False
        self.say(group, Reason.SCHEDULED)
        return True

    def _is_ours(self, group: str) -> bool:
        first = next(iter(self.members.of(group)), None)
        return first is not None and first.pod.spec.scheduler_name in self.profiles
