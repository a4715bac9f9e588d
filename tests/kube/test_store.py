"""The handler hears every change exactly once, and its view is the server's state."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.meta import ObjectMeta
from muster.operator.kube.store import Store

from .things import Journal, Thing


def make(name: str, version: int = 1, uid: str = "") -> Thing:
    return Thing(ObjectMeta(name=name, namespace="ns", uid=uid or f"uid-{name}", resource_version=str(version)))


def replace(store: Store[Thing], *things: Thing, keep: tuple[str, ...] = ()) -> None:
    for _ in store.replace(things, keep=keep):
        pass


def test_an_object_is_added_updated_and_deleted() -> None:
    journal = Journal()
    store = Store(journal)
    store.put(make("a", 1))
    store.put(make("a", 2))
    store.remove("ns/a", make("a", 3))
    assert journal.entries == ["+a@1", "~a@2", "-a@3"]
    assert store.get("ns/a") is None


def test_the_same_version_is_reported_once() -> None:
    journal = Journal()
    store = Store(journal)
    store.put(make("a", 1))
    store.put(make("a", 1))
    assert journal.entries == ["+a@1"]


def test_a_name_reused_by_another_object_is_a_delete_and_an_add() -> None:
    journal = Journal()
    store = Store(journal)
    store.put(make("a", 1, uid="first"))
    store.put(make("a", 5, uid="second"))
    assert journal.entries == ["+a@1", "-a@1", "+a@5"]
    assert journal.view["a"].metadata.uid == "second"


def test_a_delete_of_an_unknown_object_is_not_reported() -> None:
    journal = Journal()
    Store(journal).remove("ns/a", make("a"))
    assert journal.entries == []


def test_a_delete_hands_out_the_object_the_handler_knows_when_the_last_state_is_anothers() -> None:
    journal = Journal()
    store = Store(journal)
    store.put(make("a", 1, uid="first"))
    store.remove("ns/a", make("a", 9, uid="second"))
    assert journal.entries == ["+a@1", "-a@1"]


def test_objects_without_a_namespace_are_keyed_by_name() -> None:
    store = Store(Journal())
    store.put(Thing(ObjectMeta(name="node-1", uid="u")))
    assert store.get("node-1") is not None


def test_a_list_reports_deletes_before_adds() -> None:
    journal = Journal()
    store = Store(journal)
    replace(store, make("a"), make("b"))
    replace(store, make("c"), make("b", 2))
    assert journal.entries == ["+a@1", "+b@1", "-a@1", "+c@1", "~b@2"]


def test_an_object_that_could_not_be_read_is_kept_as_it_was() -> None:
    journal = Journal()
    store = Store(journal)
    replace(store, make("a"), make("b"))
    replace(store, make("b"), keep=("ns/a",))
    assert journal.entries == ["+a@1", "+b@1"]


def test_a_failing_handler_is_reported_and_hears_the_next_change(caplog: pytest.LogCaptureFixture) -> None:
    class Fragile(Journal):
        def on_add(self, obj: Thing, /) -> None:
            if obj.metadata.name == "bad":
                raise ValueError("no such thing")
            super().on_add(obj)

    journal = Fragile()
    store = Store(journal)
    with caplog.at_level(logging.ERROR):
        replace(store, make("bad"), make("good"))
    assert journal.entries == ["+good@1"]
    assert "handler failed for ns/bad" in caplog.text
    assert "no such thing" in caplog.text


states = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.tuples(st.integers(1, 3), st.sampled_from(["u1", "u2"]))), max_size=8
)


@given(states)
def test_after_any_sequence_of_lists_the_handlers_view_is_the_last_list(
    sequence: list[dict[str, tuple[int, str]]],
) -> None:
    journal = Journal()
    store = Store(journal)
    for state in sequence:
        replace(store, *(make(name, version, uid) for name, (version, uid) in state.items()))
        assert {thing.metadata.name for thing in store.list()} == set(state)
        assert journal.view == {name: make(name, version, uid) for name, (version, uid) in state.items()}
