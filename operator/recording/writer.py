"""The files of a recording, and the thread that writes them.

A recording is one file, and a second one with the part before it: when the file has half of the permitted size, it
becomes the earlier one, and a new file begins with everything known by then. A full or slow disk must never delay a
decision: events wait in memory, up to a limit. If the limit is reached, or nothing can be written, the recording ends
with an error in the log and the scheduler continues.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from muster.operator.failures import in_words

from .events import Began, Decided, Ended, GroupDecided, ObjectAdded, ObjectChanged, ObjectGone, ObjectKnown, OfObject
from .secrets import reduced

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from .events import AnyEvent

log = logging.getLogger(__name__)

_MOST_WAITING = 200_000
_PAUSE_SECONDS = 0.2
_encode = msgspec.json.Encoder().encode


def line(event: AnyEvent, keep: Collection[str] = ()) -> bytes:
    """The event as a line of the file, without secrets; `keep` are the requested annotations."""
    if isinstance(event, OfObject):
        event = msgspec.structs.replace(event, object=reduced(event.object, keep))
    return _encode(event) + b"\n"


def make_file(path: Path) -> BinaryIO:
    """Create an empty file that only its owner may read. Raises OSError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def earlier(path: Path) -> Path:
    """The path of the previous part of a recording."""
    return path.with_name(path.name + ".1")


class RecordingFiles:
    """The file `path` and the previous one, of `most_bytes` at most. Raises OSError if the file cannot be created."""

    def __init__(self, path: Path, most_bytes: int, keep: Collection[str] = ()) -> None:
        self._path = path
        self._most = most_bytes // 2
        self._keep = frozenset(keep)
        self._known: dict[str, dict[str, Any]] = {}
        self._head: Began | None = None
        self._file = make_file(path)
        self._size = 0

    def write(self, event: AnyEvent) -> None:
        """Write an event. Raises OSError, also if the known objects exceed the size of a file."""
        if isinstance(event, Began):
            self._head = event
        elif self._size >= self._most and not isinstance(event, (Decided, GroupDecided, Ended)):
            self._turn_over(event.at)
        self._put(event)
        if isinstance(event, (ObjectAdded, ObjectChanged)):
            self._known.setdefault(event.kind, {})[_key_of(event.object)] = event.object
        elif isinstance(event, ObjectGone):
            self._known.get(event.kind, {}).pop(_key_of(event.object), None)

    def flush(self) -> None:
        """Flush the written events to the system."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _turn_over(self, at: float) -> None:
        """Begin the next file with the known objects."""
        if self._head is None:
            return
        self._put(Ended(at))
        self._file.close()
        os.replace(self._path, earlier(self._path))
        self._file, self._size = make_file(self._path), 0
        before = self._head
        self._head = msgspec.structs.replace(
            before, at=at, wall=before.wall + at - before.at, part=before.part + 1, whole=False
        )
        self._put(self._head)
        for kind, objects in self._known.items():
            for obj in objects.values():
                self._put(ObjectKnown(at, kind, obj))
        if self._size >= self._most:
            raise OSError(
                f"what is known of the cluster alone has {self._size} bytes, half of what it may hold or more"
            )

    def _put(self, event: AnyEvent) -> None:
        text = line(event, self._keep)
        self._size += len(text)
        self._file.write(text)


class RecordingWriter:
    """A thread that writes to `files`, which belong to it from then on, until it is closed."""

    def __init__(self, files: RecordingFiles) -> None:
        self._files = files
        self._waiting: deque[AnyEvent] = deque()
        self._over = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def __call__(self, event: AnyEvent) -> None:
        """Queue an event for writing."""
        if self._failed:
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._give_up("the disk is too slow")
            return
        # The deque is all that both threads share. Appending and popping are atomic, so the event loop takes no lock.
        self._waiting.append(event)

    def close(self) -> None:
        """Wait until all events are written."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        over = False
        try:
            while not over and not self._failed:
                # Read before the deque is emptied, so that everything added before `close` is written.
                over = self._over.wait(_PAUSE_SECONDS)
                while (event := self._next()) is not None:
                    self._files.write(event)
                self._files.flush()
        except OSError as error:
            self._give_up(in_words(error))
        finally:
            with suppress(OSError):
                self._files.close()

    def _next(self) -> AnyEvent | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def _give_up(self, why: str) -> None:
        if not self._failed:
            self._failed = True
            self._waiting.clear()
            log.error("the recording has ended: %s", why)


def _key_of(obj: Any) -> str:
    """The key of an object in an event, which has the object until it is written as JSON."""
    return str(obj.metadata.key)
