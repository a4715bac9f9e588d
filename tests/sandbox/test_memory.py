"""The memory of the sandbox: how long it keeps changes, and its answer when that was not long enough."""

import pytest

from muster.sandbox.clock import Generators
from muster.sandbox.errors import StatusError
from muster.sandbox.kinds import CONFIG_MAPS, NAMESPACES
from muster.sandbox.ledger import HorizonError, Ledger
from muster.sandbox.listing import ListOptions
from muster.sandbox.objects import name_of
from muster.sandbox.patching import MERGE
from muster.sandbox.selectors import EVERYTHING
from muster.sandbox.store import ObjectStore
from muster.sandbox.watching import Watch, WatchOptions
from tests.api_behaviour.objects import config_map

_HISTORY = 5


@pytest.fixture
def store() -> ObjectStore:
    """A store with the namespace `default` and a short memory."""
    store = ObjectStore(Ledger(history=_HISTORY), Generators())
    store.create(NAMESPACES, {"metadata": {"name": "default"}})
    return store


def _make(store: ObjectStore, *names: str) -> None:
    for name in names:
        store.create(CONFIG_MAPS, config_map(name, {}), namespace="default")


def _watch(store: ObjectStore, revision: int | str) -> Watch:
    return Watch(store, CONFIG_MAPS, "", EVERYTHING, options=WatchOptions(resource_version=str(revision)))


def _names(watch: Watch) -> list[str]:
    return [name_of(event.entry.obj) for event in watch.poll() if event.entry]


def test_a_watch_can_start_as_far_back_as_memory_goes(store: ObjectStore) -> None:
    start = store.ledger.revision
    _make(store, "a", "b", "c", "d", "e")

    events = _watch(store, start).start()

    assert [event.type for event in events] == ["ADDED"] * _HISTORY


def test_a_watch_that_starts_before_that_is_refused(store: ObjectStore) -> None:
    start = store.ledger.revision
    _make(store, "a", "b", "c", "d", "e", "f")

    (event,) = _watch(store, start).start()

    assert event.type == "ERROR"
    assert event.obj is not None
    assert event.obj["message"] == f"too old resource version: {start} ({start + 1})"
    assert event.obj["code"] == 410


def test_a_watcher_that_is_too_slow_gets_an_error(store: ObjectStore) -> None:
    watch = _watch(store, store.ledger.revision)
    watch.start()
    _make(store, "a", "b", "c", "d", "e", "f")

    assert [event.type for event in watch.poll()] == ["ERROR"]


def test_a_watcher_that_keeps_up_sees_everything(store: ObjectStore) -> None:
    watch = _watch(store, store.ledger.revision)
    watch.start()

    seen = []
    for name in "abcdefgh":
        _make(store, name)
        seen += _names(watch)

    assert seen == list("abcdefgh")


def test_forgetting_cuts_off_the_past_but_not_the_present(store: ObjectStore) -> None:
    before = store.ledger.revision
    _make(store, "a")
    current = _watch(store, store.ledger.revision)
    current.start()

    store.forget()
    _make(store, "b")

    assert [event.type for event in _watch(store, before).start()] == ["ERROR"]
    assert _names(current) == ["b"]


def test_a_kind_that_never_changed_can_be_watched_from_any_revision(store: ObjectStore) -> None:
    start = store.ledger.revision
    for name in "abcdefgh":
        store.create(NAMESPACES, {"metadata": {"name": name}})

    assert _watch(store, start).start() == []


def test_a_forgotten_page_gets_a_token_to_go_on_without_consistency(store: ObjectStore) -> None:
    _make(store, "a", "b", "c", "d")
    first = store.list(CONFIG_MAPS, options=ListOptions(limit=2))
    store.delete(CONFIG_MAPS, "c", namespace="default")
    store.forget()

    with pytest.raises(StatusError, match="continue parameter is too old") as refusal:
        store.list(CONFIG_MAPS, options=ListOptions(limit=1, continue_token=first.next_token))
    token = refusal.value.status()["metadata"]["continue"]
    rest = store.list(CONFIG_MAPS, options=ListOptions(limit=1, continue_token=token))

    assert (refusal.value.code, refusal.value.reason) == (410, "Expired")
    assert [name_of(entry.obj) for entry in rest.entries] == ["d"]
    assert rest.next_token == ""


def test_only_so_many_unfinished_lists_are_remembered(store: ObjectStore) -> None:
    _make(store, "a", "b")
    first = store.list(CONFIG_MAPS, options=ListOptions(limit=1))
    for number in range(40):
        _make(store, f"more-{number}")
        store.list(CONFIG_MAPS, options=ListOptions(limit=1))

    with pytest.raises(StatusError, match="too old"):
        store.list(CONFIG_MAPS, options=ListOptions(continue_token=first.next_token))


def test_a_list_from_the_future_has_to_be_waited_for(store: ObjectStore) -> None:
    ahead = str(store.ledger.revision + 1)

    with pytest.raises(StatusError, match="Too large resource version") as refusal:
        store.list(CONFIG_MAPS, options=ListOptions(resource_version=ahead))

    assert (refusal.value.code, refusal.value.reason) == (504, "Timeout")


def test_an_exact_list_of_the_past_is_gone(store: ObjectStore) -> None:
    past = str(store.ledger.revision)
    _make(store, "a")

    with pytest.raises(StatusError, match="too old") as refusal:
        store.list(CONFIG_MAPS, options=ListOptions(resource_version=past, match="Exact"))

    assert refusal.value.code == 410


def test_an_object_is_encoded_once_per_version(store: ObjectStore) -> None:
    _make(store, "a")
    entry = store.get(CONFIG_MAPS, "a", namespace="default")

    first, again = entry.whole, store.list(CONFIG_MAPS).entries[0].whole
    patch = {"data": {"key": "value"}}
    changed = store.patch(CONFIG_MAPS, "a", patch, MERGE, namespace="default")

    assert first is again
    assert changed.whole != first


def test_a_reader_behind_the_horizon_is_never_served_a_hole() -> None:
    ledger = Ledger(history=2)
    for name in "abcd":
        ledger.put(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})

    with pytest.raises(HorizonError):
        ledger.read(CONFIG_MAPS, 1)
    changes, cursor = ledger.read(CONFIG_MAPS, 2)
    assert [name_of(change.entry.obj) for change in changes] == ["c", "d"]
    assert ledger.read(CONFIG_MAPS, cursor) == ([], cursor)
