"""The README's first command, as a newcomer runs it."""

import subprocess
import sys
from pathlib import Path

MUSTER = Path(sys.executable).with_name("muster")


def test_the_whole_story_happens() -> None:
    told = subprocess.run([MUSTER, "demo", "--once"], capture_output=True, text=True, timeout=240, check=False)
    assert told.returncode == 0, told.stderr
    story = " ".join(told.stdout.split())
    for part in (
        "20 bound on 20 nodes",
        "cannot find enough sibling pods, current pods number: 7, minMember of group: 8.",
        "8 bound on 8 nodes",
        "pod group default/big is unschedulable, 0 of the 8 members that it needs fit: 0/100 nodes are available: "
        "100 Insufficient cpu.",
        "1 bound on 1 nodes",
    ):
        assert part in story
    assert story.count("8 bound on 8 nodes") == 2
