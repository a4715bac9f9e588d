"""The verdict of a soak: a climb is told from an uneven reading, and the rate is one that the machine sustains."""

from collections.abc import Callable
from random import Random

import pytest

from bench.soak import MEDIAN, MEMORY, Seen, faults, highest_sustained
from bench.steadiness import is_sustained, trend_of, trends

MINUTE = 60.0
RUN = 30 * MINUTE
Shape = Callable[[float], float]
"""The reading at so many seconds since the begin."""


def readings(shape: Shape, seconds: float = RUN) -> list[tuple[float, float]]:
    """One every five seconds."""
    return [(at * 5.0, shape(at * 5.0)) for at in range(int(seconds / 5))]


def climbing(mean: float, share: float) -> Shape:
    """By this share of the mean in the last 20 minutes."""
    return lambda at: mean * (1 + share * (at - 20 * MINUTE) / (20 * MINUTE))


def noisy(shape: Shape, spread: float, seed: int = 1) -> Shape:
    """Each reading off by a part of its own, more often a little than much, as latencies are."""
    rng = Random(seed)
    return lambda at: shape(at) * rng.lognormvariate(0, spread)


def flat(mean: float) -> Shape:
    return lambda at: mean


def with_slow_seconds(shape: Shape, times: float) -> Shape:
    """The last half minute is many times slower."""
    return lambda at: shape(at) * (times if at > RUN - 30 else 1)


MUST_FAIL: dict[str, Shape] = {
    "memory that leaks an eighth": climbing(200, 0.125),
    "a small process that leaks as much": climbing(20, 0.125),
    "a median of a few milliseconds that climbs": climbing(24, 0.15),
    "the same among noise": noisy(climbing(24, 0.25), 0.2),
    "latencies that double": noisy(climbing(110, 1.0), 0.3),
    "one descriptor a minute": lambda at: 40 + at // MINUTE,
    "what only begins to grow after ten minutes": lambda at: 100 + max(0.0, at - 10 * MINUTE) / MINUTE,
    "a sawtooth that climbs": lambda at: climbing(100, 0.15)(at) + at % 60 / 10,
}
MUST_PASS: dict[str, Shape] = {
    "nothing at all": flat(0),
    "a constant": flat(107),
    "memory that climbs by a twelfth": climbing(200, 1 / 12),
    "what falls": climbing(200, -0.5),
    "noise": noisy(flat(110), 0.3),
    "a sawtooth": lambda at: 100 + at % 60 / 2,
    "caches that fill in the first ten minutes": lambda at: 100 + min(at, 10 * MINUTE) / 5,
    "a few slow seconds at the end": with_slow_seconds(noisy(flat(24), 0.2), 100),
    "a task more or less": lambda at: 20 + int(at / 5) % 2,
}


@pytest.mark.parametrize("shape", MUST_FAIL.values(), ids=MUST_FAIL)
def test_readings_that_climb_by_a_tenth_of_their_mean_in_the_last_20_minutes_fail(shape: Shape) -> None:
    assert trends({"it": readings(shape)}, RUN)["it"].climbs


@pytest.mark.parametrize("shape", MUST_PASS.values(), ids=MUST_PASS)
def test_uneven_readings_without_a_trend_pass(shape: Shape) -> None:
    assert not trends({"it": readings(shape)}, RUN)["it"].climbs


@pytest.mark.parametrize("seed", range(50))
def test_noise_alone_is_no_climb(seed: int) -> None:
    assert not trends({"it": readings(noisy(flat(110), 0.2, seed))}, RUN)["it"].climbs


def test_a_trend_says_how_much_it_climbs_in_an_hour_and_in_all() -> None:
    trend = trend_of([(5.0 * at, 100.0 + at) for at in range(4)])
    assert (round(trend.mean, 1), round(trend.an_hour), round(trend.climb, 1)) == (101.5, 720, 3.0)


@pytest.mark.parametrize(("minutes", "judged"), [(60, 20), (30, 20), (10, 5)])
def test_the_last_20_minutes_are_judged_or_half_of_a_shorter_run(minutes: float, judged: float) -> None:
    seconds = minutes * MINUTE

    def grown(begin: float) -> Shape:
        return lambda at: 100 + 50 * (at < begin)

    before, after = (grown(seconds - judged * MINUTE - margin) for margin in (1.0, -MINUTE))
    found = trends({"before": readings(before, seconds), "after": readings(after, seconds)}, seconds)
    assert (found["before"].mean, found["after"].mean > 100) == (100, True)


@pytest.mark.parametrize(("most", "borne"), [(1000, 240), (200, 200), (130, 120), (5, 20)])
async def test_the_highest_rate_is_found_at_which_pods_do_not_pile_up(most: int, borne: int) -> None:
    tried = []

    async def alive_at(rate: int) -> float:
        tried.append(rate)
        return 10.0 * rate + 45 * max(0, rate - most)

    assert await highest_sustained((20, 60, 120, 200, 240), alive_at) == borne
    assert tried == [rate for rate in (240, 200, 120, 60, 20) if rate >= borne]


def run_of(*alive: float, left: tuple[str, ...] = ()) -> Seen:
    values = {MEMORY: readings(flat(100)), MEDIAN: readings(climbing(24, 0.2))}
    return Seen(values=values, alive=[*alive], created=1, seconds=RUN, left=[*left])


def test_a_run_fails_for_what_climbs_for_a_rate_that_is_not_borne_and_for_what_is_left() -> None:
    assert is_sustained(1100, 120)
    seen = run_of(1000.0, 1100.0, 1900.0, 2500.0, left=("x is 1",))
    assert faults(seen, trends(seen.values, RUN), 120) == [
        f"{MEDIAN} climbs by 4.8, mean 24.0",
        "this machine does not sustain 120 pods a second: set --rate",
        "when all is gone, x is 1",
    ]
    stalled = run_of(1000.0)
    stalled.values[MEDIAN] = []
    assert faults(stalled, trends(stalled.values, RUN), 120) == [f"{MEDIAN}: too few readings"]
    well = run_of(1000.0, 1100.0, 9000.0, 1100.0, 1050.0)
    well.values[MEDIAN] = readings(flat(24))
    assert faults(well, trends(well.values, RUN), 120) == []
