"""Plays seeds and reports the result of each: `python -m muster.testing.simulation 1-300`.

Seeds run on all cores, and are reported in their order. A failing seed is reduced to the acts that it needs, and a
command is printed that plays just these again. With `--keep` they are written to a file, which plays like a seed. With
`--journal` an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .history import history_of, scale_of
from .journal import SeedJournal, SeedResult, SeedSummary
from .kept import Kept, cut_down, kept_of, read
from .simulation import SimulationOutcome, simulate

_FILE = ".json"


@dataclass(frozen=True, slots=True)
class Played:
    """The result of one seed.

    Attributes:
        seed: number, or file of a kept history, as given.
        spent: the seconds of CPU that it took.
        again: lines that say how to play a failure again; empty if all guarantees held.
    """

    seed: str
    outcome: SimulationOutcome
    spent: float
    again: tuple[str, ...] = ()

    def result(self, *, clock: float) -> SeedResult:
        """The result to keep, `clock` seconds after the one before it."""
        outcome = self.outcome
        return SeedResult(
            seed=self.seed,
            wrong=bool(outcome.wrong),
            steps=outcome.steps,
            simulated=outcome.seconds,
            cpu=self.spent,
            clock=clock,
            took_part=outcome.tally.data(),
        )


def main() -> int:
    """Play the seeds of the command line; returns the exit code, 1 if a guarantee was violated."""
    parser = argparse.ArgumentParser(prog="python -m muster.testing.simulation", description=__doc__)
    parser.add_argument("seeds", nargs="+", help="numbers, ranges of them, and files of kept histories: 7 1-300")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that play; all cores by default")
    parser.add_argument("--only", help="play only these acts of the history, by number: 0,3,17")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what goes wrong to a file here, cut down")
    parser.add_argument("--trace", action="store_true", help="print every act, request and watch event")
    parser.add_argument(
        "--output",
        choices=("text", "json"),
        default="text",
        help="json: the sum on standard output, all else beside it",
    )
    parser.add_argument("--quiet", action="store_true", help="print only what went wrong, and the sum")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="keep each result in this file, and play only seeds it lacks"
    )
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    journal, summary, as_json = SeedJournal(given.journal), SeedSummary(), given.output == "json"
    out = sys.stderr if as_json else sys.stdout
    seeds, known = [*_seeds(given.seeds)], journal.read()
    for seed in seeds:
        if seed in known:
            summary.add(known[seed])
    once = partial(play, only=given.only, keep=given.keep, trace=given.trace)
    last = time.monotonic()
    for played in _all(once, [seed for seed in seeds if seed not in known], 1 if given.trace else given.jobs):
        now = time.monotonic()
        result, last = played.result(clock=now - last), now
        journal.add(result)
        summary.add(result)
        if result.wrong or not given.quiet:
            print(played.outcome, *played.again, sep="\n", flush=True, file=out)
    fault = summary.tally.fault()
    if as_json:
        print(json.dumps(summary.data(), indent=2))
    print(*summary.lines(), *([fault] if fault else []), sep="\n", file=out)
    return 1 if summary.wrong or fault else 0


def play(seed: str, *, only: str | None = None, keep: Path | None = None, trace: bool = False) -> Played:
    """Play a seed or file, or only some acts of its history. A failing history is reduced unless `only` is given."""
    logging.disable(logging.CRITICAL)
    began = time.process_time()
    kept = _history(seed)
    history = kept.history if only is None else [kept.history[int(number)] for number in only.split(",") if number]
    outcome = simulate(kept.seed, history=history, scale=kept.scale, trace=print if trace else None)
    spent = time.process_time() - began
    if not outcome.wrong or only is not None:
        return Played(seed, outcome, spent)
    return Played(seed, outcome, spent, tuple(_again(seed, outcome, keep)))


def _all(play: partial[Played], seeds: Sequence[str], jobs: int) -> Iterator[Played]:
    if jobs <= 1 or len(seeds) == 1:
        yield from map(play, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(play, seeds)


def _history(seed: str) -> Kept:
    """The history of a seed, or the kept history of a file."""
    if seed.endswith(_FILE):
        return read(Path(seed))
    scale = scale_of(seed)
    return Kept(seed, "", scale, tuple(history_of(seed, scale)))


def _again(seed: str, outcome: SimulationOutcome, keep: Path | None) -> Iterator[str]:
    """The acts that the failure needs, and the command that plays them again."""
    numbers = cut_down(outcome)
    for number in numbers:
        yield f"    {number:3} {outcome.history[number]}"
    play = f"{seed} --only {','.join(map(str, numbers))}"
    if keep is not None:
        play = str(keep / f"seed-{outcome.seed}{_FILE}")
        keep.mkdir(parents=True, exist_ok=True)
        kept_of(outcome, numbers).write(Path(play))
    yield f"  again: python -m muster.testing.simulation {play} --trace"


def _seeds(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        if text.endswith(_FILE):
            yield text
            continue
        first, _, last = text.partition("-")
        yield from map(str, range(int(first), int(last or first) + 1))


if __name__ == "__main__":
    sys.exit(main())
