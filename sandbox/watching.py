"""Watches: the events that one watcher receives, from its start.

Pure: the HTTP edge asks `start` for what comes first and `poll` for what came since, and decides itself when to ask. A
watcher sees a selected part of a kind: an object that leaves the selection is DELETED to it, one that enters is ADDED.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.sandbox import errors
from muster.sandbox.ledger import ADDED, DELETED, Change, Entry, HorizonError
from muster.sandbox.objects import Object, namespace_of, with_metadata
from muster.sandbox.registry import Kind, stored_as
from muster.sandbox.selectors import Selection
from muster.sandbox.store import ObjectStore

BOOKMARK, ERROR = "BOOKMARK", "ERROR"
_INITIAL_END = {"k8s.io/initial-events-end": "true"}
_NOT_OLDER = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The query of a watch. `initial` is `sendInitialEvents`, None where the parameter was not given."""

    resource_version: str = ""
    match: str = ""
    initial: bool | None = None
    bookmarks: bool = False


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event: `entry` is set for objects, `obj` for bookmarks and errors."""

    type: str
    entry: Entry | None = None
    obj: Object | None = None


class Watch:
    """One watcher's view of a kind. After an ERROR event it is over."""

    def __init__(
        self, store: ObjectStore, kind: Kind, namespace: str, selection: Selection, *, options: WatchOptions
    ) -> None:
        """Raises 422 or 400 where the options make no sense together."""
        _check(options)
        self._store = store
        self._kind = kind
        self._namespace = namespace
        self._selection = selection
        self._options = options
        self._cursor = 0

    def start(self) -> list[WatchEvent]:
        """The first events of a new watcher: the present state, the past since its revision, or an ERROR (410)."""
        options, ledger = self._options, self._store.ledger
        from_now = options.resource_version in ("", "0") or options.initial is not None
        try:
            revision = ledger.revision if from_now else int(options.resource_version)
            self._cursor = ledger.cursor(stored_as(self._kind), revision)
        except HorizonError as error:
            return [_gone(error)]
        if not from_now:
            return self.poll()
        if options.initial is False:
            return []
        state = self._store.list(self._kind, namespace=self._namespace, selection=self._selection)
        events = [WatchEvent(ADDED, entry) for entry in state.entries]
        if options.initial and options.bookmarks:
            events.append(self.bookmark(_INITIAL_END))
        return events

    def poll(self) -> list[WatchEvent]:
        """The events since the last call; an ERROR (410) if they exceed the history."""
        try:
            changes, self._cursor = self._store.ledger.read(stored_as(self._kind), self._cursor)
        except HorizonError as error:
            return [_gone(error)]
        return [event for change in changes for event in self._seen(change)]

    def bookmark(self, annotations: dict[str, str] | None = None) -> WatchEvent:
        """A BOOKMARK that says how far the watcher has got."""
        metadata: Object = {"resourceVersion": str(self._store.ledger.revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        typed = {"kind": self._kind.kind, "apiVersion": self._kind.api_version}
        return WatchEvent(BOOKMARK, obj=typed | {"metadata": metadata})

    def _seen(self, change: Change) -> Iterator[WatchEvent]:
        entry, previous = change.entry, change.previous
        if self._namespace and namespace_of(entry.obj) != self._namespace:
            return
        if self._selection.everything:
            yield WatchEvent(change.type, self._store.seen(self._kind, entry))
            return
        selected = change.type != DELETED and self._selection.matches(entry.obj)
        was_selected = previous is not None and self._selection.matches(previous.obj)
        if selected:
            yield WatchEvent(change.type if was_selected else ADDED, self._store.seen(self._kind, entry))
        elif was_selected and previous is not None:
            yield WatchEvent(DELETED, self._store.seen(self._kind, _at_revision(previous, entry.revision)))


def _at_revision(entry: Entry, revision: int) -> Entry:
    obj = with_metadata(entry.obj, resourceVersion=str(revision))
    return Entry(entry.kind, entry.key, revision, obj)


def _gone(error: HorizonError) -> WatchEvent:
    return WatchEvent(ERROR, obj=errors.expired(str(error)).status())


def _check(options: WatchOptions) -> None:
    if options.initial is not None and options.match != _NOT_OLDER:
        raise _forbidden(f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER}")
    if options.match and options.initial is None:
        raise _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    if options.resource_version and not options.resource_version.isdecimal():
        raise errors.bad_request(f"invalid resource version: {options.resource_version}")


def _forbidden(reason: str) -> errors.StatusError:
    wrong = errors.InvalidField(errors.FORBIDDEN, "resourceVersionMatch", reason)
    return errors.invalid_of("ListOptions", "", [wrong], group="meta.k8s.io")
