"""Members that Permit holds until their group has its quorum.

The plugin adds a member when Permit holds it, and allows or rejects the members of a group together. The framework's
waiting pods are those of all plugins; these are Coscheduling's.
"""

from __future__ import annotations

from collections.abc import Collection

from muster.framework.contract import WaitingPod, WaitingPods
from muster.framework.groups import Members

from .api import NAME
from .record import PodGroupRecord


class WaitingMembers:
    """Held members, by group and UID, with the end of their wait; seconds on the engine's clock.

    `waiting` are the framework's waiting pods.
    """

    def __init__(self, waiting: WaitingPods, members: Members[PodGroupRecord]) -> None:
        self._waiting = waiting
        self._members = members

    def add(self, group: str, uid: str, until: float) -> None:
        """A member waits from now on."""
        self._members.record(group).waits[uid] = until

    def end(self, group: str, uid: str) -> float | None:
        """The member, if it waits, does no more. Returns until when it would have waited."""
        return self._members.record(group).waits.pop(uid, None)

    def of(self, group: str) -> Collection[str]:
        """UIDs of the group's waiting members, in the order they began to wait."""
        return tuple(self._members.record(group).waits)

    def allow(self, group: str) -> None:
        """Let all of the group go."""
        for uid in self.of(group):
            waiting = self._end_wait(group, uid)
            if waiting is not None:
                waiting.allow(NAME)

    def reject(self, group: str, message: str) -> bool:
        """Turn all of the group away; whether there were any.

        Their places count no more from now on, although they are given back a moment later.
        """
        return any([self.reject_one(group, uid, message) for uid in self.of(group)])

    def reject_one(self, group: str, uid: str, message: str) -> bool:
        """Turn one away; whether it waited."""
        waiting = self._end_wait(group, uid)
        if waiting is None:
            return False
        waiting.reject(NAME, message)
        self._members.displace(waiting.pod)
        return True

    def discount_rejected(self, group: str) -> None:
        """Members whose time ran out a moment ago have their places still, but are no part of a quorum any more."""
        for uid in self.of(group):
            waiting = self._waiting.get(uid)
            if waiting is not None and not waiting.pending_plugins:
                self._members.displace(waiting.pod)

    def _end_wait(self, group: str, uid: str) -> WaitingPod | None:
        """The framework's waiting pod of a member, if nothing has ended its wait yet; it is none of ours any more."""
        waiting = self._waiting.get(uid)
        if waiting is None or not waiting.pending_plugins or self.end(group, uid) is None:
            return None
        return waiting
