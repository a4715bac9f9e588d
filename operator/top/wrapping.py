"""Explanations on a screen of any width: prose is wrapped, and cells of a table are wrapped in their columns.

Pure: `session` wraps the lines of `reasons` whenever it draws them or counts how far they scroll.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest

from muster.operator.explain.layout import TableLine, printable

_INDENT = "  "
_MORE = " …"
_GAP = 2
"""The spaces between two columns: one less than where a table fits."""


def wrapped(lines: Sequence[str], width: int) -> list[str]:
    """The lines, each that is wider than the screen in several."""
    found: list[str] = []
    for _, part in groupby(lines, _columns):
        together = [*part]
        rows = [line for line in together if isinstance(line, TableLine)]
        found += _table(rows, width) if rows else _prose(together, width)
    return found


def message_lines(text: str, width: int, *, most: int) -> list[str]:
    """The beginning of a message in indented lines, `most` of them at most."""
    narrowest = len(_INDENT) + len(_MORE)
    return textwrap.wrap(
        printable(text),
        max(width, narrowest),
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        max_lines=most,
        placeholder=_MORE,
    )


def _columns(line: str) -> int:
    """The number of columns of the table that the line is of; 0 for prose."""
    return len(line.cells) if isinstance(line, TableLine) else 0


def _prose(lines: Sequence[str], width: int) -> Iterator[str]:
    for line in lines:
        yield from textwrap.wrap(line, max(width, 1), subsequent_indent=_INDENT) or [""]


def _table(rows: Sequence[TableLine], width: int) -> Iterator[str]:
    if max(map(len, rows)) <= width:
        yield from rows
        return
    cells = [[printable(cell) for cell in row.cells] for row in rows]
    widths = _fitting(cells, width)
    for row in cells:
        parts = [
            textwrap.wrap(cell, wide, break_on_hyphens=False) or [""] for cell, wide in zip(row, widths, strict=True)
        ]
        for line in zip_longest(*parts, fillvalue=""):
            padded = (cell.ljust(wide) for cell, wide in zip(line, widths, strict=True))
            yield (" " * _GAP).join(padded).rstrip()


def _fitting(cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of the columns: the widest ones are narrowed until the table fits.

    A column is narrower than its longest word, a name for example, only if there is no other way.
    """
    columns = [*zip(*cells, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    words = [max((len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    room = max(width - _GAP * (len(columns) - 1), len(columns))
    while sum(widths) > room:
        at = max(range(len(widths)), key=lambda each: (widths[each] > words[each], widths[each]))
        widths[at] -= 1
    return widths
