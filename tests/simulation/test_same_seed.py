"""The same seed gives the same run to the byte, in another process with other hashes and addresses, too."""

import os
import subprocess
import sys

from muster.testing.simulation import simulate

SEEDS = ("22", "24", "30")
PROGRAM = """
import logging, sys
from muster.testing.simulation import simulate
logging.disable(logging.CRITICAL)
garbage = [object() for _ in range(int(sys.argv[1]))]
for seed in sys.argv[2:]:
    print(simulate(seed).digest)
"""


def digests(hash_seed: str) -> list[str]:
    """The digests of the seeds in a process of its own."""
    played = subprocess.run(
        [sys.executable, "-c", PROGRAM, f"{int(hash_seed) * 1000}", *SEEDS],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return played.stdout.split()


def test_another_process_sees_the_same() -> None:
    assert len(set(digests("1"))) == len(SEEDS)
    assert digests("1") == digests("2")


def test_what_is_left_out_of_a_history_changes_only_what_depends_on_it() -> None:
    whole = simulate("12")
    assert simulate("12", history=whole.history).digest == whole.digest
    assert simulate("12", history=whole.history[:-1]).digest != whole.digest
