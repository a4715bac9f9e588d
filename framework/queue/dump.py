"""The queue's contents for people: what the process writes to its log when it is asked to (SIGUSR2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .entry import Entry, Member, Place


@dataclass(frozen=True, slots=True, order=True)
class DumpLine:
    """One pod.

    Attributes:
        place: where it is.
        entry: the key of the entry it waits or flies in; empty for a gated pod.
        pod: `namespace/name`.
        uid: its UID.
        attempts: how often it has been tried.
        since: when it came (back) to the queue, seconds on the engine's clock.
        plugins: who holds it back.
    """

    place: str
    entry: str
    pod: str
    uid: str
    attempts: int
    since: float
    plugins: tuple[str, ...]

    def __str__(self) -> str:
        of = f" of {self.entry}" if self.entry.startswith("group/") else ""
        held = f", held back by {', '.join(self.plugins)}" if self.plugins else ""
        return f"{self.place}: {self.pod}{of}, attempts {self.attempts}{held}"


def line_of(member: Member, place: Place, entry: Entry | None, rejectors: Iterable[str]) -> DumpLine:
    """The line of one pod."""
    key = "" if entry is None else entry.key
    pod = member.info
    return DumpLine(place.label, key, pod.key, pod.uid, member.attempts, member.timestamp, tuple(sorted(rejectors)))
