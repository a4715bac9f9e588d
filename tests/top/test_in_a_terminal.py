"""`muster top` as people run it: in a terminal, on a sandbox."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.plugins.coscheduling.definition import definition
from muster.sandbox import NodeShape, Sandbox
from tests.commands.asking import MUSTER, bounded, kubectl
from tests.sandboxes import served
from tests.web.served import member

from .worlds import group, said

_PATIENCE_SECONDS = 60.0
_LOCAL_MODES = 3
_LEFT = "\x1b[?1049l"
_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")


class Terminal:
    """A pseudo terminal of 80 columns and 24 lines, with a program on its other end."""

    def __init__(self) -> None:
        self._master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.modes = termios.tcgetattr(self.slave)
        self.raw = ""

    def close(self) -> None:
        os.close(self._master)
        os.close(self.slave)

    def press(self, keys: str) -> None:
        """Press these keys. What was shown before does not count from here on."""
        self.raw = ""
        os.write(self._master, keys.encode())

    def ends(self) -> None:
        """Return when the program has left the alternate screen; fails if it does not."""
        self._read_until(lambda: _LEFT in self.raw, "the end")

    def shows(self, text: str) -> str:
        """The contents of the screen since the last key, once they include this text; fails if they never do."""
        self._read_until(lambda: text in self._plain, text)
        return self._plain

    @property
    def _plain(self) -> str:
        return _CONTROL.sub("", self.raw)

    def _read_until(self, come: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not come():
            ready, _, _ = select.select([self._master], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{what!r} was never shown, but {self._plain[-4000:]!r}"
            self.raw += os.read(self._master, 1 << 16).decode(errors="replace")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A group that waits for capacity that no node has."""
    sandbox = Sandbox([definition()], stand_ins=False)
    sandbox.nodes(1, shape=NodeShape(cpu="2"))
    members = [said(member("train", number, cpu="8"), "Unschedulable", "too large") for number in range(2)]
    sandbox.load([group("train", 2), *({"apiVersion": "v1", "kind": "Pod", **pod} for pod in members)])
    with served(sandbox, [], tmp_path) as found:
        yield found


@contextmanager
def running(kubeconfig: Path) -> Iterator[tuple[Terminal, subprocess.Popen[str]]]:
    """The program in a terminal, which has to end by itself."""
    terminal = Terminal()
    words = [str(MUSTER), "top", "--kubeconfig", str(kubeconfig)]
    # Workers of pytest-xdist have a COLUMNS of their own, which would count instead of the terminal's size.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment["TERM"] = "xterm-256color"
    try:
        with bounded(
            subprocess.Popen(
                words,
                stdin=terminal.slave,
                stdout=terminal.slave,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                start_new_session=True,
            )
        ) as process:
            yield terminal, process
    finally:
        terminal.close()


def test_a_waiting_group_is_seen_its_why_is_opened_and_follows_it_and_q_quits(kubeconfig: Path) -> None:
    with running(kubeconfig) as (terminal, process):
        table = terminal.shows("default/train")
        assert "unschedulable 2" in table
        assert "1 group waits" in table
        assert not termios.tcgetattr(terminal.slave)[_LOCAL_MODES] & termios.ICANON
        terminal.press("\r")
        terminal.shows("default/train needs 2 pods, 2 exist, 0 have nodes")
        terminal.shows("needs fit: 0/1 nodes are available: 1 Insufficient cpu.")
        kubectl(kubeconfig, "delete", "pod", "train-1", "--wait=false")
        terminal.shows("default/train needs 2 pods, 1 exists, 0 have nodes")
        terminal.press("\x1b")
        terminal.shows("sorted by queue")
        terminal.shows("unschedulable 1")
        terminal.press("/none")
        terminal.shows("No row matches the filter.")
        terminal.press("\rq")
        terminal.ends()
        _, complaints = process.communicate(timeout=_PATIENCE_SECONDS)
        assert (process.returncode, complaints) == (0, "")
        assert termios.tcgetattr(terminal.slave) == terminal.modes


def test_a_signal_ends_it_and_the_terminal_is_as_it_was(kubeconfig: Path) -> None:
    with running(kubeconfig) as (terminal, process):
        terminal.shows("default/train")
        process.send_signal(signal.SIGTERM)
        terminal.ends()
        _, complaints = process.communicate(timeout=_PATIENCE_SECONDS)
        assert (process.returncode, complaints) == (0, "")
        assert termios.tcgetattr(terminal.slave) == terminal.modes


def test_without_a_terminal_it_says_what_to_use_instead(kubeconfig: Path) -> None:
    words = [str(MUSTER), "top", "--kubeconfig", str(kubeconfig)]
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        2,
        "",
        "Error: muster top draws on a terminal, and standard input is none; muster groups prints lines\n",
    )
