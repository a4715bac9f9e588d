"""Reading a recording: its events in order, and which line is broken.

A process that was killed leaves a last line that is cut off; that ends a recording like any other end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .events import FORMAT, AnyEvent, Began, Ended

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class RecordingError(Exception):
    """A file that is no recording, or is broken; the text says where."""


class Recording:
    """A file. Raises RecordingError, and OSError when it cannot be read.

    Attributes:
        path: where it is.
        head: its first line.
        ended: whether its end was met, not just the last line of a process that was killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ended = False
        with path.open("rb") as file:
            first = file.readline()
        self.head = self._head(first)

    def events(self) -> Iterator[AnyEvent]:
        """All that follows the head. Raises RecordingError for a broken line, when it comes to that."""
        decode = msgspec.json.Decoder(AnyEvent).decode
        with self.path.open("rb") as file:
            file.readline()
            for number, text in enumerate(file, start=2):
                try:
                    event = decode(text)
                except msgspec.DecodeError as error:
                    if not text.endswith(b"\n"):
                        return
                    raise RecordingError(f"{self.path}: line {number}: {error}") from error
                if isinstance(event, Ended):
                    self.ended = True
                    return
                yield event

    def _head(self, text: bytes) -> Began:
        try:
            head = msgspec.json.decode(text, type=AnyEvent)
        except msgspec.DecodeError as error:
            raise RecordingError(f"{self.path}: line 1: not a recording of Muster: {error}") from error
        if not isinstance(head, Began):
            raise RecordingError(f"{self.path}: line 1: not the head of a recording of Muster")
        if head.format > FORMAT:
            raise RecordingError(
                f"{self.path}: line 1: written by Muster {head.muster} in format {head.format}, newer than this one's"
            )
        return head
