"""Judges a long run by its readings every few seconds: whether anything climbs, and whether the rate was borne.

`bench.soak` calls it when the run is over. Judgement is pure. A climb is measured relative to the mean, over the last
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
"""What is not judged of a shorter run, or half of one that is shorter than twice this: by then caches are full."""
MOST = 0.1
"""The share of its mean by which a series may climb in that part."""
BORNE_SECONDS = 13.0
"""A pod is created, bound, lives for 8 seconds and is deleted: if more pods exist than are created in this time, they
are created faster than they are bound."""
_HOUR = 3600.0
_CERTAIN = 3.0
"""Standard deviations by which later readings have to be the larger ones: once in 700 times that is chance."""

Point = tuple[float, float]
"""Seconds since the run began, and a reading."""


@dataclass(frozen=True, slots=True)
class Trend:
    """How a series develops.

    Attributes:
        mean: of its readings.
        an_hour, climb: how much it climbs in an hour, and in the part that is judged.
        certain: whether it climbs at all, and not by chance.
    """

    mean: float
    an_hour: float
    climb: float
    certain: bool

    @property
    def climbs(self) -> bool:
        """Whether it climbs by more than it may."""
        return self.certain and self.climb > MOST * self.mean


def trend_of(points: Sequence[Point]) -> Trend:
    """Of at least two readings at different times."""
    pairs = [(later - earlier, end - start) for (start, earlier), (end, later) in combinations(points, 2)]
    slope = median(grown / time for grown, time in pairs)
    count = len(points)
    deviation = sqrt(count * (count - 1) * (2 * count + 5) / 18)
    excess = sum((grown > 0) - (grown < 0) for grown, _ in pairs)
    climb = slope * (points[-1][0] - points[0][0])
    return Trend(fmean(value for _, value in points), slope * _HOUR, climb, excess > _CERTAIN * deviation)


def trends(series: Mapping[str, Sequence[Point]], seconds: float) -> dict[str, Trend]:
    """The trend of each series in the last part of a run of so many seconds; none of one without two readings in it."""
    start = max(seconds - LAST_SECONDS, min(START_SECONDS, seconds / 2))
    judged = {what: [point for point in points if point[0] >= start] for what, points in series.items()}
    return {what: trend_of(points) for what, points in judged.items() if len(points) > 1}


def is_borne(alive: float, rate: float) -> bool:
    """Whether so many pods that have not ended mean that pods are bound as fast as they are created."""
    return alive <= rate * BORNE_SECONDS
