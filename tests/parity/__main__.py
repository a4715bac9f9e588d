"""Compares Muster with kube-scheduler and prints how many decisions were compared.

`python -m tests.parity [SEEDS [FULL]]`: two ranges of seeds such as `1-60`, or 0 for none; of clusters with pods of
every kind, and of full clusters in which pods preempt.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.parity.comparison import PROFILES, Comparison, Tally, Worlds
from tests.parity.world import kube_scheduler, muster, now

DEFAULTS = ("1-60", "1-30")


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 only if nothing differs."""
    seeds, full = (_range(each) for each in (*arguments, *DEFAULTS[len(arguments) :]))
    tally, began = Tally(), now()
    with (
        TemporaryDirectory() as folder,
        kube_scheduler(Path(folder, "theirs"), PROFILES) as theirs,
        muster(Path(folder, "ours"), PROFILES) as ours,
    ):
        comparison = Comparison(Worlds(theirs, ours), tally)
        for seed in seeds:
            comparison.cluster(seed)
            _tell(f"cluster {seed}", tally, began)
        for seed in full:
            comparison.full_cluster(seed)
            _tell(f"full cluster {seed}", tally, began)
    for difference in tally.differences:
        print(difference)
    return 1 if tally.differences else 0


def _tell(what: str, tally: Tally, began: float) -> None:
    print(f"{what}: {now() - began:.0f} s, {tally}", flush=True)


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1) if text != "0" else range(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
