"""How long attempts to schedule take, as the histograms of a side's `/metrics` have it.

kube-scheduler and Muster serve the same metrics, with the same buckets. What a measurement adds to them is the page at
its end less the page at its beginning. Percentiles are those of Prometheus: linear within a bucket, so below the first
bound, a millisecond, they say little more than that it was less.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

METRIC = "scheduler_scheduling_attempt_duration_seconds"
_BUCKET = re.compile(rf"^{METRIC}_bucket\{{([^}}]*)\}} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')

Buckets = Mapping[str, Mapping[float, float]]
"""By result, how many attempts took at most as many seconds."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts that had one result.

    Attributes:
        count: how many.
        p50, p90, p99: seconds.
    """

    count: int
    p50: float
    p90: float
    p99: float


def buckets(page: str) -> Buckets:
    """The histograms of a page, those of all profiles together."""
    found: dict[str, dict[float, float]] = {}
    for written, count in _BUCKET.findall(page):
        labels = dict(_LABEL.findall(written))
        counts = found.setdefault(labels["result"], {})
        bound = float(labels["le"])
        counts[bound] = counts.get(bound, 0.0) + float(count)
    return found


def between(before: Buckets, after: Buckets) -> dict[str, Attempts]:
    """By result, the attempts that one page has and an earlier one has not; results without any are left out."""
    found = {}
    for result, counts in after.items():
        earlier = before.get(result, {})
        added = {bound: count - earlier.get(bound, 0.0) for bound, count in sorted(counts.items())}
        if added[math.inf]:
            p50, p90, p99 = (quantile(added, share) for share in (0.5, 0.9, 0.99))
            found[result] = Attempts(round(added[math.inf]), p50, p90, p99)
    return found


def quantile(counts: Mapping[float, float], share: float) -> float:
    """Below which value a share is, of at least one; the largest finite bound for what is beyond it.

    `counts` has how many were at most each bound, in the order of the bounds, of which the last is infinite.
    """
    rank = share * counts[math.inf]
    for low, below, bound, count in _steps(counts):
        if count >= rank:
            return low if math.isinf(bound) else low + (bound - low) * (rank - below) / (count - below)
    raise ValueError("no count is as large as that of the infinite bound")


def _steps(counts: Mapping[float, float]) -> Iterator[tuple[float, float, float, float]]:
    """Of each bucket: its lower bound, how many are below it, its upper bound, how many are at most that."""
    low = below = 0.0
    for bound, count in counts.items():
        yield low, below, bound, count
        low, below = bound, count
