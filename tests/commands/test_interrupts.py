"""Watches where SIGINT is ignored, as under `nohup make test &`: none can hang the suite."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
HANGS = """
from tests.commands.asking import watching


def test_that_reads_for_ever() -> None:
    with watching("sandbox", ignoring_interrupts=True) as printed:
        while True:
            printed.readline()
            printed.read()
"""
ENDS = """
from tests.commands.asking import watching


def test_that_ends() -> None:
    with watching("sandbox", ignoring_interrupts=True) as printed:
        assert printed.readline().startswith("serving ")
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_watch_that_says_nothing_more_fails_its_test_by_name_at_the_timeout(workers: str, tmp_path: Path) -> None:
    done = suite_of(HANGS, tmp_path, "-n", workers, "-o", "timeout=6")
    assert done.returncode == 1, done.stdout
    assert "::test_that_reads_for_ever" in done.stdout
    assert "Failed: Timeout (>6.0s)" in done.stdout


def test_an_interrupt_ends_a_watch_that_was_started_with_interrupts_ignored(tmp_path: Path) -> None:
    done = suite_of(ENDS, tmp_path, "-n", "0")
    assert done.returncode == 0, done.stdout


def suite_of(text: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest on a file with this text by the settings of this repository, with SIGINT ignored."""
    file = folder / "test_written.py"
    file.write_text(text)
    settings = [f"--config-file={REPOSITORY / 'pyproject.toml'}", f"--rootdir={REPOSITORY}", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-rf", *settings, *options, str(file)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(command, cwd=REPOSITORY, env=os.environ, capture_output=True, text=True, timeout=300)
    finally:
        signal.signal(signal.SIGINT, before)
