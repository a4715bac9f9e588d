"""Progress bars of benchmarks, on standard error, so that a report can go into a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Advance = Callable[[int], None]
"""Told how many more things are done."""


class Display(Protocol):
    """Where phases are shown."""

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        """Shows a phase from its beginning to its end; `total` things are to be done, or nobody knows how many."""
        ...


class Bars:
    """A bar for each phase, under its predecessors. To be used as a context manager."""

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            refresh_per_second=4,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        task = self._progress.add_task(name, total=total)
        yield lambda count: self._progress.advance(task, count)
        self._progress.update(task, total=total or 1, completed=total or 1)
