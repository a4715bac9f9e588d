"""Selections of members with which a tree of groups starts: as few as it needs, and the others wait.

A tree is tried with all of its waiting members, as in kube-scheduler, and so are evictions on account of its priority.
A claim has to stay within a guarantee, which may cover what the tree needs and not all that waits. What is claimed for
a selection is known before the trial, because the trial places all of its members or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..contract.group_tree import Part
from ..work import checkpoint
from .attempt import Attempt
from .member_order import smaller_first, total_share

_Waiting = Mapping[str, Sequence[Attempt]]
"""The waiting members of each leaf, by its key."""


def selections(tree: Part, waiting: _Waiting, offered: Mapping[str, int]) -> Iterator[Sequence[Attempt]]:
    """First the members and parts that come first, then the smallest ones.

    A tree that runs already is given what it can use next: a part, or a further member of one, each by itself.
    """
    seen = set[frozenset[str]]()
    smallest = {key: smaller_first(attempts, offered) for key, attempts in waiting.items()}
    for selector in (_Selector(waiting), _Selector(smallest, offered)):
        for chosen in selector.steps(tree):
            uids = frozenset(attempt.pod.uid for attempt in chosen)
            if uids not in seen:
                seen.add(uids)
                yield chosen


class _Selector:
    """Selects in the order of the members and parts; with `offered`, the parts that ask for the least of it."""

    def __init__(self, waiting: _Waiting, offered: Mapping[str, int] | None = None) -> None:
        self._waiting = waiting
        self._offered = offered

    def steps(self, part: Part) -> Iterator[Sequence[Attempt]]:
        """The members that the part needs to fit; if it needs none, those that each of its parts can use next."""
        needed = self._needed(part)
        if needed:
            yield needed
        elif needed is not None and part.parts is None:
            if self._waiting.get(part.key):
                yield self._waiting[part.key][:1]
        elif needed is not None:
            for each in part.parts or ():
                yield from self.steps(each)

    def _needed(self, part: Part) -> Sequence[Attempt] | None:
        """The members with which the part fits; None if too few wait."""
        checkpoint()
        if part.parts is None:
            waiting, needed = self._waiting.get(part.key, ()), max(0, part.needed)
            return waiting[:needed] if len(waiting) >= needed else None
        fitting = [found for each in part.parts if (found := self._needed(each)) is not None]
        if len(fitting) < part.needed:
            return None
        fitting.sort(key=self._size)
        return [attempt for found in fitting[: max(0, part.needed)] for attempt in found]

    def _size(self, chosen: Sequence[Attempt]) -> float:
        """The sort key of parts: those that fit already come first."""
        return float(bool(chosen)) if self._offered is None else total_share(chosen, self._offered)
