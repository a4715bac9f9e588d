"""What grows with the time is told from what is uneven."""

import pytest

from bench.soak import BOUNDS, MEMORY, line_through


def seen(*values: float) -> list[tuple[float, float]]:
    return [(5.0 * number, value) for number, value in enumerate(values)]


def test_a_line_tells_how_much_it_climbs_in_an_hour_and_in_all() -> None:
    line = line_through(seen(100.0, 101.0, 102.0, 103.0))
    assert (round(line.mean, 1), round(line.an_hour), round(line.climb, 1)) == (101.5, 720, 3.0)


@pytest.mark.parametrize(
    ("values", "steep"),
    [
        ((200.0, 200.0, 200.0), False),
        ((200.0, 215.0, 200.0, 215.0, 200.0), False),
        ((215.0, 200.0, 190.0), False),
        ((200.0, 204.0, 208.0), False),
        ((200.0, 206.0, 212.0), True),
        ((20.0, 22.0, 24.0), False),
    ],
)
def test_memory_may_climb_by_a_twentieth_or_5_mib(values: tuple[float, ...], steep: bool) -> None:
    assert line_through(seen(*values)).too_steep(BOUNDS[MEMORY]) is steep
