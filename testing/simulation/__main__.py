"""Play seeds and tell what came of each: `python -m muster.testing.simulation 1-300`.

A seed that goes wrong is cut down to the acts that it takes, and one command is printed that plays just these again.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Iterator

from .history import Act
from .shrink import shortest
from .simulation import Outcome, simulate


def main() -> int:
    """The exit code: 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m muster.testing.simulation", description=__doc__)
    parser.add_argument("seeds", nargs="+", help="numbers, and ranges of them: 7 1-300")
    parser.add_argument("--only", help="play only these acts of the history, by number: 0,3,17")
    parser.add_argument("--tell", action="store_true", help="print every act, request and watch event")
    parser.add_argument("--quiet", action="store_true", help="print only what went wrong, and the sum")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    played, bad, steps, seconds, began = 0, 0, 0, 0.0, time.process_time()
    for seed in _seeds(given.seeds):
        outcome = _play(seed, given.only, tell=given.tell)
        played, steps, seconds = played + 1, steps + outcome.steps, seconds + outcome.seconds
        if outcome.wrong or not given.quiet:
            print(outcome, flush=True)
        if outcome.wrong:
            bad += 1
            if given.only is None:
                _cut_down(outcome)
    spent = time.process_time() - began
    each_hour = 3600 / spent
    print(f"{played} seeds, {bad} went wrong; {steps} steps and {seconds / 3600:.1f} hours simulated")
    print(f"{spent:.0f} s of CPU: {played * each_hour:.0f} seeds and {steps * each_hour:.0f} steps an hour")
    return 1 if bad else 0


def _play(seed: str, only: str | None, *, tell: bool) -> Outcome:
    history = None
    if only is not None:
        acts = _whole(seed)
        history = [acts[int(number)] for number in only.split(",") if number]
    return simulate(seed, history=history, tell=print if tell else None)


def _cut_down(outcome: Outcome) -> None:
    """Print the acts that it takes, and how to play them."""
    kind = _kind(outcome)
    whole = list(enumerate(outcome.history))

    def fails(acts: object) -> bool:
        again = simulate(outcome.seed, history=[act for _, act in acts])  # type: ignore[attr-defined]
        return bool(again.wrong) and _kind(again) == kind

    kept = shortest(whole, fails)
    for number, act in kept:
        print(f"    {number:3} {act}")
    numbers = ",".join(str(number) for number, _ in kept)
    print(f"  again: python -m muster.testing.simulation {outcome.seed} --only {numbers} --tell", flush=True)


def _kind(outcome: Outcome) -> str:
    """What went wrong first, names and numbers apart."""
    return "".join(letter for letter in outcome.wrong[0].partition(":")[2] or outcome.wrong[0] if letter.isalpha())[
        -12:
    ]


def _whole(seed: str) -> list[Act]:
    return list(simulate(seed).history)


def _seeds(texts: list[str]) -> Iterator[str]:
    for text in texts:
        first, _, last = text.partition("-")
        yield from (str(seed) for seed in range(int(first), int(last or first) + 1))


if __name__ == "__main__":
    sys.exit(main())
