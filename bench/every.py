"""All benchmarks of the pages, run one after another: `python -m bench measure`, or `make bench-all`.

Each benchmark runs in a separate process, as when it is started by hand, and its result is stored as soon as it exists.
Benchmarks already measured at this commit are skipped, so an interrupted run continues. A benchmark that fails keeps
its measurements, with the failure, and is repeated next time; the others continue.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.provenance import REPOSITORY, Provenance, provenance
from bench.results import FOLDER, Result, Run, read, record

BENCHMARKS: Mapping[str, tuple[str, ...]] = {
    "drain": ("--nodes=5000", "--pods=3000", "--runs=3"),
    "loop": ("--nodes=5000", "--pods=6000"),
    "quotas": ("--nodes=5000", "--pods=10000", "--runs=9"),
    "vast": ("--nodes=5000", "--nodes=50000", "--pods=6000"),
    "latency": ("--nodes=5000", "--rate=100", "--rate=300", "--rate=500"),
    "gangs": ("--nodes=5000", "--gangs=100", "--size=30"),
    "shapes": ("--nodes=5000", "--pods=2000"),
    "native": ("--nodes=5000", "--gangs=100", "--size=30", "--runs=3"),
    "topology": ("--nodes=5000", "--racks=50"),
    "upstream": ("--factor=1/5", "--resume"),
    "beside": ("--nodes=5000", "--size=3000", "--rate=20"),
    "crowd": ("--nodes=5000", "--pods=1000"),
    "backlog": ("--nodes=5000", "--rate=20", "--seconds=30"),
    "preemption": ("--nodes=500",),
    "storm": ("--nodes=1000", "--pods=10000", "--events=200"),
    "pages": ("--nodes=5000", "--groups=500", "--pods=10000"),
    "attack": ("--nodes=5000",),
    "soak": ("--minutes=30", "--rate=120"),
}
"""The arguments with which the pages' results are measured, by benchmark."""


class Ended(NamedTuple):
    """The end of a benchmark's process: its exit code and its standard output."""

    status: int
    output: str


def command_of(name: str) -> list[str]:
    """The arguments of Python that measure a benchmark."""
    return ["-m", f"bench.{name}", *BENCHMARKS[name], "--output=json"]


def execute(command: Sequence[str]) -> Ended:
    """Run Python with these arguments; progress bars and errors go to this process's standard error."""
    done = subprocess.run([sys.executable, *command], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    return Ended(done.returncode, done.stdout)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Runs benchmarks and stores their results.

    Attributes:
        tell: receives lines of progress.
        execute: runs a benchmark.
        origin: returns the provenance of a result measured now; raises `DirtyTreeError`.
        clock: returns seconds.
        folder: the folder of the results.
    """

    tell: Callable[[str], None]
    execute: Callable[[Sequence[str]], Ended] = execute
    origin: Callable[[], Provenance] = provenance
    clock: Callable[[], float] = time.monotonic
    folder: Path = FOLDER

    def measure_all(self, names: Sequence[str], *, again: bool = False) -> list[str]:
        """Run the benchmarks that have no result of this commit and class of machine, or all of them `again`.

        Returns a line for each failure. Raises `DirtyTreeError` as soon as the tree has uncommitted changes.
        """
        failures = []
        for number, name in enumerate(names, start=1):
            place, last = f"[{number}/{len(names)}] {name}", read(name, self.folder)
            if last is not None and not again and self._is_current(last):
                self.tell(f"{place}: measured at {last.commit} already")
                continue
            self.tell(f"{place}: begins{_expectation(last)}")
            failure, seconds = self.measure(name, command_of(name))
            if failure:
                failures.append(f"{name}: {failure}")
            self.tell(f"{place}: {failure or 'done'} after {seconds:.0f} s")
        return failures

    def measure(self, name: str, command: Sequence[str]) -> tuple[str, float]:
        """Store the output of Python with these arguments; returns the failure, if any, and the duration.

        Raises `DirtyTreeError`.
        """
        before, began = self.origin(), self.clock()
        ended = self.execute(command)
        seconds = self.clock() - began
        if self.origin().commit != before.commit:
            return "not recorded, as the tree was at another commit when it ended", seconds
        failure = f"failed with exit code {ended.status}" if ended.status else ""
        try:
            data = json.loads(ended.output)
        except json.JSONDecodeError:
            return f"{failure or 'failed'} and without a result", seconds
        run = Run(command=" ".join(["python", *command]), seconds=round(seconds, 1), failure=failure)
        record(name, data, run=run, origin=before, folder=self.folder)
        return failure, seconds

    def _is_current(self, result: Result) -> bool:
        now = self.origin()
        return not result.run.failure and (result.commit, result.machine) == (now.commit, now.machine)


def _expectation(last: Result | None) -> str:
    return f", took {last.run.seconds:.0f} s last time" if last is not None and last.run.seconds else ""
