"""The README's first command, as a newcomer runs it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.asking import bounded

MUSTER = Path(sys.executable).with_name("muster")
BUSY = "A plugin held up the scheduler"
"""The warning that a call took long: on a busy machine any call may."""


def test_the_whole_story_happens() -> None:
    shown = subprocess.run([MUSTER, "demo", "--once"], capture_output=True, text=True, timeout=240, check=False)
    assert shown.returncode == 0, shown.stderr
    story = " ".join(shown.stdout.split())
    for part in (
        "20 bound on 20 nodes",
        "cannot find enough sibling pods, current pods number: 7, minMember of group: 8.",
        "8 bound on 8 nodes",
        "pod group default/big is unschedulable, 0 of the 8 members that it needs fit: 0/100 nodes are available: "
        "100 Insufficient cpu.",
        "1 bound on 1 node in",
    ):
        assert part in story
    assert story.count("8 bound on 8 nodes") == 2


@pytest.mark.parametrize("moment", ["An embedded cluster of", "1. Plain pods", "20 bound", "2. A gang", "first-gang"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_any_moment_in_good_order(moment: str, number: signal.Signals, tmp_path: Path) -> None:
    pipe, environment = subprocess.PIPE, os.environ | {"TMPDIR": str(tmp_path)}
    with bounded(subprocess.Popen([MUSTER, "demo"], stdout=pipe, stderr=pipe, text=True, env=environment)) as demo:
        assert demo.stdout is not None
        assert any(moment in line for line in demo.stdout)
        demo.send_signal(number)
        rest, complaints = demo.communicate(timeout=60)
    assert (demo.returncode, [line for line in complaints.splitlines() if BUSY not in line]) == (0, [])
    assert rest.split()[-3:] == ["ending", "…", "ended"]
    assert list(tmp_path.iterdir()) == []


def test_a_story_that_was_cut_short_did_not_happen() -> None:
    with bounded(subprocess.Popen([MUSTER, "demo", "--once"], stdout=subprocess.PIPE, text=True)) as demo:
        assert demo.stdout is not None
        assert any("1. Plain pods" in line for line in demo.stdout)
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
    assert demo.returncode == 1
