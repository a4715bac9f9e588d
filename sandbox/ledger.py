"""The memory of the sandbox: every object in its newest version, one revision counter, and a log of changes per kind.

It plays the parts of etcd and the watch cache: it does not interpret objects. The store writes to it and lists from it,
and watchers follow its logs. It does no I/O and is used from one thread only; a listener is called synchronously after
each change and must only take note.

Guarantees: revisions grow with every write and are unique over all kinds. Entries never change. The log of a kind is
gapless from its horizon on; a reader that asks for an earlier revision gets an error, never a log with a gap.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from muster.sandbox.objects import Object, name_of, namespace_of, with_metadata
from muster.sandbox.registry import Kind

FIRST_REVISION = 100
"""The first revision. As in a cluster that has run for a while, revision 1 has been compacted."""

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class HorizonError(LookupError):
    """The log no longer reaches back to the revision asked for; `horizon` is the oldest it can continue from."""

    def __init__(self, revision: int, horizon: int) -> None:
        super().__init__(f"too old resource version: {revision} ({horizon})")
        self.revision = revision
        self.horizon = horizon


@dataclass(slots=True, eq=False)
class Entry:
    """One version of one object. `obj` must not be changed; its encoding is made once, when first asked for."""

    kind: Kind
    key: str
    revision: int
    obj: Object
    _whole: bytes = b""
    _views: dict[Kind, "Entry"] | None = None

    @property
    def whole(self) -> bytes:
        """The object as JSON."""
        if not self._whole:
            self._whole = msgspec.json.encode(self.obj)
        return self._whole

    @property
    def item(self) -> bytes:
        """The object as an item of a list, where built-in kinds leave `apiVersion` and `kind` out."""
        if self.kind.custom:
            return self.whole
        return b"{" + self.whole[len(_type_prefix(self.kind)) :]

    def seen_as(self, kind: Kind, convert: Callable[[Object], Object]) -> "Entry":
        """The entry under another kind; converted once per kind."""
        if self._views is None:
            self._views = {}
        if kind not in self._views:
            self._views[kind] = Entry(kind, self.key, self.revision, convert(self.obj))
        return self._views[kind]


def _type_prefix(kind: Kind) -> bytes:
    return f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}",'.encode()


@dataclass(frozen=True, slots=True)
class Change:
    """One write: `entry` is the object after it (for a delete, its last state under the revision of the delete)."""

    type: str
    entry: Entry
    previous: Entry | None


@dataclass(slots=True)
class _Table:
    """All objects and changes of one kind. `keys` is sorted, so that lists come in key order and pages can continue."""

    horizon: int
    capacity: int
    entries: dict[str, Entry] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    log: deque[Change] = field(default_factory=deque)
    dropped: int = 0
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def append(self, change: Change) -> None:
        if len(self.log) == self.capacity:
            self.drop_oldest()
        self.log.append(change)

    def drop_oldest(self) -> None:
        self.horizon = self.log.popleft().entry.revision
        self.dropped += 1


def key_of(namespace: str, name: str) -> str:
    """The key of an object inside its kind; keys sort as etcd's do."""
    return f"{namespace}/{name}" if namespace else name


class Ledger:
    """Objects, revisions and logs. `history` is how many changes of each kind are remembered."""

    def __init__(self, *, history: int = 10_000) -> None:
        self.revision = FIRST_REVISION
        self._history = history
        self._horizon = FIRST_REVISION
        self._tables: dict[Kind, _Table] = {}
        self._listeners: list[Callable[[], None]] = []

    def get(self, kind: Kind, key: str) -> Entry | None:
        """The newest version of an object, or None."""
        return self._table(kind).entries.get(key)

    def entries(self, kind: Kind, namespace: str = "") -> list[Entry]:
        """All objects of a kind (in one namespace, where one is given) in key order."""
        table = self._table(kind)
        keys: list[str] | Iterator[str] = table.keys
        if namespace:
            first, last = bisect_left(table.keys, f"{namespace}/"), bisect_left(table.keys, f"{namespace}0")
            keys = islice(table.keys, first, last)
        return [table.entries[key] for key in keys]

    def put(self, kind: Kind, obj: Object) -> Entry:
        """Writes an object, new or known, under the next revision."""
        table = self._table(kind)
        key = key_of(namespace_of(obj), name_of(obj))
        previous = table.entries.get(key)
        entry = self._next_entry(kind, key, obj)
        if previous is None:
            insort(table.keys, key)
        table.entries[key] = entry
        self._note(table, Change(MODIFIED if previous else ADDED, entry, previous))
        return entry

    def remove(self, kind: Kind, key: str) -> Entry:
        """Removes an object; returns its last state under the revision of the removal. KeyError if there is none."""
        table = self._table(kind)
        previous = table.entries.pop(key)
        del table.keys[bisect_left(table.keys, key)]
        entry = self._next_entry(kind, key, previous.obj)
        self._note(table, Change(DELETED, entry, previous))
        return entry

    def cursor(self, kind: Kind, revision: int) -> int:
        """The position in the log of a kind from which all changes after a revision are read; or `HorizonError`."""
        table = self._table(kind)
        if revision < table.horizon:
            raise HorizonError(revision, table.horizon)
        newer = 0
        for change in reversed(table.log):
            if change.entry.revision <= revision:
                break
            newer += 1
        return table.dropped + len(table.log) - newer

    def read(self, kind: Kind, cursor: int) -> tuple[list[Change], int]:
        """The changes from a cursor on, and the cursor after them; `HorizonError` if the reader was overtaken."""
        table = self._table(kind)
        if cursor < table.dropped:
            raise HorizonError(cursor, table.horizon)
        end = table.dropped + len(table.log)
        changes = list(islice(reversed(table.log), end - cursor))
        changes.reverse()
        return changes, end

    def forget(self) -> None:
        """Drops all logs, as a compaction would; watchers that are up to date notice nothing."""
        self._horizon = self.revision
        for table in self._tables.values():
            while table.log:
                table.drop_oldest()
            table.horizon = self._horizon

    @contextmanager
    def listening(self, listener: Callable[[], None], kind: Kind | None = None) -> Iterator[None]:
        """Calls `listener` after every change of a kind, or of anything, for as long as the context lasts."""
        listeners = self._table(kind).listeners if kind else self._listeners
        listeners.append(listener)
        try:
            yield
        finally:
            listeners.remove(listener)

    def _note(self, table: _Table, change: Change) -> None:
        table.append(change)
        for listener in (*table.listeners, *self._listeners):
            listener()

    def _next_entry(self, kind: Kind, key: str, obj: Object) -> Entry:
        self.revision += 1
        typed = {"apiVersion": kind.api_version, "kind": kind.kind}
        stored = typed | with_metadata(obj, resourceVersion=str(self.revision)) | typed
        return Entry(kind, key, self.revision, stored)

    def _table(self, kind: Kind) -> _Table:
        table = self._tables.get(kind)
        if table is None:
            table = self._tables[kind] = _Table(self._horizon, self._history)
        return table
