"""Series of trials that continue after a failure, for `bench.shapes` and `bench.crowd`.

A side that stalls at one size proves nothing about the other side or about other sizes. So the command reports all
measurements, then the failures, and fails.
"""

import click

from bench.failures import FAILURES, text_of
from bench.progress import Display
from bench.sides import KUBE_SCHEDULER, MUSTER, Side
from bench.trial import Backlog, Result, run
from tests.controlplane.binaries import MissingBinaryError

Pair = tuple[Result | None, Result | None]
"""The results of kube-scheduler and Muster; None for a side that failed."""


class Series:
    """Runs trials of both sides, and remembers the failures."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._faults: list[str] = []

    def run(self, name: str, backlog: Backlog) -> Pair:
        """Run both sides in turn on a backlog. Raises MissingBinaryError if a program is missing."""
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
