"""The last day in numbers: samples of the queue and of the used capacity, one every few seconds.

Pure. `history` takes the samples and stores them; `views.history` draws them. While no process takes samples, there are
none, which the drawing shows as a gap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from muster.framework.model.times import parse_time

from .census import Census

DAY_SECONDS = 24 * 3600.0
GAP_SECONDS = 60.0
"""Samples that are further apart were not taken by one process without interruption."""


@dataclass(frozen=True, slots=True)
class QueueSample:
    """The queue and the used capacity at one moment.

    Attributes:
        wall: the moment, in seconds since the epoch.
        groups: how many groups wait for their quorum.
        pods: how many pods have no node.
        longest, middle: how long, in seconds, groups and pods without a group have waited: the longest and the median
            wait; 0 if none waits. Pods with scheduling gates and held groups do not count.
        used: by resource, the share of the nodes' capacity that the pods on them request.
    """

    wall: float
    groups: int = 0
    pods: int = 0
    longest: float = 0.0
    middle: float = 0.0
    used: Mapping[str, float] = field(default_factory=dict)


class DaySeries:
    """The samples of the last day, the oldest first; a later sample ends the time of those a day before it."""

    def __init__(self, samples: Iterable[QueueSample] = ()) -> None:
        self._samples = deque(samples)

    def add(self, sample: QueueSample) -> None:
        """Add the latest sample."""
        self._samples.append(sample)
        while self._samples[0].wall < sample.wall - DAY_SECONDS:
            self._samples.popleft()

    def samples(self) -> Sequence[QueueSample]:
        """All of them."""
        return tuple(self._samples)


def sample_of(census: Census, used: Mapping[str, float], now: float) -> QueueSample:
    """A sample; `now` is in seconds since the epoch."""
    since = [group.since for group in census.waiting]
    since += [pod.metadata.creation_timestamp for pod in census.alone if not pod.spec.scheduling_gates]
    waits = [max(0.0, now - parse_time(each)) for each in since if each is not None]
    return QueueSample(
        wall=now,
        groups=len(census.waiting),
        pods=census.pods - census.placed,
        longest=max(waits, default=0.0),
        middle=median(waits) if waits else 0.0,
        used=used,
    )
