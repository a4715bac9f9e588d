"""The controller's work queue: the groups to reconcile and their times, each group once however often it changes.

Pure: the caller passes the time.
"""

from __future__ import annotations

import heapq
from itertools import count


class WorkQueue:
    """Keys with the time at which each is due. Times are seconds on the caller's clock.

    Patient keys come after all other due keys, so thousands of them delay no other key.
    """

    def __init__(self) -> None:
        self._urgent = _DelayedKeys()
        self._patient = _DelayedKeys()

    def __len__(self) -> int:
        return len(self._urgent.due) + len(self._patient.due)

    def add(self, key: str, *, at: float, patient: bool = False) -> None:
        """Make `key` due at this time, unless it is due earlier. An urgent key does not become patient."""
        if patient and key not in self._urgent.due:
            self._patient.add(key, at)
        else:
            self._urgent.add(key, min(at, self._patient.due.pop(key, at)))

    def discard(self, key: str) -> None:
        """Remove `key`, if it is queued."""
        self._urgent.discard(key)
        self._patient.discard(key)

    def pop(self, now: float) -> str | None:
        """Remove and return the key that has been due longest; None if no key is due at `now`."""
        key = self._urgent.pop(now)
        return key if key is not None else self._patient.pop(now)

    def next_time(self) -> float | None:
        """The time at which the next key is due; None if the queue is empty."""
        times = [time for part in (self._urgent, self._patient) if (time := part.next_time()) is not None]
        return min(times, default=None)


class _DelayedKeys:
    """Keys in the order of their times; keys of the same time, in the order in which they were added."""

    __slots__ = ("_heap", "_order", "due")

    def __init__(self) -> None:
        self.due: dict[str, float] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = count()

    def add(self, key: str, at: float) -> None:
        known = self.due.get(key)
        if known is None or at < known:
            self.due[key] = at
            heapq.heappush(self._heap, (at, next(self._order), key))

    def discard(self, key: str) -> None:
        self.due.pop(key, None)

    def pop(self, now: float) -> str | None:
        time = self.next_time()
        if time is None or time > now:
            return None
        _, _, key = heapq.heappop(self._heap)
        del self.due[key]
        return key

    def next_time(self) -> float | None:
        heap = self._heap
        while heap and self.due.get(heap[0][2]) != heap[0][0]:
            heapq.heappop(heap)  # the key was discarded, or another entry of it is due earlier
        return heap[0][0] if heap else None
