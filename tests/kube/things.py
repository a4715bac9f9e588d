"""A small kind of object to list and watch, a handler that writes down what it hears, and the bytes of both."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from muster.framework.model.meta import ObjectMeta, Wire

PATH = "/apis/example.dev/v1/things"


class Thing(Wire, frozen=True):
    """What the informers of these tests follow."""

    metadata: ObjectMeta
    size: int = 0


def thing(name: str, version: int = 1, *, uid: str = "", size: int = 0) -> dict[str, Any]:
    """A thing as the server sends it."""
    metadata = {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "size": size}


def frame(type_: str, payload: dict[str, Any]) -> bytes:
    """One line of a watch."""
    return json.dumps({"type": type_, "object": payload}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return frame("BOOKMARK", {"kind": "Thing", "metadata": {"resourceVersion": str(version)}})


def error_frame(code: int, reason: str) -> bytes:
    return frame("ERROR", {"kind": "Status", "metadata": {}, "code": code, "reason": reason, "message": reason.lower()})


def page(things: Iterable[dict[str, Any]], version: int, next_page: str = "") -> dict[str, Any]:
    """A page of a list; the last one when `next_page` is empty."""
    metadata = {"resourceVersion": str(version), **({"continue": next_page} if next_page else {})}
    return {"kind": "ThingList", "metadata": metadata, "items": list(things)}


class Journal:
    """A handler that writes down what it hears, and keeps the view that follows from it alone."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.view: dict[str, Thing] = {}
        self._written = asyncio.Event()

    def on_add(self, obj: Thing, /) -> None:
        assert obj.metadata.name not in self.view
        self.view[obj.metadata.name] = obj
        self._write(f"+{_label(obj)}")

    def on_update(self, old: Thing, new: Thing, /) -> None:
        assert self.view[new.metadata.name] is old
        assert old.metadata.uid == new.metadata.uid
        self.view[new.metadata.name] = new
        self._write(f"~{_label(new)}")

    def on_delete(self, obj: Thing, /) -> None:
        assert self.view.pop(obj.metadata.name).metadata.uid == obj.metadata.uid
        self._write(f"-{_label(obj)}")

    async def reads(self, *entries: str) -> None:
        """Return when exactly these entries are written; fail when they are not within a few seconds."""
        try:
            async with asyncio.timeout(5):
                while len(self.entries) < len(entries):
                    self._written.clear()
                    await self._written.wait()
        except TimeoutError:
            pass
        assert self.entries == list(entries)

    def _write(self, entry: str) -> None:
        self.entries.append(entry)
        self._written.set()


def _label(obj: Thing) -> str:
    return f"{obj.metadata.name}@{obj.metadata.resource_version}"
