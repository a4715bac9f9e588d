"""Bytes become typed changes, however they are cut and whatever they contain."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.operator.kube.errors import Gone
from muster.operator.kube.frames import Bookmark, Decoder, GarbageError, Lines, StreamError, Unreadable, WatchChange

from .things import Thing, bookmark, error_frame, frame, page, thing

decoder = Decoder(Thing)


@given(
    lines=st.lists(st.binary(min_size=1, max_size=12).filter(lambda line: b"\n" not in line and line.strip())),
    cuts=st.lists(st.integers(0, 150)),
)
def test_lines_are_the_same_however_the_stream_is_chunked(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    splitter = Lines()
    got = [line for start, end in pairwise(edges) for line in splitter.feed(stream[start:end])]
    assert got == lines


def test_an_unfinished_last_line_is_not_handed_out() -> None:
    assert Lines().feed(b"one\ntwo") == [b"one"]


def test_blank_lines_say_nothing() -> None:
    assert Lines().feed(b"\n\r\none\n\n") == [b"one"]


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED"])
def test_a_change_comes_out_typed(type_: str) -> None:
    change = decoder.frame(frame(type_, thing("a", 7, size=3)))
    assert isinstance(change, WatchChange)
    assert (change.type, change.object.metadata.name, change.object.size) == (type_, "a", 3)


def test_a_bookmark_gives_its_version() -> None:
    assert decoder.frame(bookmark(42)) == Bookmark("42")


def test_an_error_frame_gives_the_error_of_its_code() -> None:
    said = decoder.frame(error_frame(410, "Expired"))
    assert isinstance(said, StreamError)
    assert isinstance(said.error, Gone)
    assert str(said.error) == "expired"


def test_an_object_that_does_not_fit_the_type_is_named_with_the_reason() -> None:
    said = decoder.frame(frame("MODIFIED", {**thing("a", 7), "size": "large"}))
    assert isinstance(said, Unreadable)
    assert (said.type, said.identity.name, said.identity.resource_version) == ("MODIFIED", "a", "7")
    assert said.problem == "size: must be of type integer, not string"


@pytest.mark.parametrize(
    "line",
    [
        b"<html>",
        b"{}",
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": {"metadata": ',
        b'{"type": "ADDED", "object": 7}',
        b'{"type": "SOMETHING", "object": {"metadata": {}}}',
        b'{"type": "ADDED", "object": {"metadata": {"name": "\xff\xfe"}}}',
    ],
)
def test_a_line_that_is_no_watch_event_is_garbage(line: bytes) -> None:
    with pytest.raises(GarbageError):
        decoder.frame(line)


@given(st.binary())
def test_no_bytes_do_anything_but_decode_or_count_as_garbage(line: bytes) -> None:
    try:
        said = decoder.frame(line)
    except GarbageError:
        return
    assert isinstance(said, (WatchChange, Bookmark, StreamError, Unreadable))


def test_a_page_gives_its_items_its_version_and_the_next() -> None:
    got = decoder.page(json.dumps(page([thing("a"), thing("b")], 9, "token")).encode())
    assert [item.metadata.name for item in got.items] == ["a", "b"]
    assert (got.resource_version, got.next_page, got.unreadable) == ("9", "token", [])


def test_a_page_without_items_is_an_empty_page() -> None:
    assert decoder.page(b'{"metadata": {"resourceVersion": "3"}, "items": null}').items == []


def test_one_unreadable_item_does_not_spoil_the_page() -> None:
    got = decoder.page(json.dumps(page([thing("a"), {**thing("b", 5), "size": []}, thing("c")], 9)).encode())
    assert [item.metadata.name for item in got.items] == ["a", "c"]
    assert [(item.identity.name, item.problem) for item in got.unreadable] == [
        ("b", "size: must be of type integer, not array")
    ]


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"items": []}', b'{"metadata": {}, "items": [7]}'])
def test_a_body_that_is_no_list_is_garbage(body: bytes) -> None:
    with pytest.raises(GarbageError):
        decoder.page(body)
