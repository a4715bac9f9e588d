"""The file of a recording, written by a thread of its own.

A disk that is full or slow must never hold up a decision: events wait in memory, so many of them, and when that is not
enough, or the file cannot be written, the recording ends with an error in the log and the scheduler goes on.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from .events import Added, Changed, Event, Gone
from .secrets import reduced

if TYPE_CHECKING:
    from collections.abc import Collection

log = logging.getLogger(__name__)

_MOST_WAITING = 200_000
_PAUSE_SECONDS = 0.2
_encode = msgspec.json.Encoder(order=None).encode


def line(event: Event, keep: Collection[str] = ()) -> bytes:
    """The event as a line of the file, without secrets; `keep` are annotations that were asked for."""
    if isinstance(event, (Added, Changed, Gone)):
        event = msgspec.structs.replace(event, object=reduced(event.object, keep))
    return _encode(event) + b"\n"


class RecordingWriter:
    """Writes to `file`, which is its own from here on. To be closed."""

    def __init__(self, file: BinaryIO, most_bytes: int, keep: Collection[str] = ()) -> None:
        self._file = file
        self._left = most_bytes
        self._keep = frozenset(keep)
        self._waiting: deque[Event] = deque()
        self._over = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Have this written."""
        if self._failed:
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._give_up("the disk is too slow")
            return
        self._waiting.append(event)

    def close(self) -> None:
        """Return when all is written."""
        self._over.set()
        self._thread.join()
        self._file.close()

    def _run(self) -> None:
        while not self._failed:
            over = self._over.wait(_PAUSE_SECONDS)
            try:
                self._write_all()
            except OSError as error:
                self._give_up(str(error))
            if over:
                return

    def _write_all(self) -> None:
        while self._waiting:
            text = line(self._waiting.popleft(), self._keep)
            self._left -= len(text)
            if self._left < 0:
                self._give_up("it is as large as it may get")
                break
            self._file.write(text)
        self._file.flush()

    def _give_up(self, why: str) -> None:
        self._failed = True
        self._waiting.clear()
        log.error("the recording has ended: %s", why)
