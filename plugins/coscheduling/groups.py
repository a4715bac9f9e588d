"""The groups: what the scheduler knows of all PodGroups at this moment.

One object serves the plugins of all profiles, because a group does not care whose profile its pods name, and the
operator's controller of PodGroups. It keeps who is a member and who holds a node, which groups were denied or let
through lately, and when each group last failed. All of it is rebuilt from the API after a restart, but for the caches,
which only save work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from cachetools import TTLCache

from muster.framework.contract import MAX_WAIT_SECONDS, Clock, Disruption, Topology, WaitingPods
from muster.framework.groups import GroupBook
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import parse_time

from . import messages
from .announcements import Announcement, Announcements, PodGroupReason
from .api import PodGroup, group_key
from .args import DEFAULT_WAIT_SECONDS, CoschedulingArgs
from .disruption import PodGroupDisruptionMode, mode_of
from .reservations import Reservations
from .topology import topology_of
from .waiting_members import WaitingMembers

_GROUPS_CACHED = 100_000
_LONGEST_SETBACK_SECONDS = 10.0
_FIRST = float("-inf")


@dataclass(slots=True)
class GroupState:
    """What is known of a group from its first member until the last has gone. Times are on the engine's clock.

    Attributes:
        first_seen: when its first member was seen.
        failed_at: when it last found no place; None while it has not.
        failures: how often it has found none since it last had its quorum.
        quorum_told: whether it was said that the quorum is bound.
        has_newcomer: whether a member has come since the group was last tried.
        was_incomplete: whether it lacked members at the last attempt that do exist.
        is_short: whether less than its minResources was free at the last look.
        is_promising: whether something has happened since the last look that makes another one worthwhile.
        refused: why the API did not bind members that had a node, by pod key.
    """

    first_seen: float
    failed_at: float | None = None
    failures: int = 0
    quorum_told: bool = False
    has_newcomer: bool = False
    was_incomplete: bool = False
    is_short: bool = False
    is_promising: bool = False
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def setback_seconds(self) -> float:
        """How long members are not called together after the last of so many failures."""
        return min(_LONGEST_SETBACK_SECONDS, 2.0 ** (self.failures - 1)) if self.failures else 0.0

    def tried(self) -> None:
        """It was tried with the members that were there."""
        self.has_newcomer = self.was_incomplete = False

    def fail(self, now: float) -> None:
        """It found no place."""
        self.failed_at = now
        self.failures += 1
        self.is_promising = True

    def settle(self) -> None:
        """The quorum is there: what failed before is forgotten."""
        self.failed_at, self.failures = None, 0


class PodGroups(GroupBook[PodGroup]):
    """All groups.

    Attributes:
        args: the plugin's arguments, the same in all profiles.
        announcements: the last word on each group.
        waiting: members that Permit makes wait.
        reservations: what is reserved for members that are still to come.
    """

    def __init__(self, args: CoschedulingArgs, clock: Clock, waiting: WaitingPods) -> None:
        super().__init__(group_key, clock)
        self.args = args
        self.announcements = Announcements(self._changed, clock)
        self.waiting = WaitingMembers(waiting, self.members.displace)
        self.reservations = Reservations(self.members, self.wait_seconds, clock)
        self._created: dict[str, float] = {}
        self._epoch = clock.now() - clock.wall()
        self._states: dict[str, GroupState] = {}
        self._denied: TTLCache[str, bool] = _cache(args.denied_pg_expiration_time_seconds, clock)
        self._backed_off: TTLCache[str, bool] = _cache(args.pod_group_backoff_seconds, clock)
        self._permitted: TTLCache[str, bool] = _cache(self._default_wait(), clock)

    # What the watches saw.

    def follow_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended came, changed or went."""
        pod = old or new
        left = self.members.group_of(pod) if pod is not None else None
        if left is not None and (new is None or new.terminating or group_key(new) != left):
            self.reservations.member_leaves(left)
        changed = self.members.follow(old, new)
        group = self.members.group_of(new) if new is not None else None
        if left is not None and left != group:
            if not self.members.of(left):
                self._states.pop(left, None)
            elif pod is not None:
                self._states[left].refused.pop(pod.key, None)
            if pod is not None:
                self._account_for(left, pod.uid)
        if changed:
            for each in {left, group}:
                if each is not None:
                    self._changed(each)
        if group is None:
            return
        state = self._states.setdefault(group, GroupState(self._clock.now()))
        if old is None and new is not None and new.node_name:
            self.reservations.found_bound(group, new)
            state.quorum_told = state.quorum_told or self._quorum_bound(group)
        elif not self._quorum_bound(group):
            state.quorum_told = False

    def follow_group(self, group: str, new: PodGroup | None) -> None:
        """A PodGroup came, changed or went.

        What was known of one that went does not hold for a later one, nor what was answered when it asked for
        something else.
        """
        known = self._groups.pop(group, None)
        another = known is not None and (new is None or new.metadata.uid != known.metadata.uid)
        if another:
            if group in self._states:
                self._states[group] = GroupState(self._clock.now())
            self.announcements.forget(group)
            self.reservations.follow(group, None)
            del self._created[group]
        if another or (known is not None and new is not None and new.spec != known.spec):
            for cache in (self._denied, self._backed_off, self._permitted):
                cache.pop(group, None)
        self.reservations.follow(group, new)
        if new is not None:
            self._groups[group] = new
            self._created.setdefault(group, self._creation_of(new))
            if group in self._states:
                self._states[group].quorum_told = self._quorum_bound(group)
        self._changed(group)

    def refresh(self, new: PodGroup) -> None:
        """A PodGroup is there in a version that asks for nothing else; its status, say, was written."""
        if self._groups[new.key] is not new:
            self._groups[new.key] = new
            self._changed(new.key)

    # What they are.

    def min_member(self, group: str) -> int:
        """How many members the group needs; 0 for one that does not exist."""
        found = self._groups.get(group)
        return found.spec.min_member if found is not None else 0

    def quorum(self, group: str) -> int:
        """How many members the group needs, under the name that all kinds of groups share."""
        return self.min_member(group)

    def topology(self, group: str) -> Topology | None:
        """Where its members have to be together; None for anywhere. Raises AnnotationError."""
        found = self._groups.get(group)
        return topology_of(found.metadata.annotations) if found is not None else None

    def missing(self, group: str) -> int:
        """How many more members must get a node for the quorum."""
        return self.min_member(group) - self.members.placed(group)

    def wait_seconds(self, group: str) -> float:
        """How long Permit holds a member: the group's word, else the argument's, else a minute; 0 is no word."""
        found = self._groups.get(group)
        own = found.spec.schedule_timeout_seconds if found is not None else None
        return min(MAX_WAIT_SECONDS, float(own)) if own is not None and own > 0 else self._default_wait()

    def order(self, group: str) -> tuple[float, float]:
        """Which of two groups of one priority goes first, the smaller: by creation, then by the last failure here.

        The PodGroup's creation is the same to every process, so a group keeps its turn when another process takes over.
        Before all others goes a group that is bound in part: what it has is of no use without the rest.
        """
        failed_at = self.state(group).failed_at
        created = _FIRST if 0 < self.members.bound(group) < self.min_member(group) else self._created[group]
        return created, _FIRST if failed_at is None else failed_at

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group that the pod runs with, and how many of its members that run it can spare.

        None for a pod of no group, and where the PodGroup says that its pods may be evicted one by one.
        """
        group = self.members.group_of(pod)
        found = self._groups.get(group) if group is not None else None
        if group is None or found is None:
            return None
        mode = mode_of(found.metadata.annotations)
        if mode is PodGroupDisruptionMode.SINGLE:
            return None
        pods = [*self.members.placed_pods(group)]
        spare = 0 if mode is PodGroupDisruptionMode.ALL else max(0, len(pods) - found.spec.min_member)
        return Disruption(group, pods, self.members.priority(group), spare)

    def left_to_others(self, group: str) -> Counter[str]:
        """How many members without a node name which scheduler that is none of ours."""
        names = (pod.pod.spec.scheduler_name for pod in self.members.unplaced_pods(group))
        return Counter(name for name in names if name not in self.profiles)

    def state(self, group: str) -> GroupState:
        """What is known of the group; for a group without members, a state that nobody else sees."""
        return self._states.get(group) or GroupState(self._clock.now())

    def age(self, group: str) -> float:
        """Seconds since its first member was seen."""
        return self._clock.now() - self.state(group).first_seen

    def short_of_resources(self) -> Iterator[str]:
        """Groups of which less than minResources was free at the last look."""
        return iter([group for group, state in self._states.items() if state.is_short])

    # Who gets a node.

    def bound(self, pod: PodInfo) -> str | None:
        """The API accepted a member's binding. The group, if it has its quorum bound with that."""
        self.members.bind(pod)
        group = self.members.group_of(pod)
        if group is None:
            return None
        self._changed(group)
        if self.state(group).refused:
            self.state(group).refused.pop(pod.key, None)
            self._announce_refused(group)
        if self.state(group).quorum_told or not self._quorum_bound(group):
            return None
        self.state(group).quorum_told = True
        return group

    # What was decided about them.

    def failed(self, group: str) -> None:
        """The group found no place: others as old go first now, and with a backoff set it is left alone for a while."""
        self.state(group).fail(self._clock.now())
        self._permitted.pop(group, None)
        if self.args.pod_group_backoff_seconds:
            self._backed_off[group] = True

    def deny(self, group: str) -> None:
        """Turn the group away without another look for a while."""
        self._permitted.pop(group, None)
        if self.args.denied_pg_expiration_time_seconds:
            self._denied[group] = True

    def let_in(self, group: str) -> None:
        """Less than minResources is free, and room is promised to it: it is tried whenever some comes."""
        self._denied.pop(group, None)
        self.state(group).is_short = True

    def permit(self, group: str) -> None:
        """minResources was found to be free; siblings need not look again for a while."""
        self._permitted[group] = True
        self.state(group).is_short = False

    def is_denied(self, group: str) -> bool:
        """Whether it was denied a moment ago."""
        return group in self._denied

    def is_backed_off(self, group: str) -> bool:
        """Whether it found no place a moment ago, and a backoff is set."""
        return group in self._backed_off

    def is_permitted(self, group: str) -> bool:
        """Whether minResources was found to be free a moment ago."""
        return group in self._permitted

    def is_set_back(self, group: str) -> bool:
        """Whether its members are not to be called together yet after they failed."""
        state = self.state(group)
        return state.failed_at is not None and self._clock.now() - state.failed_at < state.setback_seconds

    def binding_refused(self, group: str, pod: PodInfo, reason: str) -> None:
        """The API refused to bind a member that had a node. The group is bound in part until it does."""
        self.state(group).refused[pod.key] = reason
        self._announce_refused(group)

    def _announce_refused(self, group: str) -> None:
        refused = self.state(group).refused
        if refused:
            text = messages.not_bound(self.members.bound(group), self.min_member(group), refused)
            self.announce(group, PodGroupReason.BINDING_FAILED, text)

    def announce(self, group: str, reason: PodGroupReason, message: str) -> None:
        """Say why the group is, or is not, scheduled."""
        if group in self._groups:
            self.announcements.announce(group, Announcement(reason, message, self._clock.wall()))

    def _quorum_bound(self, group: str) -> bool:
        return group in self._groups and self.members.bound(group) >= self.min_member(group)

    def _creation_of(self, group: PodGroup) -> float:
        """When the PodGroup was created, seconds on the engine's clock."""
        stamp = group.metadata.creation_timestamp
        return self._clock.now() if stamp is None else parse_time(stamp) + self._epoch

    def _default_wait(self) -> float:
        return min(MAX_WAIT_SECONDS, float(self.args.permit_waiting_time_seconds or DEFAULT_WAIT_SECONDS))


def _cache(seconds: float, clock: Clock) -> TTLCache[str, bool]:
    return TTLCache(_GROUPS_CACHED, seconds, clock.now)
