"""Holds: annotations by which an operator keeps the pods of a group from being started until the group is resumed.

`muster hold` writes the annotations, and `muster resume` removes them. A hold of a group of groups applies to every
group in it. The book of groups keeps the holds of its groups; `HoldGate` enforces them, and views show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from ..contract.group_tree import COMPOSITE_PREFIX
from ..model.names import PREFIX

HOLD = f"{PREFIX}hold"
"""The reason for the hold. The group is held as long as the annotation exists, even if its value is empty."""
HELD_BY = f"{PREFIX}held-by"
"""The user who held the group."""
HELD_SINCE = f"{PREFIX}held-since"
"""When the user did so."""
RESUMED_BY = f"{PREFIX}resumed-by"
"""The user who resumed the group; removed when it is held again."""
HOLD_ANNOTATIONS = frozenset({HOLD, HELD_BY, HELD_SINCE, RESUMED_BY})

_LONGEST = 256
"""The most characters of an annotation that are shown: the message goes to every member."""


@dataclass(frozen=True, slots=True)
class GroupHold:
    """A hold, as annotations describe it. Anyone who may change the group may have written them.

    Attributes:
        reason: why the group is held; "" if unknown.
        by: who held it; "" if unknown.
        since: since when, as the API writes times; "" if unknown.
    """

    reason: str = ""
    by: str = ""
    since: str = ""

    def sentence(self, subject: str, *, already: bool = False) -> str:
        """The message about the hold of `subject`, without a full stop; `already` adds this word."""
        who = f" by {self.by}" if self.by else ""
        word = "already " if already else ""
        state = f"has {word}been held{who} since {self.since}" if self.since else f"is {word}held{who}"
        return f"{subject} {state}{f': {self.reason}' if self.reason else ''}"


def hold_in(annotations: Mapping[str, str]) -> GroupHold | None:
    """The hold that these annotations describe; None for none."""
    if HOLD not in annotations:
        return None
    return GroupHold(*(_line(annotations.get(key, "")) for key in (HOLD, HELD_BY, HELD_SINCE)))


def hold_text(group: str, hold: GroupHold) -> str:
    """The message about the hold of a group: `namespace/name`, after `COMPOSITE_PREFIX` for a group of groups."""
    composite = group.startswith(COMPOSITE_PREFIX)
    return hold.sentence(f"{'composite ' if composite else ''}pod group {group.removeprefix(COMPOSITE_PREFIX)}")


class GroupHolds:
    """The holds of the groups in one book. `above` returns the ids of the groups above a group."""

    def __init__(self, above: Callable[[str], Iterable[str]]) -> None:
        self._above = above
        self._own: dict[str, str] = {}
        self._named_before: dict[str, str] = {}
        """Whom RESUMED_BY of a held group names: not the user who will resume it."""
        self._ended: dict[str, tuple[int, str]] = {}
        """The ends of holds, numbered in their order, and who resumed the groups."""
        self._numbers = count()

    def __bool__(self) -> bool:
        """Whether any group is held."""
        return bool(self._own)

    def follow(self, group: str, annotations: Mapping[str, str] | None) -> None:
        """The object of the group has these annotations now; None if it was deleted, with all that is known of it."""
        if annotations is None:
            for known_of in (self._own, self._named_before, self._ended):
                known_of.pop(group, None)
            return
        hold, user = hold_in(annotations), _line(annotations.get(RESUMED_BY, ""))
        if hold is not None:
            self._own[group], self._named_before[group] = hold_text(group, hold), user
            self._ended.pop(group, None)
        elif self._own.pop(group, None) is not None:
            known = user if user != self._named_before.pop(group) else ""
            self._ended[group] = next(self._numbers), known
        elif not user:
            self._ended.pop(group, None)

    def resumed_by(self, group: str) -> str:
        """The user who ended the last hold to which the group was subject; "" if unknown."""
        ends = [self._ended[each] for each in (group, *self._above(group)) if each in self._ended]
        return max(ends)[1] if ends else ""

    def own(self, group: str) -> str | None:
        """The message about the hold of the group itself; None if it is not held."""
        return self._own.get(group)

    def text(self, group: str) -> str | None:
        """The message about the hold of the group, or of the innermost held group above it; None if none is held."""
        if not self._own:
            return None
        return next((self._own[each] for each in (group, *self._above(group)) if each in self._own), None)


def _line(text: str) -> str:
    """The text in one line, cut at the longest that is shown."""
    line = " ".join(text[:_LONGEST].split())
    return f"{line} ..." if len(text) > _LONGEST else line
