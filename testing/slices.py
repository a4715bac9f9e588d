"""Work in slices: a function run from one checkpoint to the next, so that tests can look at the state in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muster.framework.work import Worker, at_each


def slices_of(function: Callable[[], object]) -> Iterator[None]:
    """Call the function; yields at each checkpoint that it passes. Closing it early abandons the call."""
    worker = Worker()
    worker.begin(function)
    try:
        while not worker.go_on(at_each):
            yield
    finally:
        worker.abort()
