"""Samples of the queue and of the used capacity, one every few seconds, kept for a day.

Pure. `cluster_history` stores the samples; `views.history` draws them. While `muster web` does not run, no samples are
taken; the drawing shows this as a gap.
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
"""The distance of two samples from which on the time between them counts as an interruption."""


@dataclass(frozen=True, slots=True)
class QueueSample:
    """The queue and the used capacity at one moment.

    Attributes:
        wall: the moment, in seconds since the epoch.
        groups: how many groups wait for their quorum.
        pods: how many pods have no node.
        longest, median: the longest and the median wait, in seconds, of groups and of pods without a group; 0 if none
            waits. Pods with scheduling gates and held groups do not count.
        used: by resource, the share of the nodes' capacity that the pods on them request.
    """

    wall: float
    groups: int = 0
    pods: int = 0
    longest: float = 0.0
    median: float = 0.0
    used: Mapping[str, float] = field(default_factory=dict)


class DaySeries:
    """The samples of the last day, the oldest first. Adding a sample removes those that are a day older."""

    def __init__(self, samples: Iterable[QueueSample] = ()) -> None:
        self._samples = deque(samples)

    def add(self, sample: QueueSample) -> None:
        """Add the latest sample."""
        self._samples.append(sample)
        while self._samples[0].wall < sample.wall - DAY_SECONDS:
            self._samples.popleft()

    def samples(self) -> Sequence[QueueSample]:
        """The samples of the last day."""
        return tuple(self._samples)


def sample_of(census: Census, used: Mapping[str, float], now: float) -> QueueSample:
    """The sample for a census and the used shares; `now` is in seconds since the epoch."""
    since = [group.since for group in census.waiting]
    since += [pod.metadata.creation_timestamp for pod in census.single_pods if not pod.spec.scheduling_gates]
    waits = [max(0.0, now - parse_time(each)) for each in since if each is not None]
    return QueueSample(
        wall=now,
        groups=len(census.waiting),
        pods=census.pods - census.placed,
        longest=max(waits, default=0.0),
        median=median(waits) if waits else 0.0,
        used=used,
    )
