"""The keys that a terminal sends, decoded from its bytes.

Pure: `terminal` passes the bytes that it reads. A special key is several bytes long and may arrive in parts; Escape
begins like such a key, so it counts only if no byte has followed for a moment.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from enum import StrEnum


class Key(StrEnum):
    """A special key. Every other key is a string of one character."""

    UP = "<up>"
    DOWN = "<down>"
    PAGE_UP = "<page up>"
    PAGE_DOWN = "<page down>"
    HOME = "<home>"
    END = "<end>"
    ENTER = "<enter>"
    ESCAPE = "<escape>"
    BACKSPACE = "<backspace>"
    INTERRUPT = "<interrupt>"


_ESCAPE = "\x1b"
_CONTROLS = {
    **{"\r": Key.ENTER, "\n": Key.ENTER, "\x7f": Key.BACKSPACE, "\x08": Key.BACKSPACE},
    **{"\x03": Key.INTERRUPT, "\x04": Key.INTERRUPT},
}
_FINALS = {"A": Key.UP, "B": Key.DOWN, "H": Key.HOME, "F": Key.END}
_NUMBERED = {
    **{"1": Key.HOME, "7": Key.HOME, "4": Key.END, "8": Key.END},
    **{"5": Key.PAGE_UP, "6": Key.PAGE_DOWN},
}
_SEQUENCE = re.compile(r"\x1b(?:O(?P<letter>[A-Z])|\[(?P<number>[0-9;]*)(?P<final>[@-~]))")
_BEGUN = re.compile(r"\x1b(?:O|\[[0-9;]*)?\Z")


class KeyDecoder:
    """Decodes bytes as they arrive."""

    def __init__(self) -> None:
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def unfinished(self) -> bool:
        """Whether the bytes so far may be the beginning of a special key."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        """The keys that these bytes complete."""
        self._rest += self._characters.decode(data)
        return [*self._complete()]

    def flush(self) -> list[str]:
        """The keys of the remaining bytes, if no further byte follows."""
        rest, self._rest = self._rest, ""
        return [Key.ESCAPE] if rest else []

    def _complete(self) -> Iterator[str]:
        while self._rest and not _BEGUN.match(self._rest):
            found = _SEQUENCE.match(self._rest)
            if found is not None:
                self._rest = self._rest[found.end() :]
                known = _NUMBERED.get(found["number"]) if found["final"] == "~" else None
                key = known or _FINALS.get(found["letter"] or found["final"])
                if key is not None:
                    yield key
                continue
            first, self._rest = self._rest[0], self._rest[1:]
            if first == _ESCAPE:
                yield Key.ESCAPE
            elif (key := _CONTROLS.get(first)) is not None:
                yield key
            elif first.isprintable():
                yield first
