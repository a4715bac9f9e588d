"""One server process of the control plane: starts it, waits until it serves, ends it.

Every server runs in a process group of its own, so a Ctrl-C in the terminal reaches the test runner alone and a stop
ends the server with all its children. A server is ended by SIGKILL: everything it holds is thrown away with it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.controlplane.guard import Guard

READY_WITHIN_SECONDS = 120
ASK_EVERY_SECONDS = 0.05
LOG_TAIL_LINES = 40


class StartError(RuntimeError):
    """A server ended early or did not serve in time; the text closes with the end of its log."""


class Server:
    """A program that runs from the moment this object is made until `stop`, with its output at the end of a log file.

    Attributes:
        command: its command line.
        environment: variables that it has besides those of this process.
    """

    def __init__(self, command: Sequence[str], *, log: Path, guard: Guard, environment: Mapping[str, str] = {}) -> None:
        self.name = Path(command[0]).name
        self.command = command
        self.environment = environment
        self._log = log
        self._guard = guard
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, **environment},
            )
        guard.watch(self.pid)

    @property
    def pid(self) -> int:
        """The process id, which is also the number of the process group."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How the process ended; None while it runs."""
        return self._process.poll()

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Returns when `is_ready` holds; raises `StartError` where the process ends or takes too long before that."""
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not is_ready():
            if not self.is_running:
                raise StartError(f"{self.name} ended with exit code {self._process.returncode}\n{self._log_tail()}")
            if time.monotonic() > deadline:
                raise StartError(f"{self.name} did not serve within {READY_WITHIN_SECONDS} s\n{self._log_tail()}")
            time.sleep(ASK_EVERY_SECONDS)

    def stop(self) -> None:
        """Ends the process group and waits for its leader; without effect on a server that has ended."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._guard.release(self.pid)

    def _log_tail(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join([f"the end of {self._log}:", *lines[-LOG_TAIL_LINES:]])
