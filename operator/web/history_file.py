"""The file of `muster web --history`: a small SQLite database with the samples and changes of the last day.

`cluster_history` writes it in a thread. A file belongs to one cluster, and one process uses it at a time. Every failure
is a `HistoryError` whose text names the file and the cause.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from muster.framework.contract import GroupId

from .change_log import ChangeKind, RecentChange
from .samples import DAY_SECONDS, QueueSample

MOST_CHANGES = 5000

_APPLICATION = 0x4D757374
"""The file's `application_id`: "Must"."""
_VERSION = 1
_PRIMARY = 0xFF
"""The mask that reduces an extended error code of SQLite to the primary one."""
_CAUSES = {
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_BUSY: "another process uses it",
    sqlite3.SQLITE_READONLY: "it cannot be written",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_FULL: "the disk is full",
}
_TABLES = (
    "CREATE TABLE source (cluster TEXT NOT NULL)",
    "CREATE TABLE samples (wall REAL PRIMARY KEY, waiting_groups INTEGER NOT NULL, waiting_pods INTEGER NOT NULL, "
    "longest REAL NOT NULL, median REAL NOT NULL, used TEXT NOT NULL)",
    "CREATE TABLE changes (number INTEGER PRIMARY KEY, wall REAL NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, "
    "what TEXT NOT NULL, plugin TEXT, group_key TEXT)",
)


class HistoryError(Exception):
    """The file cannot be used. The text names the file and the cause."""


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The content of a file: samples, the oldest first, and changes, the newest first."""

    samples: Sequence[QueueSample] = ()
    changes: Sequence[RecentChange] = ()


class HistoryFile:
    """An open file with the history of `cluster`."""

    def __init__(self, path: Path, cluster: str) -> None:
        """Open the file, or create it. Raises HistoryError."""
        self._path = path
        self._lock = Lock()
        with self._as_history_error():
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # it names pods, so only this user may read it
            self._database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(cluster)
        except HistoryError:
            self._database.close()
            raise

    def read(self, now: float) -> StoredHistory:
        """The samples and changes of the last day before `now`, in seconds since the epoch. Raises HistoryError."""
        within = (now - DAY_SECONDS, now)
        with self._as_history_error():
            samples = self._database.execute(
                "SELECT wall, waiting_groups, waiting_pods, longest, median, used FROM samples "
                "WHERE wall BETWEEN ? AND ? ORDER BY wall",
                within,
            ).fetchall()
            changes = self._database.execute(
                "SELECT wall, kind, subject, what, plugin, group_key FROM changes "
                "WHERE wall BETWEEN ? AND ? ORDER BY number DESC",
                within,
            ).fetchall()
        try:
            return StoredHistory([_sample(row) for row in samples], [_change(row) for row in changes])
        except (msgspec.MsgspecError, TypeError, ValueError) as error:
            raise HistoryError(f"{self._path}: {_CAUSES[sqlite3.SQLITE_CORRUPT]}") from error

    def write(self, samples: Sequence[QueueSample], changes: Sequence[RecentChange], now: float) -> None:
        """Add samples, and changes with the newest first; remove entries older than a day. Raises HistoryError."""
        rows = [(each.wall, each.groups, each.pods, each.longest, each.median, _encode(each.used)) for each in samples]
        with self._lock, self._as_history_error(), self._database:
            execute = self._database.execute
            execute("BEGIN IMMEDIATE")
            self._database.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._database.executemany(
                "INSERT INTO changes (wall, kind, subject, what, plugin, group_key) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (each.wall, each.kind.value, each.subject, each.text, *(each.group or (None, None)))
                    for each in reversed(changes)
                ],
            )
            execute("DELETE FROM samples WHERE wall < ?", (now - DAY_SECONDS,))
            execute("DELETE FROM changes WHERE wall < ?", (now - DAY_SECONDS,))
            execute("DELETE FROM changes WHERE number <= (SELECT max(number) FROM changes) - ?", (MOST_CHANGES,))

    def close(self) -> None:
        """Close the file, after a write in progress has ended."""
        with self._lock:
            self._database.close()

    def _prepare(self, cluster: str) -> None:
        """Lock the file for this process, and check that it is a history of this cluster; initialize an empty file."""
        execute = self._database.execute
        with self._as_history_error(), self._database:
            execute("PRAGMA locking_mode = EXCLUSIVE")
            execute("BEGIN IMMEDIATE")
            marks = self._number("PRAGMA application_id"), self._number("PRAGMA user_version")
            if not self._number("SELECT count(*) FROM sqlite_master") and marks == (0, 0):
                for statement in _TABLES:
                    execute(statement)
                execute("INSERT INTO source VALUES (?)", (cluster,))
                execute(f"PRAGMA application_id = {_APPLICATION}")
                execute(f"PRAGMA user_version = {_VERSION}")
            elif marks != (_APPLICATION, _VERSION):
                raise HistoryError(f"{self._path}: it is the database of another program, or of another version")
            if execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise HistoryError(f"{self._path}: {_CAUSES[sqlite3.SQLITE_CORRUPT]}")
            (known,) = execute("SELECT cluster FROM source").fetchone() or ("",)
            if known != cluster:
                raise HistoryError(f"{self._path}: it is the history of {known}")

    def _number(self, query: str) -> int:
        (value,) = self._database.execute(query).fetchone()
        return int(value)

    @contextmanager
    def _as_history_error(self) -> Iterator[None]:
        """Raise errors of SQLite and of the file as HistoryError."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            cause = str(error) if code is None else _CAUSES.get(code & _PRIMARY, str(error))
            raise HistoryError(f"{self._path}: {cause}") from error
        except OSError as error:
            raise HistoryError(f"{self._path}: {(error.strerror or str(error)).lower()}") from error


def _encode(used: object) -> str:
    return msgspec.json.encode(used).decode()


def _sample(row: Sequence[Any]) -> QueueSample:
    wall, groups, pods, longest, median, used = row
    shares = msgspec.json.decode(used, type=dict[str, float])
    return QueueSample(float(wall), int(groups), int(pods), float(longest), float(median), shares)


def _change(row: Sequence[Any]) -> RecentChange:
    wall, kind, subject, what, plugin, key = row
    group = None if plugin is None or key is None else GroupId(plugin, key)
    return RecentChange(float(wall), ChangeKind(kind), str(subject), str(what), group)
