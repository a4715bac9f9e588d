"""The journal of a long run: one line for each seed that was played, so that an interrupted run continues.

`python -m muster.testing.simulation SEEDS --journal FILE` adds a line as soon as a seed has ended, and does not play
the seeds of FILE again. FILE belongs to one version of the code: whoever names it puts the commit into its name, as
`make simulate-all` does. A line that was cut off when the run was ended is dropped, and its seed is played again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from .tally import SeedTally

_HOUR = 3600.0


class SeedResult(msgspec.Struct, frozen=True):
    """The result of one seed.

    Attributes:
        seed: number of the seed, or the file of a kept history.
        wrong: whether anything did not hold.
        steps: callbacks that ran.
        simulated: seconds of virtual time that passed.
        cpu: seconds of CPU that it took.
        clock: seconds since the result before it, or since the run began.
        took_part: the data of its `SeedTally`.
    """

    seed: str
    wrong: bool
    steps: int
    simulated: float
    cpu: float
    clock: float
    took_part: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class SeedJournal:
    """Results of seeds in a file; without a path nothing is kept."""

    path: Path | None = None

    def read(self) -> dict[str, SeedResult]:
        """The results that the file has, by seed, after dropping a line that was cut off.

        Raises msgspec.ValidationError for a line that is not a result, and OSError.
        """
        if self.path is None or not self.path.exists():
            return {}
        whole, newline, _cut = self.path.read_bytes().rpartition(b"\n")
        self.path.write_bytes(whole + newline)
        results = [msgspec.json.decode(line, type=SeedResult) for line in whole.splitlines()]
        return {result.seed: result for result in results}

    def add(self, result: SeedResult) -> None:
        """Keep one more result."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")


class SeedSummary:
    """The sum of the results of many seeds: how much was played, what it took, and what took part."""

    def __init__(self) -> None:
        self.seeds = self.wrong = self.steps = 0
        self.simulated = self.cpu = self.clock = 0.0
        self.tally = SeedTally()

    def add(self, result: SeedResult) -> None:
        """Count one more seed."""
        self.seeds += 1
        self.wrong += result.wrong
        self.steps += result.steps
        self.simulated += result.simulated
        self.cpu += result.cpu
        self.clock += result.clock
        self.tally.add(SeedTally.of(result.took_part))

    def data(self) -> dict[str, Any]:
        """The sum as JSON, as results keep it."""
        return {
            "seeds": self.seeds,
            "wrong": self.wrong,
            "events": self.steps,
            "simulated_seconds": round(self.simulated),
            "cpu_seconds": round(self.cpu),
            "seconds": round(self.clock),
            "seeds_an_hour": round(self.seeds * _HOUR / self.clock),
            "took_part": self.tally.data(),
        }

    def lines(self) -> list[str]:
        """The sum for people."""
        lines = [
            f"{self.seeds} seeds, {self.wrong} went wrong; {self.steps} events and "
            f"{self.simulated / _HOUR:.1f} hours simulated"
        ]
        for what, seconds in (("of CPU", self.cpu), ("on the clock", self.clock)):
            an_hour = _HOUR / seconds
            rates = f"{self.seeds * an_hour:.0f} seeds and {self.steps * an_hour:.0f} events an hour"
            lines.append(f"{seconds:.0f} s {what}: {rates}")
        return [*lines, *self.tally.lines()]
