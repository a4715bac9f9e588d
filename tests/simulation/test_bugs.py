"""The simulation finds bugs: put back one after another, each is found by the seed beside it, or soon after.

Any change of what a process asks of the API makes each seed another run, and which seed finds a bug is luck.
"""

import subprocess
import sys

import pytest

from muster.testing.simulation import simulate

from .bugs import BUGS

MOST_SEEDS = "60"


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(name: str) -> None:
    """In a process of its own, whose Muster has the bug."""
    hunt = [sys.executable, "-m", "tests.simulation.bugs", name, str(BUGS[name].seed), MOST_SEEDS]
    told = subprocess.run(hunt, capture_output=True, text=True, check=True).stdout
    assert "seeds: " in told


def test_without_a_bug_these_seeds_find_nothing() -> None:
    assert [wrong for bug in BUGS.values() for wrong in simulate(bug.seed).wrong] == []
