"""Commands, Muster's and kubectl's, as people call them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from click.testing import CliRunner, Result

from muster.operator.cli import main

MUSTER = Path(sys.executable).with_name("muster")
BY_DEFAULT = (
    "Warning: decided by Muster's default profile, which may not be the scheduler's: "
    "give --config FILE, or --muster-url to ask the leader; if it is, MUSTER_CONFIG=default silences this\n"
)
"""The warning if no configuration is given."""
_END_SECONDS = 60.0
"""How long a process may take to end. None takes so long: the limit keeps a broken one from hanging the suite."""


def kubectl(kubeconfig: Path, *words: str) -> None:
    """Run kubectl on it."""
    subprocess.run(["kubectl", "--kubeconfig", str(kubeconfig), *words], check=True, stdout=subprocess.DEVNULL)


def ask(*words: str) -> Result:
    """Run a command of Muster's."""
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@contextmanager
def bounded(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that has to end by itself within a minute of the block, and is killed if the block fails."""
    with process:
        try:
            yield process
            process.wait(_END_SECONDS)
        finally:
            process.kill()


@contextmanager
def watching(*words: str, ignoring_interrupts: bool = False) -> Iterator[IO[str]]:
    """The output of a command of Muster's that runs until Ctrl-C, which it gets at the end and obeys with exit code 0.

    `ignoring_interrupts` starts it as a shell starts background jobs: with SIGINT ignored.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignoring_interrupts else signal.default_int_handler)
    try:
        process = subprocess.Popen([str(MUSTER), *words], stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with bounded(process):
        assert process.stdout is not None
        yield process.stdout
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
