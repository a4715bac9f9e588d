"""The simulation finds bugs: put back one after another, each is found by the first seeds or by a kept history.

What finds a bug finds nothing without it. `test_seeds` proves that of the seeds that it plays.
"""

import re
import subprocess
import sys
from functools import cache

import pytest

from muster.testing.simulation import simulate
from muster.testing.simulation.kept import read

from .bugs import BUGS, ONCE, REGRESSIONS, path_of
from .test_seeds import HOW_MANY

LOTS = 3


def output_of(name: str, *more: str) -> str:
    """What is found in a process of its own, whose Muster has the bug."""
    hunt = [sys.executable, "-m", "tests.simulation.bugs", name, *more]
    return subprocess.run(hunt, capture_output=True, text=True, check=True).stdout


@cache
def without_a_bug(seed: str) -> tuple[str, ...]:
    """What goes wrong under a seed in Muster as it is. Many bugs are found by the same few seeds."""
    return simulate(seed).wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found_by_the_first_seeds(name: str) -> None:
    found = re.match(r"\d+ seeds: seed (\d+): ", output_of(name))
    assert found is not None
    assert int(found[1]) < HOW_MANY or without_a_bug(found[1]) == ()


@pytest.mark.parametrize("name", ONCE)
def test_a_kept_history_finds_its_bug(name: str) -> None:
    assert "seeds: " in output_of(name, "--kept")


@pytest.mark.parametrize("name", ONCE)
def test_a_kept_history_passes_without_its_bug(name: str) -> None:
    assert [wrong for lot in read(path_of(name)).lots(LOTS) for wrong in lot.play().wrong] == []


def test_every_history_that_is_kept_has_its_bug() -> None:
    assert {*REGRESSIONS.iterdir()} == {path_of(name) for name in ONCE}
