"""Judges a long run by its readings every few seconds: whether a series climbs, and whether the rate was sustained.

`bench.soak` calls it after the run. The functions are pure. A climb is measured relative to the mean, over the last
part of the run only, when caches are full; the trend is the median slope between any two readings (Theil-Sen), so a
few slow seconds do not make one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean, median

LAST_SECONDS = 1200.0
"""The part of a run that is judged."""
START_SECONDS = 600.0
"""The beginning of a run that is not judged, at most half of the run: caches are filled meanwhile."""
MOST = 0.1
"""The share of its mean by which a series may climb in that part."""
BORNE_SECONDS = 13.0
"""A pod is created, bound, lives for 8 seconds and is deleted: if more pods exist than are created in this time, they
are created faster than they are bound."""
_HOUR = 3600.0
_CERTAIN = 3.0
"""The standard deviations by which later readings have to be larger: by chance, once in 700 runs."""

Point = tuple[float, float]
"""The seconds since the run began, and a reading."""


@dataclass(frozen=True, slots=True)
class Trend:
    """How a series develops.

    Attributes:
        mean: the mean of its readings.
        an_hour, climb: its climb in an hour, and in the judged part.
        certain: whether the climb is significant.
    """

    mean: float
    an_hour: float
    climb: float
    certain: bool

    @property
    def climbs(self) -> bool:
        """Whether it climbs by more than the bound."""
        return self.certain and self.climb > MOST * self.mean


def trend_of(points: Sequence[Point]) -> Trend:
    """The trend of at least two readings at different times."""
    pairs = [(later - earlier, end - start) for (start, earlier), (end, later) in combinations(points, 2)]
    slope = median(grown / time for grown, time in pairs)
    count = len(points)
    deviation = sqrt(count * (count - 1) * (2 * count + 5) / 18)
    excess = sum((grown > 0) - (grown < 0) for grown, _ in pairs)
    climb = slope * (points[-1][0] - points[0][0])
    return Trend(fmean(value for _, value in points), slope * _HOUR, climb, excess > _CERTAIN * deviation)


def trends(series: Mapping[str, Sequence[Point]], seconds: float) -> dict[str, Trend]:
    """The trend of each series with two or more readings in the judged part of a run of `seconds` seconds."""
    start = max(seconds - LAST_SECONDS, min(START_SECONDS, seconds / 2))
    judged = {what: [point for point in points if point[0] >= start] for what, points in series.items()}
    return {what: trend_of(points) for what, points in judged.items() if len(points) > 1}


def is_sustained(alive: float, rate: float) -> bool:
    """Whether pods are bound as fast as they are created, by the number of pods that have not ended."""
    return alive <= rate * BORNE_SECONDS
