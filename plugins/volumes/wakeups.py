"""Wakeups: callers that wait for an object to change, or at the latest for a time to pass."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from muster.framework.contract import Handle


class Wakeups:
    """Waiting tasks by the objects, kind and key, whose changes they wait for."""

    def __init__(self, handle: Handle) -> None:
        self._clock = handle.clock
        self._waiting: dict[tuple[str, str], dict[asyncio.Event, None]] = {}

    def wake(self, resource: str, key: str) -> None:
        """Wake the callers that wait for the object."""
        for event in self._waiting.get((resource, key), ()):
            event.set()

    async def wait(self, objects: Iterable[tuple[str, str]], seconds: float) -> None:
        """Return once one of the objects has changed, or after this time."""
        event, keys = asyncio.Event(), list(objects)
        for key in keys:
            self._waiting.setdefault(key, {})[event] = None
        timer = self._clock.call_later(seconds, event.set)
        try:
            await event.wait()
        finally:
            timer.cancel()
            for key in keys:
                self._waiting[key].pop(event, None)
                if not self._waiting[key]:
                    del self._waiting[key]
