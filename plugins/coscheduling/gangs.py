"""The gangs: what the scheduler knows of all groups at this moment.

One object serves the plugins of all profiles, because a group does not care whose profile its pods name. It keeps who
is a member and who holds a node, which groups were denied or let through lately, and when each group was first seen or
last failed. All of it is rebuilt from the API after a restart, but for the caches, which only save work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

from cachetools import TTLCache

from muster.framework.contract import MAX_WAIT_SECONDS, Clock, WaitingPods
from muster.framework.model.pod_info import PodInfo

from .api import PodGroup
from .args import DEFAULT_WAIT_SECONDS, CoschedulingArgs
from .board import Board, Reason, Verdict
from .holds import Holds
from .life import Life
from .members import Members
from .reservations import Reservations

_GROUPS_CACHED = 100_000
_NEVER = float("-inf")


class Gangs:
    """All groups.

    Attributes:
        members: who belongs to which group, and who holds a node.
        board: the last verdict on each group.
        groups: the PodGroups by `namespace/name`.
        holds: members that Permit holds.
        may_tell: whether people are to be told something now. The process sets it: only when it leads and knows all.
        profiles: names of the schedulers that are profiles of ours.
        reservations: what is kept for members that are still to come.
    """

    def __init__(self, args: CoschedulingArgs, clock: Clock, waiting: WaitingPods) -> None:
        self._clock = clock
        self.args = args
        self.members = Members()
        self.board = Board()
        self.groups: dict[str, PodGroup] = {}
        self.holds = Holds(waiting, self.displace)
        self.may_tell: Callable[[], bool] = lambda: True
        self.profiles: set[str] = set()
        self.reservations = Reservations(self.members, self.wait_seconds, clock)
        self._lives: dict[str, Life] = {}
        self._created: dict[str, float] = {}
        self._epoch = clock.now() - clock.wall()
        self._denied: TTLCache[str, bool] = _cache(args.denied_pg_expiration_time_seconds, clock)
        self._backed_off: TTLCache[str, bool] = _cache(args.pod_group_backoff_seconds, clock)
        self._permitted: TTLCache[str, bool] = _cache(self._default_wait(), clock)

    def follow_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod came, changed or went."""
        left = self.members.group_of(old) if old is not None else None
        self.members.follow(old, new)
        if left is not None and not self.members.of(left):
            self._lives.pop(left, None)
        group = self.members.group_of(new) if new is not None else None
        if group is None:
            return
        life = self._lives.setdefault(group, Life(self._clock.now()))
        if old is None and new is not None and new.node_name:
            self.reservations.found_bound(group, new)
            life.told = life.told or self._quorum_bound(group)
        elif not self._quorum_bound(group):
            life.told = False

    def follow_group(self, group: str, new: PodGroup | None) -> None:
        """A PodGroup came, changed or went.

        What was known of one that went does not hold for a later one, nor what was answered when it asked for
        something else.
        """
        known = self.groups.pop(group, None)
        another = known is not None and (new is None or new.metadata.uid != known.metadata.uid)
        if another:
            if group in self._lives:
                self._lives[group] = Life(self._clock.now())
            self.board.forget(group)
            self.reservations.follow(group, None)
        if another or (known is not None and new is not None and new.spec != known.spec):
            for cache in (self._denied, self._backed_off, self._permitted):
                cache.pop(group, None)
        self.reservations.follow(group, new)
        if known is None or another:
            self._created.pop(group, None)
        if new is not None:
            self.groups[group] = new
            self._created.setdefault(group, self._moment(new.metadata.creation_timestamp))
            if group in self._lives:
                self._lives[group].told = self._quorum_bound(group)

    def left_to_others(self, group: str) -> Counter[str]:
        """How many members without a node name which scheduler that is none of ours."""
        names = (pod.pod.spec.scheduler_name for pod in self.members.unplaced_pods(group))
        return Counter(name for name in names if name not in self.profiles)

    def min_member(self, group: str) -> int:
        """How many members the group needs; 0 for one that does not exist."""
        found = self.groups.get(group)
        return found.spec.min_member if found is not None else 0

    def missing(self, group: str) -> int:
        """How many more members must get a node for the quorum."""
        return self.min_member(group) - self.members.placed(group)

    def wait_seconds(self, group: str) -> float:
        """How long Permit holds a member: the group's word, else the argument's, else a minute; 0 is no word."""
        found = self.groups.get(group)
        own = found.spec.schedule_timeout_seconds if found is not None else None
        return min(MAX_WAIT_SECONDS, float(own)) if own is not None and own > 0 else self._default_wait()

    def life(self, group: str) -> Life:
        """What is known of the group's life; for a group without members, one that nobody else sees."""
        return self._lives.get(group) or Life(self._clock.now())

    def place_in_queue(self, group: str) -> tuple[float, float]:
        """When the PodGroup was created, and, to tell groups of one second apart, when it last failed.

        The first is the same for every process, so a failover does not change the order of groups. Seconds on the
        engine's clock; -inf for a group that has not failed.
        """
        failed = self.life(group).failed
        return self._created[group], _NEVER if failed is None else failed

    def age(self, group: str) -> float:
        """Seconds since its first member was seen."""
        return self._clock.now() - self.life(group).first_seen

    def short_of_resources(self) -> Iterator[str]:
        """Groups of which less than minResources was free at the last look."""
        return iter([group for group, life in self._lives.items() if life.short])

    def failed(self, group: str) -> None:
        """The group found no place: others of its age go first now, and with a backoff set it is left alone a while."""
        self.life(group).fail(self._clock.now())
        self._permitted.pop(group, None)
        if self.args.pod_group_backoff_seconds:
            self._backed_off[group] = True

    def deny(self, group: str) -> None:
        """Turn the group away without another look for a while."""
        self._permitted.pop(group, None)
        if self.args.denied_pg_expiration_time_seconds:
            self._denied[group] = True

    def permit(self, group: str) -> None:
        """minResources was found to be free; siblings need not look again for a while."""
        self._permitted[group] = True
        self.life(group).short = False

    def is_denied(self, group: str) -> bool:
        """Whether it was denied a moment ago."""
        return group in self._denied

    def is_backed_off(self, group: str) -> bool:
        """Whether it found no place a moment ago, and a backoff is set."""
        return group in self._backed_off

    def is_permitted(self, group: str) -> bool:
        """Whether minResources was found to be free a moment ago."""
        return group in self._permitted

    def place(self, pod: PodInfo) -> None:
        """A member was reserved on a node."""
        self.members.place(pod)
        group = self.members.group_of(pod)
        if group is not None:
            self.reservations.placed(group)

    def displace(self, pod: PodInfo) -> None:
        """A member's reservation was given up."""
        self.members.displace(pod)
        group = self.members.group_of(pod)
        if group is not None:
            self.reservations.displaced(group)

    def is_set_back(self, group: str) -> bool:
        """Whether its members are not to be called together yet after they failed."""
        life = self.life(group)
        return life.failed is not None and self._clock.now() - life.failed < life.setback_seconds

    def bound(self, pod: PodInfo) -> str | None:
        """The API accepted a member's binding. The group, if it has its quorum bound with that."""
        self.members.bind(pod)
        group = self.members.group_of(pod)
        if group is None or self.life(group).told or not self._quorum_bound(group):
            return None
        self.life(group).told = True
        return group

    def post(self, group: str, reason: Reason, message: str) -> None:
        """Say why the group is, or is not, scheduled."""
        if group in self.groups:
            self.board.post(group, Verdict(reason, message, self._clock.wall()))

    def waiting_groups(self) -> int:
        """How many groups with members lack their quorum."""
        return sum(1 for group in self.groups if self.members.of(group) and self.missing(group) > 0)

    def _moment(self, stamp: str | None) -> float:
        """A time of the API in seconds on the engine's clock; now when there is none."""
        return self._clock.now() if stamp is None else datetime.fromisoformat(stamp).timestamp() + self._epoch

    def _quorum_bound(self, group: str) -> bool:
        return group in self.groups and self.members.bound(group) >= self.min_member(group)

    def _default_wait(self) -> float:
        return min(MAX_WAIT_SECONDS, float(self.args.permit_waiting_time_seconds or DEFAULT_WAIT_SECONDS))


def _cache(seconds: float, clock: Clock) -> TTLCache[str, bool]:
    return TTLCache(_GROUPS_CACHED, seconds, clock.now)
