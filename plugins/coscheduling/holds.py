"""Members that Permit holds until their group has its quorum, by group and UID."""

from __future__ import annotations

from collections.abc import Collection


class Holds:
    """Who is held, and until when; seconds on the engine's clock."""

    def __init__(self) -> None:
        self._until: dict[str, dict[str, float]] = {}

    def add(self, group: str, uid: str, until: float) -> None:
        """A member is held from now on."""
        self._until.setdefault(group, {})[uid] = until

    def end(self, group: str, uid: str) -> float | None:
        """The member, if it is held, is held no more. Returns until when it would have been."""
        held = self._until.get(group)
        if held is None:
            return None
        until = held.pop(uid, None)
        if not held:
            del self._until[group]
        return until

    def of(self, group: str) -> Collection[str]:
        """UIDs of the group's held members, in the order they began to wait."""
        return tuple(self._until.get(group, ()))
