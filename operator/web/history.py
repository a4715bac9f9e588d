"""The history of a cluster: the samples and changes of the last day, in memory for the pages and in a file.

`muster web --history` has one. The file is read once; after that it is only written, every few seconds and in a thread,
so the pages never wait for it. If a write fails, the pages say so, and the next write makes up for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from .changes import ChangeLog, RecentChange
from .history_file import MOST_CHANGES, HistoryError, StoredHistory
from .series import DAY_SECONDS, DaySeries, QueueSample

SAMPLE_SECONDS = 10.0

log = logging.getLogger(__name__)


class HistoryStore(Protocol):
    """The place where a history is kept; see `HistoryFile`."""

    def write(self, samples: Sequence[QueueSample], changes: Sequence[RecentChange], now: float) -> None:
        """Add these, and remove what is older than a day. Called in a thread. Raises HistoryError."""
        ...


class ClusterHistory:
    """A history that goes on from what is stored.

    Attributes:
        changes: the log of changes, to which the pages' ticker adds.
        series: the samples.
        trouble: why the last write failed, in a sentence; "" if it did not.
    """

    def __init__(self, store: HistoryStore, stored: StoredHistory) -> None:
        self.changes = ChangeLog(stored.changes, seconds=DAY_SECONDS, most=MOST_CHANGES)
        self.series = DaySeries(stored.samples)
        self.trouble = ""
        self._store = store
        self._written = 0
        self._unwritten: list[QueueSample] = []

    async def keep(self, sample: QueueSample) -> None:
        """Add a sample, and write it with the changes since the last write."""
        self.series.add(sample)
        self._unwritten = [each for each in self._unwritten if each.wall >= sample.wall - DAY_SECONDS]
        self._unwritten.append(sample)
        samples, count = [*self._unwritten], self.changes.count
        changes = self.changes.newest(count - self._written)
        try:
            await asyncio.to_thread(self._store.write, samples, changes, sample.wall)
        except HistoryError as error:
            if not self.trouble:
                log.warning("The history cannot be written: %s", error)
            self.trouble = f"The history cannot be written: {error}"
            return
        self.trouble = ""
        self._unwritten.clear()
        self._written = count

    async def run(self, take: Callable[[], Awaitable[QueueSample]], *, every: float = SAMPLE_SECONDS) -> None:
        """Take further samples until cancelled, one each so many seconds."""
        while True:
            await asyncio.sleep(every)
            try:
                await self.keep(await take())
            except Exception:  # a sample that fails must not be the last one
                log.exception("Unable to take a sample of the cluster")
