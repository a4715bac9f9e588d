"""Members that wait at Permit until their group has its quorum, as they do only with the placement `PodByPod`.

The plugin adds a member when its Permit answers `Wait`, and allows or rejects the members of a group together. The
framework's waiting pods wait for any plugin; these members wait for Coscheduling.
"""

from __future__ import annotations

from collections.abc import Collection

from muster.framework.contract import WaitingPod, WaitingPods
from muster.framework.groups import Members

from .api import NAME
from .record import PodGroupRecord


class MembersAtPermit:
    """Members at Permit, by group and UID, with the end of their wait in seconds on the engine's clock.

    `waiting` is the framework's collection of pods that wait at Permit.
    """

    def __init__(self, waiting: WaitingPods, members: Members[PodGroupRecord]) -> None:
        self._waiting = waiting
        self._members = members

    def add(self, group: str, uid: str, until: float) -> None:
        """Let a member wait."""
        self._members.record(group).waits_until[uid] = until

    def end(self, group: str, uid: str) -> float | None:
        """Forget the member. Returns when its wait would have ended; None if it did not wait."""
        return self._members.record(group).waits_until.pop(uid, None)

    def of(self, group: str) -> Collection[str]:
        """The UIDs of the group's members at Permit, in the order in which their waits began."""
        return tuple(self._members.record(group).waits_until)

    def allow(self, group: str) -> None:
        """Allow all members of the group that wait."""
        for uid in self.of(group):
            waiting = self._end_wait(group, uid)
            if waiting is not None:
                waiting.allow(NAME)

    def reject(self, group: str, message: str) -> bool:
        """Reject all members of the group that wait; whether there were any.

        The members count as not placed from now on, although their nodes are released a moment later.
        """
        return any([self.reject_one(group, uid, message) for uid in self.of(group)])

    def reject_one(self, group: str, uid: str, message: str) -> bool:
        """Reject one member; whether it waited."""
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
