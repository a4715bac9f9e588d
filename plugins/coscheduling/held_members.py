"""Members that Permit holds until their group has its quorum.

The plugin adds a member when its Permit holds it, and allows or rejects the members of a group together. The
framework's waiting pods are those that any plugin holds; held members are those that Coscheduling holds.
"""

from __future__ import annotations

from collections.abc import Collection

from muster.framework.contract import WaitingPod, WaitingPods
from muster.framework.groups import Members

from .api import NAME
from .record import PodGroupRecord


class HeldMembers:
    """Held members, by group and UID, with the end of their wait in seconds on the engine's clock.

    `waiting` is the framework's collection of pods that Permit holds.
    """

    def __init__(self, waiting: WaitingPods, members: Members[PodGroupRecord]) -> None:
        self._waiting = waiting
        self._members = members

    def add(self, group: str, uid: str, until: float) -> None:
        """Permit holds a member from now on."""
        self._members.record(group).held_until[uid] = until

    def end(self, group: str, uid: str) -> float | None:
        """Permit no longer holds the member. Returns when its wait would have ended; None if it was not held."""
        return self._members.record(group).held_until.pop(uid, None)

    def of(self, group: str) -> Collection[str]:
        """The UIDs of the group's held members, in the order in which their waits began."""
        return tuple(self._members.record(group).held_until)

    def allow(self, group: str) -> None:
        """Allow all held members of the group."""
        for uid in self.of(group):
            waiting = self._end_wait(group, uid)
            if waiting is not None:
                waiting.allow(NAME)

    def reject(self, group: str, message: str) -> bool:
        """Reject all held members of the group; whether there were any.

        The members count as not placed from now on, although their nodes are released a moment later.
        """
        return any([self.reject_one(group, uid, message) for uid in self.of(group)])

    def reject_one(self, group: str, uid: str, message: str) -> bool:
        """Reject one member; whether it was held."""
        waiting = self._end_wait(group, uid)
        if waiting is None:
            return False
        waiting.reject(NAME, message)
        self._members.count_released(waiting.pod)
        return True

    def discount_rejected(self, group: str) -> None:
        """Count members as not placed whose wait has just timed out: they still have nodes, but release them."""
        for uid in self.of(group):
            waiting = self._waiting.get(uid)
            if waiting is not None and not waiting.pending_plugins:
                self._members.count_released(waiting.pod)

    def _end_wait(self, group: str, uid: str) -> WaitingPod | None:
        """End a member's wait here. Returns the framework's waiting pod; None if something else ended its wait."""
        waiting = self._waiting.get(uid)
        if waiting is None or not waiting.pending_plugins or self.end(group, uid) is None:
            return None
        return waiting
