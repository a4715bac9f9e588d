"""The lines that `muster top` shows: a summary, then the table or an explanation, then the keys.

Pure: the contents and the size of the screen become exactly as many lines as the screen has. Text from the cluster
passes through `printable`, so that no control sequence in it reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from muster.framework.contract import GroupId
from muster.framework.model.times import age
from muster.operator.explain.layout import Columns, printable
from muster.operator.simulate.wording import counted

from .rows import COUNTED, QueueSummary, TopRow, WaitingState
from .state import TopState

_TITLES = ("STATE", "PLACE", "KIND", "NAME", "PODS", "PRIORITY", "AGE", "MESSAGE")
_STYLES = {
    WaitingState.HELD: "magenta",
    WaitingState.BACKOFF: "yellow",
    WaitingState.UNSCHEDULABLE: "red",
    WaitingState.GATED: "cyan",
    WaitingState.ACTIVE: "blue",
    WaitingState.EMPTY: "dim",
    WaitingState.PLACED: "green",
}
_TABLE_KEYS = "enter why  / filter  s sort  q quit"
_WHY_KEYS = "esc back  arrows scroll  q quit"
_AROUND = 3
"""The number of lines around the table or explanation: title, counts and keys."""


@dataclass(frozen=True, slots=True)
class TopView:
    """The contents of the screen; `rows` are the rows that match the filter, `why` is the open explanation."""

    about: str
    summary: QueueSummary
    rows: Sequence[TopRow]
    state: TopState
    why: Sequence[str] = ()
    missing: Sequence[str] = ()
    now: float = 0.0


def page_of(height: int, missing: Sequence[str]) -> int:
    """The number of rows of the table, or lines of an explanation, that fit a screen below the heading."""
    return max(height - _AROUND - len(missing[:1]) - 1, 1)


def draw(view: TopView, *, width: int, height: int) -> list[Text]:
    """The lines of the screen."""
    state, page = view.state, page_of(height, view.missing)
    head = [_line(f"muster top  {view.about}", "bold"), _counts(view.summary)]
    head += [_line(sentence, "yellow") for sentence in view.missing[:1]]
    if state.opened is None:
        body = [*_table(view, page)]
    else:
        name = state.opened.key if isinstance(state.opened, GroupId) else state.opened
        explained = view.why[state.scroll : state.scroll + page]
        body = [_line(f"why {name}", "bold"), *map(_line, explained)]
    filled = [*head, *body][: height - 1]
    filled += [Text()] * (height - 1 - len(filled))
    return [*filled, _foot(view)]


def _counts(summary: QueueSummary) -> Text:
    """The status line."""
    found = Text(no_wrap=True, overflow="ellipsis")
    for state in COUNTED:
        number = summary.pods.get(state, 0)
        found.append(f"{state} {number}  ", _STYLES[state] if number else "dim")
    groups, placed, nodes = summary.waiting_groups, summary.placed, summary.nodes
    waits = f"{counted(groups, 'group')} {'waits' if groups == 1 else 'wait'}"
    found.append(f"| {waits}, {counted(placed, 'pod')} placed, {counted(nodes, 'node')}")
    return found


def _table(view: TopView, page: int) -> Iterator[Text]:
    """The titles, and the rows around the cursor."""
    columns, at = Columns(*_TITLES), view.state.at
    first = max(min(at - page // 2, len(view.rows) - page), 0)
    seen = view.rows[first : first + page]
    cells = [_cells(row, view.now) for row in seen]
    columns.fit(cells)
    yield _line(columns.head(), "bold")
    for number, (row, each) in enumerate(zip(seen, cells, strict=True), first):
        line = _line(columns.line(each))
        line.stylize(_STYLES[row.state], 0, len(row.state))
        if number == at:
            line.stylize("reverse")
        yield line
    if not view.rows:
        yield _line("No row matches the filter." if view.state.find else "Nothing waits, and there are no groups.")


def _cells(row: TopRow, now: float) -> tuple[str, ...]:
    return (
        *(row.state, str(row.place or "-"), row.kind, row.name, f"{row.placed}/{row.needed}"),
        *(str(row.priority), age(row.since or None, now), row.message),
    )


def _foot(view: TopView) -> Text:
    """The filter while the user types it, otherwise the keys."""
    state = view.state
    if state.typing:
        return _line(f"/{state.find}_", "bold")
    if state.opened is not None:
        return _line(_WHY_KEYS, "dim")
    find = f"  filter: {state.find}" if state.find else ""
    return _line(f"{_TABLE_KEYS}  |  sorted by {state.sort}{find}", "dim")


def _line(text: str, style: str = "") -> Text:
    return Text(printable(text), style, no_wrap=True, overflow="ellipsis")
