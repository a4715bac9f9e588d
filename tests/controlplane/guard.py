"""Ends the servers of a control plane when the process that started them is gone, however it went.

A `Guard` starts this file as a process of its own and tells it through a pipe which servers run. The pipe closes with
the death of its owner, even by SIGKILL; the process then kills the servers still running and ends itself.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress


class Guard:
    """The owner's end: knows which process groups must not outlive this process. Close it when none runs any more."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", __file__], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def watch(self, group: int) -> None:
        """Has the process group killed when this process ends."""
        self._tell(f"+{group}")

    def release(self, group: int) -> None:
        """Forgets a process group that has ended, before its number is used again."""
        self._tell(f"-{group}")

    def close(self) -> None:
        """Ends the guard, and with it every process group that was not released."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        if self._process.stdin is not None:
            print(line, file=self._process.stdin, flush=True)


def main(lines: Iterable[str]) -> None:
    """Follows `+GROUP` and `-GROUP` until the lines end, then kills the groups that are left."""
    groups: set[int] = set()
    for line in lines:
        group = int(line[1:])
        if line.startswith("+"):
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.stdin)
