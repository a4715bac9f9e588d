"""The state of `muster top` between two keys, and the effect of each key on it.

Pure: `press` takes a state and a key and returns the next state. `session` keeps the state, `drawing` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .keys import Key
from .rows import RowId, TopRow


class SortColumn(StrEnum):
    """The columns by which rows are sorted, in the order in which `s` selects them."""

    QUEUE = "queue"
    NAME = "name"
    STATE = "state"
    PRIORITY = "priority"
    AGE = "age"


_BY: dict[SortColumn, Callable[[TopRow], Any]] = {
    SortColumn.NAME: lambda row: row.name,
    SortColumn.STATE: lambda row: row.state.rank,
    SortColumn.PRIORITY: lambda row: -row.priority,
    SortColumn.AGE: lambda row: row.since or "~",  # an unknown time counts as the latest
}
_COLUMNS = [*SortColumn]


@dataclass(frozen=True, slots=True)
class TopState:
    """The state of the screen between two keys.

    Attributes:
        find: the text that a row has to contain to be shown, case-insensitive.
        typing: whether keys are added to `find`.
        cursor, at: the selected row and its index, where it is still selected if another row takes its place.
        opened: the row whose explanation is shown instead of the table.
        scroll: the number of lines of the explanation above the screen.
        over: whether the user has quit.
    """

    sort: SortColumn = SortColumn.QUEUE
    find: str = ""
    typing: bool = False
    cursor: RowId | None = None
    at: int = 0
    opened: RowId | None = None
    scroll: int = 0
    over: bool = False


@dataclass(frozen=True, slots=True)
class Extent:
    """The contents that keys move in: the shown rows, the number of lines of the explanation, and how many fit."""

    rows: Sequence[TopRow]
    lines: int
    page: int


def shown(rows: Sequence[TopRow], state: TopState) -> list[TopRow]:
    """The rows that match the filter, sorted. Rows with equal keys stay in the order of the queue."""
    find = state.find.lower()
    left = [row for row in rows if find in f"{row.kind} {row.name} {row.state} {row.message}".lower()]
    return left if state.sort is SortColumn.QUEUE else sorted(left, key=_BY[state.sort])


def settled(state: TopState, rows: Sequence[TopRow]) -> TopState:
    """The state with the cursor on one of these rows: on its previous row, or else on the nearest."""
    at = next((at for at, row in enumerate(rows) if row.id == state.cursor), min(state.at, len(rows) - 1))
    return replace(state, cursor=rows[at].id, at=at) if rows else replace(state, cursor=None, at=0)


def press(state: TopState, key: str, extent: Extent) -> TopState:
    """The state after a key."""
    if key == Key.INTERRUPT:
        return replace(state, over=True)
    if state.typing:
        return _typed(state, key)
    if key == "q":
        return replace(state, over=True)
    return (
        _scrolled(state, key, extent) if state.opened is not None else _moved(settled(state, extent.rows), key, extent)
    )


def _typed(state: TopState, key: str) -> TopState:
    if key == Key.ENTER:
        return replace(state, typing=False)
    if key == Key.ESCAPE:
        return replace(state, typing=False, find="")
    if key == Key.BACKSPACE:
        return replace(state, find=state.find[:-1])
    return replace(state, find=state.find + key) if len(key) == 1 and key.isprintable() else state


def _moved(state: TopState, key: str, extent: Extent) -> TopState:
    """The state after a key in the table."""
    if key == Key.ENTER:
        return replace(state, opened=state.cursor, scroll=0)
    if key == Key.ESCAPE:
        return replace(state, find="")
    if key == "/":
        return replace(state, typing=True)
    if key == "s":
        following = _COLUMNS[(_COLUMNS.index(state.sort) + 1) % len(_COLUMNS)]
        return replace(state, sort=following)
    at = _stepped(state.at, key, extent.page, len(extent.rows) - 1)
    return replace(state, at=at, cursor=extent.rows[at].id) if extent.rows else state


def _scrolled(state: TopState, key: str, extent: Extent) -> TopState:
    """The state after a key in an explanation."""
    if key == Key.ESCAPE:
        return replace(state, opened=None, scroll=0)
    return replace(state, scroll=_stepped(state.scroll, key, extent.page, extent.lines - extent.page))


def _stepped(at: int, key: str, page: int, last: int) -> int:
    """An index after a key that moves it, or the same index, within 0 and the last."""
    targets: dict[str, int] = {
        **{Key.DOWN: at + 1, "j": at + 1, Key.UP: at - 1, "k": at - 1},
        **{Key.PAGE_DOWN: at + page, Key.PAGE_UP: at - page, Key.HOME: 0, Key.END: last},
    }
    return max(min(targets.get(key, at), last), 0)
