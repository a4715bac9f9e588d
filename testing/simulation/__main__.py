"""Play seeds and tell what came of each: `python -m muster.testing.simulation 1-300`.

All cores play, and seeds are told in their order. A seed that goes wrong is cut down to the acts that it takes, and one
command is printed that plays just these again.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from .history import Act, history_of, scale_of
from .shrink import shortest
from .simulation import Outcome, simulate

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Played:
    """A seed that was played.

    Attributes:
        spent: seconds of CPU that it took.
        again: lines for people who want to see again what went wrong; empty when all held.
    """

    outcome: Outcome
    spent: float
    again: tuple[str, ...] = ()


def main() -> int:
    """The exit code: 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m muster.testing.simulation", description=__doc__)
    parser.add_argument("seeds", nargs="+", help="numbers, and ranges of them: 7 1-300")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that play; all cores by default")
    parser.add_argument("--only", help="play only these acts of the history, by number: 0,3,17")
    parser.add_argument("--tell", action="store_true", help="print every act, request and watch event")
    parser.add_argument("--quiet", action="store_true", help="print only what went wrong, and the sum")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    began, bad, steps, seconds, spent = time.monotonic(), 0, 0, 0.0, 0.0
    seeds = [*_seeds(given.seeds)]
    for played in _all(partial(play, only=given.only, tell=given.tell), seeds, 1 if given.tell else given.jobs):
        outcome = played.outcome
        steps, seconds, spent = steps + outcome.steps, seconds + outcome.seconds, spent + played.spent
        bad += bool(outcome.wrong)
        if outcome.wrong or not given.quiet:
            print(outcome, *played.again, sep="\n", flush=True)
    took = time.monotonic() - began
    print(f"{len(seeds)} seeds, {bad} went wrong; {steps} events and {seconds / _HOUR:.1f} hours simulated")
    for what, each in (("of CPU", spent), ("on the clock", took)):
        an_hour = _HOUR / each
        print(f"{each:.0f} s {what}: {len(seeds) * an_hour:.0f} seeds and {steps * an_hour:.0f} events an hour")
    return 1 if bad else 0


def play(seed: str, *, only: str | None = None, tell: bool = False) -> Played:
    """Play a seed, or just some acts of its history; whatever goes wrong is cut down unless it is already."""
    logging.disable(logging.CRITICAL)
    began = time.process_time()
    history = None if only is None else _chosen(seed, only)
    outcome = simulate(seed, history=history, tell=print if tell else None)
    spent = time.process_time() - began
    return Played(outcome, spent, tuple(_cut_down(outcome)) if outcome.wrong and only is None else ())


def _all(play: partial[Played], seeds: Sequence[str], jobs: int) -> Iterator[Played]:
    if jobs <= 1 or len(seeds) == 1:
        yield from map(play, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(play, seeds)


def _chosen(seed: str, only: str) -> list[Act]:
    acts = history_of(seed, scale_of(seed))
    return [acts[int(number)] for number in only.split(",") if number]


def _cut_down(outcome: Outcome) -> Iterator[str]:
    """The acts that it takes, and how to play them."""
    kind = _kind(outcome)

    def fails(acts: Iterable[tuple[int, Act]]) -> bool:
        again = simulate(outcome.seed, history=[act for _, act in acts])
        return bool(again.wrong) and _kind(again) == kind

    kept = shortest([*enumerate(outcome.history)], fails)
    for number, act in kept:
        yield f"    {number:3} {act}"
    numbers = ",".join(str(number) for number, _ in kept)
    yield f"  again: python -m muster.testing.simulation {outcome.seed} --only {numbers} --tell"


def _kind(outcome: Outcome) -> str:
    """What went wrong first, names and numbers apart."""
    text = outcome.wrong[0].partition(":")[2] or outcome.wrong[0]
    return "".join(filter(str.isalpha, text))[-12:]


def _seeds(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        first, _, last = text.partition("-")
        yield from map(str, range(int(first), int(last or first) + 1))


if __name__ == "__main__":
    sys.exit(main())
