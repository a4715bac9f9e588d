"""The page of the last day: charts of waiting times, of the queue's length and of the used capacity.

A chart has a line for each quantity. A line connects the highest values of short spans of time, and is interrupted
where no samples were taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from muster.framework.model.times import human_duration

from ..samples import DAY_SECONDS, GAP_SECONDS, QueueSample

_SHORTEST_SECONDS = 3600.0
"""The least time that a chart covers, also if the history is shorter."""
_SPANS = 360
_WIDTH, _HEIGHT = 720, 120
_TICKS = 4
_HUNDRED = 100

Value = Callable[[QueueSample], float | None]
Words = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line: its name, its SVG path ("" without values), and its latest and highest value as texts."""

    name: str
    path: str
    latest: str
    highest: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart; `top` is the value at its upper edge, as a text."""

    title: str
    top: str
    lines: Sequence[ChartLine]
    width: int = _WIDTH
    height: int = _HEIGHT


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """The contents of the page.

    Attributes:
        span: the time that the charts cover, as a text.
        ticks: positions on the time axis, each with its distance from now as a text.
        gaps: the number of interruptions in the span.
    """

    span: str
    ticks: Sequence[tuple[int, str]]
    gaps: int
    charts: Sequence[Chart]


def history_page(samples: Sequence[QueueSample], now: float) -> HistoryPage:
    """Compute the page from the samples; `now` is in seconds since the epoch."""
    drawn = [each for each in samples if now - DAY_SECONDS <= each.wall <= now]
    age = now - drawn[0].wall if drawn else 0.0
    window = _Window(now, max(_SHORTEST_SECONDS, age))
    resources = dict.fromkeys(name for each in drawn for name in each.used)
    return HistoryPage(
        span=human_duration(window.seconds),
        ticks=[
            (_WIDTH * at // _TICKS, f"{human_duration(window.seconds * (_TICKS - at) / _TICKS)} ago")
            for at in range(_TICKS)
        ],
        gaps=sum(1 for one, other in pairwise(drawn) if other.wall - one.wall > GAP_SECONDS),
        charts=[
            window.chart(
                "Waiting time",
                [("longest", lambda each: each.longest), ("median", lambda each: each.median)],
                drawn,
                human_duration,
            ),
            window.chart(
                "Queue length",
                [("pods", lambda each: float(each.pods)), ("groups", lambda each: float(each.groups))],
                drawn,
                lambda value: f"{value:.0f}",
            ),
            window.chart(
                "Used capacity",
                [(name, _share_of(name)) for name in resources],
                drawn,
                lambda value: f"{value:.0f} %",
                full=_HUNDRED,
            ),
        ],
    )


def _share_of(resource: str) -> Value:
    """A function that returns the used share of a resource, in percent."""

    def value(sample: QueueSample) -> float | None:
        share = sample.used.get(resource)
        return None if share is None else _HUNDRED * share

    return value


@dataclass(frozen=True, slots=True)
class _Window:
    """The time that the charts cover: `seconds` seconds until `now`."""

    now: float
    seconds: float

    def chart(
        self,
        title: str,
        values: Iterable[tuple[str, Value]],
        samples: Sequence[QueueSample],
        words: Words,
        *,
        full: float = 0.0,
    ) -> Chart:
        """A chart whose upper edge is the highest of its values, or `full` if that is higher."""
        found = {name: self._points(value, samples) for name, value in values}
        highest = {name: max((point.value for point in points), default=0.0) for name, points in found.items()}
        top = max(full, 1.0, *highest.values())
        return Chart(
            title,
            words(top),
            [
                ChartLine(name, _path(points, top), words(points[-1].value) if points else "", words(highest[name]))
                for name, points in found.items()
            ],
        )

    def _points(self, value: Value, samples: Sequence[QueueSample]) -> list[_Point]:
        """The highest value of each span of time."""
        points: list[_Point] = []
        last, span = 0.0, -1
        for sample in samples:
            found = value(sample)
            if found is None:
                continue
            at = min(int(_SPANS * (1.0 - (self.now - sample.wall) / self.seconds)), _SPANS - 1)
            if at == span:
                points[-1].value = max(points[-1].value, found)
            else:
                x = round(_WIDTH * (at + 0.5) / _SPANS)
                points.append(_Point(x, found, begins=not points or sample.wall - last > GAP_SECONDS))
            last, span = sample.wall, at
        return points


@dataclass(slots=True)
class _Point:
    """A point of a line; `begins`: whether the line begins here, unconnected to the previous point."""

    x: int
    value: float
    begins: bool


def _path(points: Sequence[_Point], top: float) -> str:
    """The SVG path through the points. A point without a connection is drawn as a dot."""
    parts: list[str] = []
    for point, following in zip(points, [*points[1:], None], strict=False):
        y = round(_HEIGHT * (1.0 - point.value / top), 1)
        parts.append(f"{'M' if point.begins else 'L'}{point.x} {y:g}")
        if point.begins and (following is None or following.begins):
            parts.append("h0")
    return "".join(parts)
