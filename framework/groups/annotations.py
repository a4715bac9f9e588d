"""Muster's own annotations: the keys under its prefix that a kind of object may have, and what is wrong with others.

A mistyped key would be ignored silently. The structs of groups keep exactly the annotations under the prefix; admission
and the controllers of groups ask `unknown_annotations` which of them Muster does not know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

import msgspec

from ..model.meta import OwnedMeta
from ..model.names import PREFIX


class GroupMeta(OwnedMeta):
    """`metadata` with the owners, and with the annotations under `PREFIX`; the other annotations may be large."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.annotations:
            own = {name: text for name, text in self.annotations.items() if name.startswith(PREFIX)}
            msgspec.structs.force_setattr(self, "annotations", own)


def unknown_annotations(annotations: Mapping[str, str], known: Collection[str]) -> list[str]:
    """One line for each key under `PREFIX` that is not among `known`, with the nearest known key, sorted by key."""
    unknown = sorted(key for key in annotations if key.startswith(PREFIX) and key not in known)
    return [f"metadata.annotations[{key}]: unknown annotation{_suggestion(key, known)}" for key in unknown]


def _suggestion(key: str, known: Iterable[str]) -> str:
    by_name = {each.removeprefix(PREFIX): each for each in known}
    nearest = get_close_matches(key.removeprefix(PREFIX), by_name, n=1)
    if nearest:
        return f', did you mean "{by_name[nearest[0]]}"?'
    return f": known are {', '.join(sorted(by_name.values()))}"
