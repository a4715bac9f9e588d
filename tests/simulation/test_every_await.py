"""The leader ends at every await of decisions: no pod is lost, bound twice or in part, or evicted without need."""

import subprocess
import sys

import pytest

from .every_await import WORKS

pytestmark = pytest.mark.slow

FEWEST = 150
"""Awaits of either work: fewer are no decisions of all these pods."""


@pytest.mark.parametrize("work", WORKS)
def test_a_leader_that_goes_at_any_await_leaves_all_as_promised(work: str) -> None:
    """Killed, ended or paused, in a process of its own, which forks at each of them."""
    command = [sys.executable, "-m", "tests.simulation.every_await", work]
    played = subprocess.run(command, capture_output=True, text=True)
    assert played.returncode == 0, played.stderr
    *failed, awaits = played.stdout.splitlines()
    assert failed == []
    assert int(awaits.partition(" ")[0]) >= FEWEST
