"""Families as the text that a scraper reads, in blocks of a few milliseconds, served between scheduling cycles.

The format is 0.0.4 whatever the scraper prefers: kube-scheduler offers no other, and bucket bounds (`le="1"`) stay
comparable with its series.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from muster.framework.metrics import Counter, Family, Gauge, GaugeFunc, Histogram

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_LINES_A_BLOCK = 400
_HEADER_LINES = 2


class Metrics(Protocol):
    """A source of families."""

    def families(self) -> Iterable[Family]:
        """Every family, in the order in which a scrape shows them."""


def registry_of(*metrics: Metrics) -> CollectorRegistry:
    """A new registry with these metrics and the process's CPU, memory and file descriptors."""
    registry = CollectorRegistry()
    for each in metrics:
        registry.register(_Exposed(each))
    ProcessCollector(registry=registry)
    return registry


def blocks(registry: CollectorRegistry) -> Iterator[bytes]:
    """The registry as text, in blocks of some hundred lines. The numbers of a family are read when it is written."""
    for family in registry.collect():
        for start in range(0, len(family.samples), _LINES_A_BLOCK):
            text = generate_latest(_Part(family, start))
            yield text.split(b"\n", _HEADER_LINES)[-1] if start else text


class _Exposed:
    """The collector of prometheus-client's registry: all families with series."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for family in self._metrics.families():
            metric = _metric_of(family)
            if metric.samples:
                yield metric


def _metric_of(family: Family) -> Metric:
    match family:
        case Histogram():
            histogram = HistogramMetricFamily(family.name, family.text, labels=family.labels)
            for labels, (buckets, total) in family.buckets().items():
                histogram.add_metric(labels, buckets, total)
            return histogram
        case Counter():
            counter = CounterMetricFamily(family.name, family.text, labels=family.labels)
            for labels, value in family.values().items():
                counter.add_metric(labels, value)
            return counter
        case Gauge() | GaugeFunc():
            gauge = GaugeMetricFamily(family.name, family.text, labels=family.labels)
            for labels, reading in family.values().items():
                gauge.add_metric(labels, reading)
            return gauge
    raise TypeError(f"{family.name} is of no kind that can be shown")


class _Part:
    """A registry for `generate_latest` that has a part of one family."""

    def __init__(self, family: Metric, start: int) -> None:
        self._part = Metric(family.name, family.documentation, family.type)
        self._part.samples = family.samples[start : start + _LINES_A_BLOCK]

    def collect(self) -> Iterable[Metric]:
        return (self._part,)
