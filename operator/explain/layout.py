"""Tables that lose nothing: what does not fit goes on in the next line, and a pipe gets lines of any length.

The commands that print tables come here, so that `| grep` finds what a terminal shows.
"""

from __future__ import annotations

from collections.abc import Collection

from rich.console import Console
from rich.table import Table

_ANY_LENGTH = 100_000
"""Characters; wider than any line gets, a table takes only what it needs."""


def console() -> Console:
    """Standard output: as wide as the terminal, or where it is none, as wide as needed."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=_ANY_LENGTH)


def table(*titles: str, whole: Collection[str] = (), title: str | None = None) -> Table:
    """An empty table with these columns. Those in `whole` are kept in one line as long as others can give way."""
    made = Table(title=title, title_justify="left")
    for each in titles:
        made.add_column(each, overflow="fold", no_wrap=each in whole)
    return made
