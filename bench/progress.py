"""Progress bars of benchmarks, on standard error, so that standard output can be redirected."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Advance = Callable[[int], None]
"""Called with the number of further finished items."""


class Display(Protocol):
    """A display of phases."""

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        """Show a phase from its beginning to its end; `total` is the number of its items, None if unknown."""
        ...


class Bars:
    """A progress bar for each phase, below the previous ones; a context manager."""

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
