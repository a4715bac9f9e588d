"""Answers of an HTTP/1.1 server, read from the bytes of a connection. Pure: `http_pool` feeds it and acts on it.

It knows as much of RFC 9112 as a client needs that asks for one thing at a time and accepts no encodings: interim
answers, and bodies by length, by chunks and until the end of the connection. What fits none of them is no answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD_END, _LINE_END = b"\r\n\r\n", b"\r\n"
_LONGEST_HEAD = 1 << 16
_LONGEST_LINE = 1 << 10
_WITHOUT_BODY = frozenset({204, 304})
_FIRST_FINAL = 200
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: |\r|$)")
_FIELD = re.compile(rb"\r\n(content-length|transfer-encoding|connection|retry-after):[ \t]*([^\r\n]*)", re.IGNORECASE)


class NoAnswerError(Exception):
    """The bytes are no answer, or end in the middle of one."""


class Answer(NamedTuple):
    """A whole answer. `reusable` says whether the server leaves the connection open for another request."""

    status: int
    body: bytes
    retry_after: str | None
    reusable: bool


class _Head(NamedTuple):
    """What of a head matters. `length` is of the body: None when it is not told; `chunked` goes before it."""

    status: int
    chunked: bool
    length: int | None
    retry_after: str | None
    kept_open: bool


class AnswerReader:
    """Reads one answer."""

    __slots__ = ("_chunks", "_head", "_received")

    def __init__(self) -> None:
        self._received = bytearray()
        self._head: _Head | None = None
        self._chunks: list[bytes] = []

    def feed(self, data: bytes | bytearray) -> Answer | None:
        """More bytes have come: the answer, once it is whole. Raises NoAnswerError."""
        received = self._received
        received += data
        while (head := self._head) is None:
            at = received.find(_HEAD_END)
            if at < 0:
                _bound(received, _LONGEST_HEAD)
                return None
            head = _head_of(bytes(received[:at]))
            del received[: at + len(_HEAD_END)]
            if head.status >= _FIRST_FINAL:
                self._head = head
        body = self._body(head)
        if body is None:
            return None
        if received:
            raise NoAnswerError("more came than was asked for")
        return Answer(head.status, body, head.retry_after, head.kept_open)

    def end(self) -> Answer:
        """The connection has ended: the answer, if that is how it ends. Raises NoAnswerError."""
        head = self._head
        if head is None or head.chunked or head.length is not None:
            raise NoAnswerError("the connection ended in the middle of an answer")
        return Answer(head.status, bytes(self._received), head.retry_after, reusable=False)

    def _body(self, head: _Head) -> bytes | None:
        """The body, once it is whole, taken from what was received."""
        if head.chunked:
            return self._dechunked()
        if head.length is None or len(self._received) < head.length:
            return None
        return self._take(head.length)

    def _dechunked(self) -> bytes | None:
        received = self._received
        while True:
            at = received.find(_LINE_END)
            if at < 0:
                _bound(received, _LONGEST_LINE)
                return None
            size = _number(bytes(received[:at]).partition(b";")[0].strip(), base=16)
            if not size:
                return self._after_last_chunk(at)
            chunk_end = at + len(_LINE_END) + size
            if len(received) < chunk_end + len(_LINE_END):
                return None
            if received[chunk_end : chunk_end + len(_LINE_END)] != _LINE_END:
                raise NoAnswerError("a chunk is longer than it said")
            self._chunks.append(bytes(received[at + len(_LINE_END) : chunk_end]))
            del received[: chunk_end + len(_LINE_END)]

    def _after_last_chunk(self, at: int) -> bytes | None:
        """The body, once the trailer, which begins with the line end at `at`, is whole; no field of it is wanted."""
        end = self._received.find(_HEAD_END, at)
        if end < 0:
            _bound(self._received, _LONGEST_HEAD)
            return None
        del self._received[: end + len(_HEAD_END)]
        return b"".join(self._chunks)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken


def _head_of(head: bytes) -> _Head:
    start = _STATUS_LINE.match(head)
    if start is None:
        raise NoAnswerError("the answer is not HTTP/1.1")
    status = int(start[2])
    fields: dict[bytes, bytes] = {}
    for name, value in _FIELD.findall(head):
        if fields.setdefault(name.lower(), value) != value:
            raise NoAnswerError(f"the answer has two different fields {name.decode()}")
    coding = fields.get(b"transfer-encoding")
    if coding is not None and coding.strip().lower() != b"chunked":
        raise NoAnswerError("the body has an encoding that was not asked for")
    length, retry_after = fields.get(b"content-length"), fields.get(b"retry-after")
    told = 0 if status in _WITHOUT_BODY else None if length is None else _number(length.strip(), base=10)
    return _Head(
        status,
        chunked=coding is not None and status not in _WITHOUT_BODY,
        length=told,
        retry_after=None if retry_after is None else retry_after.strip().decode("latin-1"),
        kept_open=start[1] == b"1" and b"close" not in fields.get(b"connection", b"").lower(),
    )


def _number(digits: bytes, *, base: int) -> int:
    if not digits.isalnum():  # int() would take signs, spaces and underscores too
        raise NoAnswerError("a number is not one")
    try:
        return int(digits, base)
    except ValueError:
        raise NoAnswerError("a number is not one") from None


def _bound(received: bytearray, limit: int) -> None:
    if len(received) > limit:
        raise NoAnswerError("a head or a line is too long")
