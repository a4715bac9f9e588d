"""Series of trials, any of which may fail: `bench.shapes` and `bench.crowd` continue after a failure.

A side that stalls at one size says nothing about the other side, nor about other sizes. So the measurements are
reported in any case, then the failures, and the command fails.
"""

import click

from bench.failures import FAILURES, text_of
from bench.progress import Display
from bench.sides import KUBE_SCHEDULER, MUSTER, Side
from bench.trial import Backlog, Result, run
from tests.controlplane.binaries import MissingBinaryError

Pair = tuple[Result | None, Result | None]
"""What kube-scheduler and Muster came to; None for a side that failed."""


class Series:
    """Runs trials of both sides, and remembers which failed."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._faults: list[str] = []

    def run(self, name: str, backlog: Backlog) -> Pair:
        """Both sides in their turn on a backlog. Raises MissingBinaryError, without which nothing can be measured."""
        return self._one(KUBE_SCHEDULER, name, backlog), self._one(MUSTER, name, backlog)

    def end(self) -> None:
        """Raises ClickException with the text of each failure, if there was one."""
        if self._faults:
            raise click.ClickException("\n\n".join(self._faults))

    def _one(self, side: Side, name: str, backlog: Backlog) -> Result | None:
        try:
            return run(side, backlog, self._display)
        except MissingBinaryError:
            raise
        except FAILURES as error:
            self._faults.append(f"{side.name}, {name}: {text_of(error)}")
            return None


def finished(pair: Pair) -> list[Result]:
    """The sides that did not fail."""
    return [result for result in pair if result is not None]
