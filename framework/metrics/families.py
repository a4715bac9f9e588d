"""Counters, gauges and histograms that cost a fifth of a microsecond to update.

prometheus-client's own instruments take a lock and walk the buckets for each observation (0.4 to 1.7 µs), and can
switch their `_created` series off only for the whole process. Everything here runs on the event loop's thread, so a
family is a dictionary from label values to numbers. `muster.operator.metrics.exposition` turns families into text at a
scrape.

Rules for callers: update a few times per pod, never once per node; an update neither blocks nor raises. What can be
read from state at any moment (pending pods, size of the cache) is a `GaugeFunc` and is not counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate, repeat

Labels = tuple[str, ...]


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds of `count` buckets, each `factor` times the one before, rounded as Go's client rounds them."""
    return tuple(accumulate(repeat(factor, count - 1), lambda bound, by: bound * by, initial=start))


class Family:
    """One name with a series of numbers per label values.

    Args:
        name: the whole name, with prefix, and `_total` if it is a counter.
        text: what it says, in a sentence or two, stability level in front.
        labels: the label names. Label values are given in the same order everywhere.
    """

    __slots__ = ("labels", "name", "text")

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        self.name = name
        self.text = text
        self.labels = labels


class Counter(Family):
    """Numbers that only grow. A family without labels starts at 0."""

    __slots__ = ("_values",)

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        super().__init__(name, text, labels)
        self._values: dict[Labels, int] = {} if labels else {(): 0}

    def add(self, labels: Labels, amount: int = 1) -> None:
        """Add to one series, which is made when it is new."""
        self._values[labels] = self._values.get(labels, 0) + amount

    def values(self) -> Mapping[Labels, int]:
        """The number of each series, by its label values."""
        return self._values

    def total(self) -> int:
        """The sum of all series."""
        return sum(self.values().values())


class JointCounter(Counter):
    """A counter whose series are often incremented together; reading it assigns the increments to the series."""

    __slots__ = ("_joint",)

    def __init__(self, name: str, text: str, labels: Labels) -> None:
        super().__init__(name, text, labels)
        self._joint: dict[tuple[Labels, Labels], int] = {}

    def add_each(self, firsts: tuple[str, ...], others: Labels) -> None:
        """Add one to each series that has one of `firsts` as its first label value, and `others` behind it."""
        key = firsts, others
        self._joint[key] = self._joint.get(key, 0) + 1

    def values(self) -> Mapping[Labels, int]:
        """The number of each series, by its label values."""
        for (firsts, others), amount in self._joint.items():
            for first in firsts:
                self.add((first, *others), amount)
        self._joint.clear()
        return super().values()


class GaugeFunc(Family):
    """Numbers that go up and down, read from somewhere when they are wanted."""

    __slots__ = ("values",)

    def __init__(self, name: str, text: str, labels: Labels, read: Callable[[], Mapping[Labels, float]]) -> None:
        super().__init__(name, text, labels)
        self.values = read


class Gauge(Family):
    """Numbers that go up and down, kept here. A family without labels starts at 0."""

    __slots__ = ("_values",)

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        super().__init__(name, text, labels)
        self._values: dict[Labels, int] = {} if labels else {(): 0}

    def add(self, labels: Labels, change: int) -> None:
        """Move one series up or down; a new one begins at 0."""
        self._values[labels] = self._values.get(labels, 0) + change

    def values(self) -> Mapping[Labels, int]:
        """The number of each series, by its label values."""
        return self._values


class Histogram(Family):
    """Observations, counted in buckets. A family without labels starts at 0."""

    __slots__ = ("_bounds", "_cells", "_les")

    def __init__(self, name: str, text: str, labels: Labels = (), *, bounds: tuple[float, ...]) -> None:
        super().__init__(name, text, labels)
        self._bounds = bounds
        self._les = _les(bounds)
        self._cells: dict[Labels, _Cell] = {} if labels else {(): _Cell(len(self._les))}

    def observe(self, labels: Labels, value: float) -> None:
        """Count a value in one series, which is made when it is new. A value on a bound belongs below it."""
        cell = self._cells.get(labels)
        if cell is None:
            cell = self._cells[labels] = _Cell(len(self._les))
        cell.counts[bisect_left(self._bounds, value)] += 1
        cell.total += value

    def buckets(self) -> Mapping[Labels, tuple[list[tuple[str, int]], float]]:
        """By label values: how many observations lie at or below each bound (`le`), and the sum of all."""
        return {
            labels: (list(zip(self._les, accumulate(cell.counts), strict=True)), cell.total)
            for labels, cell in self._cells.items()
        }

    def counts(self) -> Mapping[Labels, int]:
        """The number of observations of each series."""
        return {labels: sum(cell.counts) for labels, cell in self._cells.items()}

    def sums(self) -> Mapping[Labels, float]:
        """The sum of each series' observations."""
        return {labels: cell.total for labels, cell in self._cells.items()}


@cache
def _les(bounds: tuple[float, ...]) -> Labels:
    """The values of the label `le`, which all engines and many families have in common."""
    return (*(repr(float(bound)).removesuffix(".0") for bound in bounds), "+Inf")


class _Cell:
    """Observations of one series: the count of each bucket alone, not cumulative, and the sum."""

    __slots__ = ("counts", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.total = 0.0
