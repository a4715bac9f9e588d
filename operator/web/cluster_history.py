"""The history of a cluster: the samples and changes of the last day, in memory for the pages and in a file.

`muster web --history` keeps one. The file is read once at the start, and then written every few seconds by a thread, so
that pages never wait for it. If a write fails, the pages report it, and the next write repeats its content.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from .change_log import ChangeLog, RecentChange
from .history_file import MOST_CHANGES, HistoryError, StoredHistory
from .samples import DAY_SECONDS, DaySeries, QueueSample

SAMPLE_SECONDS = 10.0

log = logging.getLogger(__name__)


class HistoryStore(Protocol):
    """The storage of a history; see `HistoryFile`."""

    def write(self, samples: Sequence[QueueSample], changes: Sequence[RecentChange], now: float) -> None:
        """Add samples and changes, and remove entries older than a day. Called in a thread. Raises HistoryError."""
        ...


class ClusterHistory:
    """A history that continues the stored one.

    Attributes:
        changes: the log of changes, to which the pages' ticker adds.
        series: the samples.
        write_error: why the last write failed, as a sentence; "" if it succeeded.
    """

    def __init__(self, store: HistoryStore, stored: StoredHistory) -> None:
        self.changes = ChangeLog(stored.changes, seconds=DAY_SECONDS, most=MOST_CHANGES)
        self.series = DaySeries(stored.samples)
        self.write_error = ""
        self._store = store
        self._written = 0
        self._unwritten: list[QueueSample] = []

    async def keep(self, sample: QueueSample) -> None:
        """Add a sample, and write it with the changes since the last successful write."""
        self.series.add(sample)
        self._unwritten = [each for each in self._unwritten if each.wall >= sample.wall - DAY_SECONDS]
        self._unwritten.append(sample)
        samples, count = [*self._unwritten], self.changes.count
        changes = self.changes.newest(count - self._written)
        try:
            await asyncio.to_thread(self._store.write, samples, changes, sample.wall)
        except HistoryError as error:
            if not self.write_error:
                log.warning("The history cannot be written: %s", error)
            self.write_error = f"The history cannot be written: {error}"
            return
        self.write_error = ""
        self._unwritten.clear()
        self._written = count

    async def run(self, take: Callable[[], Awaitable[QueueSample]], *, every: float = SAMPLE_SECONDS) -> None:
        """Take a sample every `every` seconds until cancelled."""
        while True:
            await asyncio.sleep(every)
            try:
                await self.keep(await take())
            except Exception:  # the next sample is taken after an error too
                log.exception("Unable to take a sample of the cluster")
