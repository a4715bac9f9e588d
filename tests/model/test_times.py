"""Times, and ages as kubectl shows them."""

import pytest

from muster.framework.model.times import age, human_duration, parse_time, rfc3339

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * _MINUTE, "2m"),
        (2 * _MINUTE + 5, "2m5s"),
        (10 * _MINUTE + 5, "10m"),
        (179 * _MINUTE, "179m"),
        (3 * _HOUR, "3h"),
        (3 * _HOUR + 7 * _MINUTE, "3h7m"),
        (8 * _HOUR + 7 * _MINUTE, "8h"),
        (47 * _HOUR, "47h"),
        (2 * _DAY, "2d"),
        (2 * _DAY + 3 * _HOUR, "2d3h"),
        (8 * _DAY + 3 * _HOUR, "8d"),
        (729 * _DAY, "729d"),
        (730 * _DAY, "2y"),
        (740 * _DAY, "2y10d"),
        (9 * 365 * _DAY + 10 * _DAY, "9y"),
    ],
)
def test_durations_have_two_or_three_figures(seconds: float, expected: str) -> None:
    assert human_duration(seconds) == expected


def test_times_are_written_to_the_second_and_read_with_fractions() -> None:
    assert rfc3339(1_767_268_800.9) == "2026-01-01T12:00:00Z"
    assert parse_time("2026-01-01T12:00:00.250000Z") == 1_767_268_800.25


def test_an_age_without_a_time_is_unknown() -> None:
    assert age(None, 0.0) == "<unknown>"
    assert age("1970-01-01T00:00:00Z", 90.0) == "90s"
