"""The page of changes in the last quarter of an hour, or in the last day if a history is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from muster.framework.model.times import human_duration
from muster.operator.simulate.wording import counted

from ..census import Census
from ..change_log import KEPT_SECONDS, ChangeKind, RecentChange
from ..samples import DAY_SECONDS
from .parts import ChangeRow, change_rows

_BAR = 18
_TALLEST = 60
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class Period:
    """The time that the page covers: `bars` bars of `bar_seconds` each; `words` and `bar` are texts for users."""

    words: str
    bars: int
    bar_seconds: float
    bar: str


QUARTER = Period("15 minutes, since this page has been served", 15, KEPT_SECONDS / 15, "a minute")
DAY = Period("24 hours, as far as they were recorded", 24, DAY_SECONDS / 24, "an hour")


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the drawing: the number of changes in one part of the period."""

    x: int
    y: int
    height: int
    words: str


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """The contents of the page.

    Attributes:
        kind: the kind of changes that is listed; "" for all.
        kinds: the kinds to choose from, each with the number of its changes.
        hidden: the number of changes that are not listed because there are too many.
    """

    period: Period
    kind: str
    kinds: Sequence[tuple[str, int]]
    rows: Sequence[ChangeRow]
    hidden: int
    bars: Sequence[Bar]
    width: int
    height: int


def changes_page(
    changes: Sequence[RecentChange], census: Census, period: Period, *, kind: str, now: float
) -> ChangesPage:
    """The view of the changes in the period; `now` in seconds since the epoch."""
    of_kind = Counter(change.kind for change in changes)
    shown = [change for change in changes if kind in ("", change.kind.value)]
    by_bar = Counter(min(int((now - change.wall) // period.bar_seconds), period.bars - 1) for change in shown)
    most = max(by_bar.values(), default=1)
    return ChangesPage(
        period=period,
        kind=kind,
        kinds=[(each.value, of_kind[each]) for each in ChangeKind],
        rows=change_rows(shown[:_MOST_ROWS], census, now),
        hidden=max(len(shown) - _MOST_ROWS, 0),
        bars=[
            Bar(
                x=_BAR * (period.bars - 1 - ago),
                y=_TALLEST - (tall := -(-_TALLEST * by_bar[ago] // most)),
                height=tall,
                words=f"{counted(by_bar[ago], 'change')} {_when(ago, period)}",
            )
            for ago in range(period.bars)
        ],
        width=_BAR * period.bars,
        height=_TALLEST,
    )


def _when(ago: int, period: Period) -> str:
    """The time of a bar, which `ago` others follow."""
    return f"{human_duration(ago * period.bar_seconds)} ago" if ago else f"less than {period.bar} ago"
