"""Entries: what the queue orders and hands out. One pod, or all pods of a group that wait together.

The queue makes and changes entries while they wait. Whoever popped one reads its members; it changes no more then.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from enum import Enum

from ..contract.queued_pod import QueuedPod
from ..model.pod_info import PodInfo, PodSignature

NO_BACKOFF = float("-inf")
_NONE: frozenset[str] = frozenset()


class Place(Enum):
    """Where in the queue a pod is. It is in exactly one place from its coming until it is done or deleted.

    Attributes:
        label: the name for people.
        queue: the part's name in metrics.
    """

    ACTIVE = "active", "active"
    """Ready to be tried."""
    BACKOFF = "backoff", "backoff"
    """Was rejected and is held off for a while; tried earlier if nothing is ready."""
    ERROR_BACKOFF = "error backoff", "backoff"
    """Was struck by an error and is held off for a while, whatever happens."""
    UNSCHEDULABLE = "unschedulable", "unschedulable"
    """Waits for an event that one of its rejecting plugins asked for."""
    GATED = "gated", "gated"
    """A PreEnqueue plugin does not let it in."""
    IN_FLIGHT = "in flight", ""
    """Was popped, and its attempt is not over."""

    def __init__(self, label: str, queue: str) -> None:
        self.label = label
        self.queue = queue


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an attempt failed, as far as it decides when to try again.

    Attributes:
        unschedulable_plugins: who turned the pods away.
        pending_plugins: those that answered PENDING; an event that helps one of them brings the pods back at once.
        error: something broke; plugins do not count then.
    """

    unschedulable_plugins: frozenset[str] = _NONE
    pending_plugins: frozenset[str] = _NONE
    error: bool = False

    @property
    def by_error(self) -> bool:
        """Whether no plugin can say when to try again, so that the pods come back after backoff."""
        return self.error or not (self.unschedulable_plugins or self.pending_plugins)


@dataclass(slots=True, eq=False)
class Member(QueuedPod):
    """A pod as the queue tracks it. The counts are those of the entry it left last.

    Attributes:
        unschedulable_count: attempts that ended in a rejection.
        consecutive_errors: attempts that ended in an error since the last rejection.
        update: the latest version of a pod in flight, if it changed since it was popped.
        deleted: whether the pod was deleted while it was in flight.
    """

    unschedulable_count: int = 0
    consecutive_errors: int = 0
    update: PodInfo | None = None
    deleted: bool = False

    def failed(self, now: float, rejection: Rejection) -> None:
        """The pod's attempt has failed."""
        self.timestamp = now
        if rejection.by_error:
            self.consecutive_errors += 1
        else:
            self.unschedulable_count += 1
            self.consecutive_errors = 0


@dataclass(slots=True, eq=False)
class Entry:
    """What `pop` hands out.

    Attributes:
        key: `pod/<namespace>/<name>` or `group/<id>`.
        group: the group's id; None for a pod by itself.
        profile: the schedulerName of its first pod.
        members: its pods by UID; at least one while it waits.
        timestamp: when it came (back) to the queue, seconds on the engine's clock.
        unschedulable_count: attempts that ended in a rejection.
        consecutive_errors: attempts that ended in an error since the last rejection.
        unschedulable_plugins: who rejected the last attempt; empty once popped.
        pending_plugins: those of them that answered PENDING; empty once popped.
        flushed: whether its time limit, not an event, brought it out of the unschedulable entries.

    Of the queue's own:
        place: where it is.
        backoff_until: start of the whole-second window in which backoff ends; `NO_BACKOFF` without backoff.
        sort_key: the smallest key of its members, when it was last put into a heap.
        stale: whether `sort_key` may be too small by now, because a member left or changed.
        ticket: names its live item in a heap; 0 outside of heaps.
    """

    key: str
    group: str | None
    profile: str
    members: dict[str, Member]
    timestamp: float
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    unschedulable_plugins: frozenset[str] = _NONE
    pending_plugins: frozenset[str] = _NONE
    flushed: bool = False
    place: Place = Place.ACTIVE
    backoff_until: float = NO_BACKOFF
    sort_key: tuple[Hashable, ...] = ()
    stale: bool = False
    ticket: int = 0
    _signatures: dict[PodSignature, PodInfo] | None = None

    @property
    def rejectors(self) -> frozenset[str]:
        """Every plugin that turned it away; empty when an error did."""
        pending = self.pending_plugins
        return self.unschedulable_plugins | pending if pending else self.unschedulable_plugins

    @property
    def failures(self) -> int:
        """The count that backoff grows with."""
        return self.consecutive_errors or self.unschedulable_count

    def join(self, member: Member) -> None:
        """One more pod waits with this entry."""
        self.members[member.info.uid] = member
        if self._signatures is not None:
            self._signatures.setdefault(member.info.signature, member.info)

    def part(self, uid: str) -> Member:
        """A pod waits here no more; it takes the counts along.

        Raises KeyError when it is not a member.
        """
        member = self.members.pop(uid)
        member.unschedulable_count = self.unschedulable_count
        member.consecutive_errors = self.consecutive_errors
        self.changed()
        return member

    def absorb(self, failed: Entry) -> None:
        """Pods of the same group that failed after these wait with them from now on.

        An error among them means an error for all: no plugin can say any more when to try the group again.
        """
        by_error = not failed.rejectors
        self.unschedulable_plugins = _NONE if by_error else self.unschedulable_plugins | failed.unschedulable_plugins
        self.pending_plugins = _NONE if by_error else self.pending_plugins | failed.pending_plugins
        self.unschedulable_count = max(self.unschedulable_count, failed.unschedulable_count)
        self.consecutive_errors = failed.consecutive_errors
        self.timestamp = failed.timestamp
        self.backoff_until = max(self.backoff_until, failed.backoff_until)
        for member in failed.members.values():
            self.join(member)

    def changed(self) -> None:
        """A member was replaced or left."""
        self.stale = True
        self._signatures = None

    def witnesses(self) -> Collection[PodInfo]:
        """One pod of each signature. To a hint the replicas of a group are alike, and a group may have thousands."""
        if self._signatures is None:
            self._signatures = {member.info.signature: member.info for member in reversed(self.members.values())}
        return self._signatures.values()


def entry_of(member: Member, group: str | None) -> Entry:
    """A new entry with one pod, which brings its counts along."""
    pod = member.info
    key = f"pod/{pod.key}" if group is None else f"group/{group}"
    return Entry(
        key,
        group,
        pod.pod.spec.scheduler_name,
        {pod.uid: member},
        member.timestamp,
        member.unschedulable_count,
        member.consecutive_errors,
    )
