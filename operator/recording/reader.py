"""The reader of a recording: its events in order, and errors with the number of the broken line.

A process that was killed leaves an incomplete last line, which is a valid end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from muster.framework.model.faults import fault

from .events import FORMAT, AnyEvent, Began, Ended, ObjectKnown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class RecordingError(Exception):
    """The file is not a recording, or is broken; the text names the line."""


class Recording:
    """A recording in one file, or in several files in order. Raises RecordingError, and OSError for an unreadable file.

    Attributes:
        head: the first line of the first file.
        ended: whether it ends with `Ended`, not with the last line of a process that was killed.
    """

    def __init__(self, *paths: Path) -> None:
        self.ended = False
        self._paths = paths
        heads = [_head(path) for path in paths]
        self.head = heads[0]
        for path, head, before in zip(paths[1:], heads[1:], heads, strict=False):
            if (head.seed, head.part) != (before.seed, before.part + 1):
                raise RecordingError(f"{path}: does not follow the file before it")

    def events(self) -> Iterator[AnyEvent]:
        """The events after the head. Raises RecordingError for a broken line."""
        for path in self._paths:
            for event in self._of(path):
                if path is self._paths[0] or not isinstance(event, ObjectKnown):
                    yield event

    def lines(self) -> Iterator[bytes]:
        """The lines of all files; the heads of further files are omitted."""
        yield msgspec.json.encode(self.head)
        for event in self.events():
            yield msgspec.json.encode(event)
        if self.ended:
            yield msgspec.json.encode(Ended(0.0))

    def _of(self, path: Path) -> Iterator[AnyEvent]:
        decode = msgspec.json.Decoder(AnyEvent).decode
        with path.open("rb") as file:
            file.readline()
            for number, text in enumerate(file, start=2):
                try:
                    event = decode(text)
                except msgspec.DecodeError as error:
                    if not text.endswith(b"\n"):
                        return
                    raise RecordingError(f"{path}: line {number}: {fault(error)}") from error
                if isinstance(event, Ended):
                    self.ended = path is self._paths[-1]
                    return
                yield event


def _head(path: Path) -> Began:
    with path.open("rb") as file:
        text = file.readline()
    try:
        head = msgspec.json.decode(text, type=AnyEvent)
    except msgspec.DecodeError as error:
        raise RecordingError(f"{path}: line 1: not a recording of Muster: {fault(error)}") from error
    if not isinstance(head, Began):
        raise RecordingError(f"{path}: line 1: not the head of a recording of Muster")
    if head.format > FORMAT:
        raise RecordingError(
            f"{path}: line 1: written by Muster {head.muster} in format {head.format}, newer than this one's"
        )
    return head
