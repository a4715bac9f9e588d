"""Groups of all kinds: what their annotations say about times around preemption, and when that changes.

Group plugins keep the books of their groups (`GROUP_BOOKS`), in which a pod is found whether a label, its spec or its
owner names the group. Each profile's plugin has an object of its own, which follows no group before a preemptor waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from muster.framework.contract import Handle, PodInfo
from muster.framework.groups import GROUP_BOOKS, TIMING_ANNOTATIONS, GroupBook

_Book = GroupBook[Any, Any]
_Times = Mapping[str, str]
_NO_TIMES: _Times = {}


class GroupTimes:
    """The annotations of all groups. `changed` is called when an existing group has other times than before."""

    def __init__(self, handle: Handle, changed: Callable[[], None]) -> None:
        self._books: dict[str, _Book] = handle.shared(GROUP_BOOKS, dict)
        self._changed = changed
        self._followed: dict[str, dict[str, _Times]] = {}

    def __bool__(self) -> bool:
        """Whether there is any group."""
        return any(True for book in self._books.values() for _ in book)

    def of(self, pod: PodInfo) -> Sequence[Mapping[str, str]]:
        """The annotations of the pod's group, then of the groups above it; empty for a pod without a group."""
        for book in self._books.values():
            group = book.members.counted_in(pod) or book.members.named_by(pod)
            if group is not None:
                return book.annotations_around(group)
        return ()

    def follow(self) -> None:
        """Notice changes from now on."""
        for name, book in self._books.items():
            if name not in self._followed:
                self._followed[name] = {group: _times(book, group) for group in book}
                book.subscribe(partial(self._compare, name))

    def _compare(self, name: str, group: str) -> None:
        """A group's object may have changed. What a new group says is no change: nobody waits for its pods yet."""
        book, known = self._books[name], self._followed[name]
        if book.object_of(group) is None:
            known.pop(group, None)
            return
        times = _times(book, group)
        before = known.get(group, times)
        known[group] = times
        if times != before:
            self._changed()


def _times(book: _Book, group: str) -> _Times:
    found = book.object_of(group)
    if found is None or not found.annotations:
        return _NO_TIMES
    return {key: found.annotations[key] for key in TIMING_ANNOTATIONS & found.annotations.keys()}
