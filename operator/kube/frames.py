"""Decoding of lists and watch streams into typed objects. Pure: the informer passes bytes and acts on the result.

The common frame is decoded once, directly into the requested type (about 4 µs a pod). Only a frame that does not fit is
examined again: an object that does not match the type is reported as unreadable, with its identity, and is never
mistaken for a broken stream, which would make the informer list forever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from muster.framework.contract.handle import HasMetadata
from muster.framework.model.faults import fault
from muster.framework.model.meta import Identity

from .errors import ApiError, StatusBody, error_from_status

T = TypeVar("T", bound=HasMetadata)


class GarbageError(Exception):
    """The bytes are not from an API server: the stream or list cannot be trusted any further."""


class WatchChange(msgspec.Struct, Generic[T], gc=False):
    """ADDED, MODIFIED or DELETED, with the object's current (or last) version, decoded directly from the stream."""

    type: str
    object: T


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A bookmark: no change up to this resource version."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class StreamError:
    """The server ends the stream."""

    error: ApiError


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A change of an object that does not fit the requested type, and the reason."""

    type: str
    identity: Identity
    problem: str


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """One page of a list."""

    items: list[T]
    unreadable: list[Unreadable]
    resource_version: str
    next_page: str


class _RawFrame(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Bare(msgspec.Struct):
    metadata: Identity = msgspec.field(default_factory=Identity)


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, Generic[T]):
    metadata: _ListMeta
    items: list[T] | None = None


_decode_raw_frame = msgspec.json.Decoder(_RawFrame).decode
_decode_raw_list = msgspec.json.Decoder(_List[msgspec.Raw]).decode  # type: ignore[type-var]  # Raw stands for any item
_decode_bare = msgspec.json.Decoder(_Bare).decode
_decode_status = msgspec.json.Decoder(StatusBody).decode
_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})


class Lines:
    """Splits a stream into lines, for any chunks. An incomplete last line is kept for the next chunk."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without blank ones."""
        head, *rest = chunk.split(b"\n")
        self._unfinished.append(head)
        if not rest:
            return []
        lines = [b"".join(self._unfinished), *rest]
        self._unfinished = [lines.pop()]
        return [line for line in lines if line.strip()]


class Decoder(Generic[T]):
    """Decodes lists and frames of objects of one type."""

    def __init__(self, kind: type[T]) -> None:
        frame: Any = WatchChange
        page: Any = _List
        self._frame = msgspec.json.Decoder(frame[kind]).decode
        self._page = msgspec.json.Decoder(page[kind]).decode
        self._object = msgspec.json.Decoder(kind).decode

    def frame(self, line: bytes) -> WatchChange[T] | Bookmark | StreamError | Unreadable:
        """The change in one line of a watch. Raises GarbageError for a line without a change."""
        try:
            change: WatchChange[T] = self._frame(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _second_look(line, error)
        if change.type in _CHANGES:
            return change
        return _second_look(line, None)

    def page(self, body: bytes) -> ListPage[T]:
        """One page of a list. Raises GarbageError for anything else."""
        unreadable: list[Unreadable] = []
        try:
            decoded = self._page(body)
            items = decoded.items or []
        except (msgspec.DecodeError, UnicodeDecodeError):
            try:
                decoded = _decode_raw_list(body)
                items = [item for raw in decoded.items or () if (item := self._item(raw, unreadable)) is not None]
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise GarbageError(f"not a list: {fault(error)}") from error
        return ListPage(items, unreadable, decoded.metadata.resource_version, decoded.metadata.next_page)

    def _item(self, raw: msgspec.Raw, unreadable: list[Unreadable]) -> T | None:
        try:
            return self._object(raw)
        except msgspec.ValidationError as error:
            unreadable.append(Unreadable("ADDED", _decode_bare(raw).metadata, fault(error)))
            return None


def _second_look(
    line: bytes, problem: msgspec.DecodeError | UnicodeDecodeError | None
) -> Bookmark | StreamError | Unreadable:
    try:
        raw = _decode_raw_frame(line)
        if raw.type == "ERROR":
            return StreamError(error_from_status(_decode_status(raw.object)))
        identity = _decode_bare(raw.object).metadata
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GarbageError(f"not a watch event: {fault(error)}") from error
    if raw.type == "BOOKMARK":
        return Bookmark(identity.resource_version)
    if raw.type not in _CHANGES or problem is None:
        raise GarbageError(f"watch event of unknown type {raw.type!r}")
    return Unreadable(raw.type, identity, fault(problem, under="object"))
