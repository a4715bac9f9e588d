"""From families to the text a scraper reads, in blocks of a few milliseconds, to be served between scheduling cycles.

Text is format 0.0.4 whatever the scraper prefers: kube-scheduler offers nothing else, and bucket bounds (`le="1"`) stay
comparable with its series.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_LINES_A_BLOCK = 400
_HEADER_LINES = 2


def registry_of(*collectors: Collector) -> CollectorRegistry:
    """A registry of its own with these collectors and the process's CPU, memory and file descriptors."""
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    ProcessCollector(registry=registry)
    return registry


def blocks(registry: CollectorRegistry) -> Iterator[bytes]:
    """The registry as text, some hundred lines a block. A family's numbers are those of the moment it is come to."""
    for family in registry.collect():
        for start in range(0, len(family.samples), _LINES_A_BLOCK):
            text = generate_latest(_Part(family, start))
            yield text.split(b"\n", _HEADER_LINES)[-1] if start else text


class _Part:
    """What `generate_latest` takes for a registry, with a part of one family in it."""

    def __init__(self, family: Metric, start: int) -> None:
        self._part = Metric(family.name, family.documentation, family.type)
        self._part.samples = family.samples[start : start + _LINES_A_BLOCK]

    def collect(self) -> Iterable[Metric]:
        return (self._part,)
