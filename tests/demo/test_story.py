"""The README's first command, as a newcomer runs it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.asking import bounded

MUSTER = Path(sys.executable).with_name("muster")
REPOSITORY = Path(__file__).parents[2]


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
        "pod group default/oversized is unschedulable, 0 of the 2 members that it needs fit:",
    ):
        assert part in story
    assert story.count("8 bound on 8 nodes") == 2


def test_the_commands_that_it_leaves_to_the_user_work_in_a_shell_without_muster(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    assert kubectl is not None
    environment = os.environ | {"PATH": f"{Path(kubectl).parent}:{os.defpath}", "TMPDIR": str(tmp_path)}
    with bounded(subprocess.Popen([MUSTER, "demo"], stdout=subprocess.PIPE, text=True, env=environment)) as demo:
        assert demo.stdout is not None
        assert any("Your turn" in line for line in demo.stdout)
        commands: list[str] = []
        while not any("first-gang" in line for line in commands):
            line = demo.stdout.readline()
            commands += [line] if line.startswith("  ") else []
        ran = subprocess.run(
            ["sh", "-ec", "".join(commands)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=REPOSITORY,
            timeout=240,
        )
        demo.send_signal(signal.SIGINT)
    assert ran.returncode == 0, ran.stderr
    assert "default/oversized needs 2 pods, 2 exist, 0 have nodes" in ran.stdout
    assert "podgroup.scheduling.x-k8s.io/first-gang created" in ran.stdout


@pytest.mark.parametrize("moment", ["An embedded cluster of", "1. Plain pods", "20 bound", "2. A gang", "first-gang"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_any_moment_in_good_order(moment: str, number: signal.Signals, tmp_path: Path) -> None:
    pipe, environment = subprocess.PIPE, os.environ | {"TMPDIR": str(tmp_path)}
    with bounded(subprocess.Popen([MUSTER, "demo"], stdout=pipe, stderr=pipe, text=True, env=environment)) as demo:
        assert demo.stdout is not None
        assert any(moment in line for line in demo.stdout)
        demo.send_signal(number)
        rest, complaints = demo.communicate(timeout=60)
    assert (demo.returncode, complaints) == (0, "")
    assert rest.split()[-3:] == ["ending", "…", "ended"]
    assert list(tmp_path.iterdir()) == []


def test_a_story_that_was_cut_short_did_not_happen() -> None:
    with bounded(subprocess.Popen([MUSTER, "demo", "--once"], stdout=subprocess.PIPE, text=True)) as demo:
        assert demo.stdout is not None
        assert any("1. Plain pods" in line for line in demo.stdout)
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
    assert demo.returncode == 1
