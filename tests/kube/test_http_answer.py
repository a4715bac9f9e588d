"""Answers are read whole however their bytes fall, and nothing is read into bytes that are no answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.operator.kube.http_answer import Answer, AnswerReader, NoAnswerError

BY_LENGTH = b'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}'
BY_CHUNKS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'3\r\n{"a\r\n0004;name=value\r\n":1}\r\n0\r\nTrailer: x\r\nAnother: y\r\n\r\n'
)
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"
AFTER_OTHERS = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + BY_LENGTH
ANSWERS = {
    BY_LENGTH: Answer(201, b'{"a":1}', None, reusable=True),
    BY_CHUNKS: Answer(200, b'{"a":1}', None, reusable=True),
    NO_CONTENT: Answer(204, b"", None, reusable=True),
    AFTER_OTHERS: Answer(201, b'{"a":1}', None, reusable=True),
}


def read(*pieces: bytes) -> Answer | None:
    """The answer after the last of the pieces."""
    reader = AnswerReader()
    answers = [reader.feed(piece) for piece in pieces]
    assert not any(answers[:-1])
    return answers[-1]


@given(sent=st.sampled_from(list(ANSWERS)), cuts=st.lists(st.integers(0, 200), max_size=6))
def test_an_answer_is_the_same_however_its_bytes_fall(sent: bytes, cuts: list[int]) -> None:
    at = sorted({min(cut, len(sent) - 1) for cut in cuts})
    pieces = [sent[start:end] for start, end in zip([0, *at], [*at, len(sent)], strict=True)]
    assert read(*pieces) == ANSWERS[sent]


@pytest.mark.parametrize("sent", list(ANSWERS))
def test_an_answer_comes_byte_by_byte(sent: bytes) -> None:
    assert read(*(sent[at : at + 1] for at in range(len(sent)))) == ANSWERS[sent]


def test_a_body_without_a_length_ends_with_the_connection_which_cannot_be_used_again() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\none ") is None
    assert reader.feed(b"two") is None
    assert reader.end() == Answer(200, b"one two", None, reusable=False)


@pytest.mark.parametrize(
    ("head", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.1 200 OK\r\nconnection: Keep-Alive, Close\r\n", False),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n", True),
        (b"HTTP/1.1 200\r\n", True),
        (b"HTTP/1.0 200 OK\r\n", False),
    ],
)
def test_the_server_says_whether_it_leaves_the_connection_open(head: bytes, reusable: bool) -> None:
    assert read(head + b"Content-Length: 0\r\n\r\n") == Answer(200, b"", None, reusable)


def test_the_time_to_wait_is_told_as_it_came() -> None:
    answer = read(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After:  3 \r\nContent-Length: 0\r\n\r\n")
    assert answer == Answer(429, b"", "3", reusable=True)


def test_an_answer_without_content_has_none_whatever_its_length_field_says() -> None:
    assert read(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\n\r\n") == Answer(304, b"", None, reusable=True)


def test_the_same_length_may_be_told_twice() -> None:
    assert read(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\nx") == Answer(200, b"x", None, True)


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/2 200\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 0x1 OK\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "a number is not one"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n", "a number is not one"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: a\r\n\r\n", "a number is not one"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two different fields Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "encoding that was not asked for"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "a number is not one"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "a chunk is longer than it said"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 2000, "a head or a line is too long"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 17), "a head or a line is too long"),
        (BY_LENGTH + b"H", "more came than was asked for"),
        (BY_CHUNKS + b"H", "more came than was asked for"),
    ],
)
def test_what_is_no_answer_is_refused(sent: bytes, fault: str) -> None:
    with pytest.raises(NoAnswerError, match=fault):
        AnswerReader().feed(sent)


@pytest.mark.parametrize("sent", [b"", BY_LENGTH[:10], BY_LENGTH[:-1], BY_CHUNKS[:-2]])
def test_a_connection_that_ends_in_the_middle_gave_no_answer(sent: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(sent) is None
    with pytest.raises(NoAnswerError, match="ended in the middle"):
        reader.end()
