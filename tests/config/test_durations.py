"""Durations in Go's notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.config import format_duration, parse_duration
from muster.framework.config.durations import parse_nanoseconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("1h2m3.5s", 3723.5),
        ("250ms", 0.25),
        ("1us", 1e-6),
        ("1µs", 1e-6),
        ("1μs", 1e-6),
        ("7ns", 7e-9),
        (".5s", 0.5),
        ("5.s", 5.0),
        ("-1.5h", -5400.0),
        ("+3s", 3.0),
        ("0", 0.0),
        ("-0", 0.0),
    ],
)
def test_a_duration_is_read_into_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("abc", 'time: invalid duration "abc"'),
        (".s", 'time: invalid duration ".s"'),
        ("15", 'time: missing unit in duration "15"'),
        ("1m30", 'time: missing unit in duration "1m30"'),
        ("15x", 'time: unknown unit "x" in duration "15x"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
    ],
)
def test_a_text_that_is_no_duration_is_refused_in_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^time: ") as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (15.0, "15s"),
        (600.0, "10m0s"),
        (3600.0, "1h0m0s"),
        (3723.004, "1h2m3.004s"),
        (0.25, "250ms"),
        (1.5e-6, "1.5µs"),
        (7e-9, "7ns"),
        (-90.0, "-1m30s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_a_written_duration_reads_as_the_same(nanoseconds: int) -> None:
    assert parse_nanoseconds(format_duration(nanoseconds / 1e9)) == nanoseconds
