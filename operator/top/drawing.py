"""The lines that `muster top` shows: a summary, then the table or an explanation, then the keys.

Pure: the contents and the size of the screen become exactly as many lines as the screen has. Text from the cluster
passes through `printable`, so that no control sequence in it reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from muster.framework.contract import GroupId
from muster.framework.model.times import age
from muster.operator.explain.layout import Columns, printable
from muster.operator.simulate.wording import counted

from .rows import COUNTED, QueueSummary, TopRow, WaitingState
from .state import TopState
from .wrapping import message_lines

_WIDE = 160
"""The width of a screen from which on the counts have one line, and so has a row with its message."""
_MESSAGE_LINES = 2
"""The lines of a row's message, at most, on a narrower screen. The row has one line more."""
_WIDE_TITLES = ("STATE", "PLACE", "KIND", "NAME", "PODS", "PRIORITY", "AGE", "MESSAGE")
_NARROW_TITLES = ("STATE", "NAME", "PODS", "AGE")
_STYLES = {
    WaitingState.HELD: "magenta",
    WaitingState.PERMIT: "bright_blue",
    WaitingState.BACKOFF: "yellow",
    WaitingState.UNSCHEDULABLE: "red",
    WaitingState.GATED: "cyan",
    WaitingState.ACTIVE: "blue",
    WaitingState.EMPTY: "dim",
    WaitingState.PLACED: "green",
}
_TABLE_KEYS = "enter why  / filter  s sort  q quit"
_WHY_KEYS = "esc back  arrows scroll  q quit"


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


def page_of(width: int, height: int, missing: Sequence[str]) -> int:
    """How many lines of the table, or of an explanation, fit a screen below their heading."""
    title = heading = keys = 1
    counts = 1 if width >= _WIDE else 2
    return max(height - title - counts - len(missing[:1]) - heading - keys, 1)


def rows_of(width: int, page: int) -> int:
    """How many rows of the table are sure to fit in so many lines."""
    return page if width >= _WIDE else max(page // (1 + _MESSAGE_LINES), 1)


def draw(view: TopView, *, width: int, height: int) -> list[Text]:
    """The lines of the screen."""
    state, page = view.state, page_of(width, height, view.missing)
    head = [_line(f"muster top  {view.about}", "bold"), *_counts(view.summary, width)]
    head += [_line(sentence, "yellow") for sentence in view.missing[:1]]
    if state.opened is None:
        body = [*_table(view, width, page)]
    else:
        name = state.opened.key if isinstance(state.opened, GroupId) else state.opened
        explained = view.why[state.scroll : state.scroll + page]
        body = [_line(f"why {name}", "bold"), *map(_line, explained)]
    filled = [*head, *body][: height - 1]
    filled += [Text()] * (height - 1 - len(filled))
    return [*filled, _foot(view)]


def _counts(summary: QueueSummary, width: int) -> list[Text]:
    """How many pods wait, by state, and how many groups, pods and nodes there are."""
    waiting = Text(no_wrap=True, overflow="ellipsis")
    for state in COUNTED:
        number = summary.pods.get(state, 0)
        waiting.append(f"{state} {number}  ", _STYLES[state] if number else "dim")
    groups, placed, nodes = summary.waiting_groups, summary.placed, summary.nodes
    waits = f"{counted(groups, 'group')} {'waits' if groups == 1 else 'wait'}"
    waits += f", {summary.held_groups} held" if summary.held_groups else ""
    waits += f", {counted(placed, 'pod')} placed, {counted(nodes, 'node')}"
    if width < _WIDE:
        return [waiting, _line(waits)]
    return [waiting.append(f"| {waits}")]


def _table(view: TopView, width: int, page: int) -> Iterator[Text]:
    """The titles, and the rows around the cursor."""
    wide, at = width >= _WIDE, view.state.at
    near = range(max(at - page, 0), min(at + page, len(view.rows)))
    below = {n: [] if wide else message_lines(view.rows[n].message, width, most=_MESSAGE_LINES) for n in near}
    seen = _seen(at, page, {number: 1 + len(lines) for number, lines in below.items()})
    cells = [(_cells if wide else _narrow_cells)(view.rows[number], view.now) for number in seen]
    columns = Columns(*(_WIDE_TITLES if wide else _NARROW_TITLES))
    columns.fit(cells)
    yield _line(columns.head(), "bold")
    for number, each in zip(seen, cells, strict=True):
        state, line = view.rows[number].state, _line(columns.line(each))
        line.stylize(_STYLES[state], 0, len(state))
        if number == at:
            line.stylize("reverse")
        yield line
        yield from map(_line, below[number])
    if not view.rows:
        yield _line("No row matches the filter." if view.state.find else "Nothing waits, and there are no groups.")


def _seen(at: int, page: int, heights: Mapping[int, int]) -> range:
    """The rows that a page shows: the row `at`, then what fits above it in half of the page, below it, and above it.

    `heights` are the lines of the rows near that one.
    """
    first, end, room, half = at, at + (at in heights), page - heights.get(at, 0), page // 2
    over = page + 1
    while heights.get(first - 1, over) <= min(room, half):
        first -= 1
        room, half = room - heights[first], half - heights[first]
    while heights.get(end, over) <= room:
        room, end = room - heights[end], end + 1
    while heights.get(first - 1, over) <= room:
        first -= 1
        room -= heights[first]
    return range(first, end)


def _narrow_cells(row: TopRow, now: float) -> tuple[str, ...]:
    return (row.state, row.name, f"{row.placed}/{row.needed}", age(row.since or None, now))


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
