"""What changed in the last quarter of an hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..census import Census
from ..changes import KEPT_SECONDS, ChangeKind, RecentChange
from .parts import ChangeRow, change_rows

_MINUTE = 60
_BAR = 18
_TALLEST = 60


@dataclass(frozen=True, slots=True)
class Bar:
    """A minute of the drawing."""

    x: int
    y: int
    height: int
    words: str


@dataclass(frozen=True, slots=True)
class ChangesView:
    """The page; `kinds` are those to choose from, `kind` the one that is shown or ""."""

    minutes: int
    kind: str
    kinds: Sequence[tuple[str, int]]
    rows: Sequence[ChangeRow]
    bars: Sequence[Bar]
    width: int
    height: int


def changes_view(changes: Sequence[RecentChange], census: Census, *, kind: str, now: float) -> ChangesView:
    """The view; `now` in seconds since the epoch."""
    counted = Counter(change.kind for change in changes)
    shown = [change for change in changes if kind in ("", change.kind.value)]
    minutes = int(KEPT_SECONDS // _MINUTE)
    by_minute = Counter(min(int((now - change.wall) // _MINUTE), minutes - 1) for change in shown)
    most = max(by_minute.values(), default=1)
    return ChangesView(
        minutes=minutes,
        kind=kind,
        kinds=[(each.value, counted[each]) for each in ChangeKind],
        rows=change_rows(shown, census, now),
        bars=[
            Bar(
                x=_BAR * (minutes - 1 - ago),
                y=_TALLEST - (tall := -(-_TALLEST * by_minute[ago] // most)),
                height=tall,
                words=f"{by_minute[ago]} changes {ago} minutes ago",
            )
            for ago in range(minutes)
        ],
        width=_BAR * minutes,
        height=_TALLEST,
    )
