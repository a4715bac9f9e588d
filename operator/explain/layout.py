"""Tables as kubectl prints them: plain columns, one line per row, nothing squeezed, wrapped or cut.

Every command that prints a table uses it, so that `grep`, `awk` and `column` find what a terminal shows. Text from the
cluster may contain anything; no control sequence of it reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

NONE = "<none>"
"""The text that kubectl shows for an absent value."""

TERMINAL = 80
"""The least number of columns of a terminal."""

_NAMES_SHOWN = 3
_GAP = 3
_NARROWEST = 6


class TableLine(str):
    """A line of a whole table, which knows its cells: `muster top` wraps them where the line is too wide."""

    cells: Sequence[str]

    @classmethod
    def of(cls, columns: Columns, cells: Sequence[str]) -> TableLine:
        """The line of these cells."""
        line = cls(columns.line(cells))
        line.cells = cells
        return line


class Columns:
    """Columns under their titles, each as wide as its widest cell in the rows that `fit` was given.

    Later rows, such as those of a watch, are aligned as far as their cells fit.
    """

    def __init__(self, *titles: str) -> None:
        self._titles = titles
        self._widths: list[int] = []
        self.fit([])

    def fit(self, rows: Iterable[Sequence[str]]) -> None:
        """Make each column wide enough for these rows."""
        cells = [self._titles, *([printable(cell) for cell in row] for row in rows)]
        self._widths = [max(_NARROWEST, *(len(cell) + _GAP for cell in column)) for column in zip(*cells, strict=True)]

    def head(self) -> str:
        """The line of titles."""
        return self.line(self._titles)

    def line(self, row: Sequence[str]) -> str:
        """The line of a row; the last cell is not padded."""
        *first, last = (printable(cell) for cell in row)
        padded = (cell.ljust(width) for cell, width in zip(first, self._widths, strict=False))
        return f"{''.join(padded)}{last}".rstrip()


def lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[TableLine]:
    """A whole table."""
    columns = Columns(*titles)
    columns.fit(rows)
    yield from (TableLine.of(columns, cells) for cells in (titles, *rows))


def blocks(titles: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = TERMINAL) -> Iterator[str]:
    """A table that is divided into several, each with the first column, so that lines stay within a width.

    A column that is wider than that gets a table of its own.
    """
    cells = [*zip(titles, *rows, strict=True)]
    wide = [max(_NARROWEST, *(len(printable(cell)) + _GAP for cell in column)) for column in cells]
    first, taken = True, 1
    while first or taken < len(cells):
        end, room = taken + 1, width + _GAP - wide[0] - sum(wide[taken : taken + 1])
        while end < len(cells) and room >= wide[end]:
            room -= wide[end]
            end += 1
        shown = (0, *range(taken, min(end, len(cells))))
        yield from () if first else ("",)
        yield from lines([titles[at] for at in shown], [[row[at] for at in shown] for row in rows])
        first, taken = False, end


def printable(text: str) -> str:
    """The text as one line, with control characters escaped."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def shortened(names: Sequence[str], *, whole: bool) -> str:
    """A list of names, or its first few names and the number of the others."""
    shown = names if whole else names[:_NAMES_SHOWN]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f"{', '.join(shown)}{more}"
