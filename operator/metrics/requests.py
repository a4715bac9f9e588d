"""What the process asks of the API server, under client-go's names, and which build asks.

The transport tells of every request. Of client-go's other families (rate limiter, sizes, certificates) Muster has no
numbers, and `workqueue_*` counts queues that it does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from .series import Counter, Histogram, Reading

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class RequestMetrics:
    """The `rest_client_*` families, and `kubernetes_build_info`.

    Args:
        host: the API server's, as the series name it.
        build: the labels of `kubernetes_build_info`.
    """

    def __init__(self, host: str, build: Mapping[str, str]) -> None:
        self._host = host
        self._requests = Counter(
            "rest_client_requests_total",
            "[ALPHA] Requests to the API server, by the answer's code; '<error>' where none came.",
            ("code", "method", "host"),
        )
        self._seconds = Histogram(
            "rest_client_request_duration_seconds",
            "[ALPHA] How long the API server took to answer; of a watch, until it began.",
            ("verb", "host"),
            bounds=_SECONDS,
        )
        self._build = Reading(
            "kubernetes_build_info",
            "[BETA] 1, with the version of Muster and what it runs on.",
            tuple(build),
            lambda: {tuple(build.values()): 1},
        )

    def answered(self, method: str, code: str, seconds: float) -> None:
        """A request was answered, or failed, after so many seconds."""
        self._requests.add((code, method, self._host))
        self._seconds.observe((method, self._host), seconds)

    def collect(self) -> Iterator[Metric]:
        """Every family that has series; called by a prometheus-client registry at a scrape."""
        for family in (self._requests, self._seconds, self._build):
            yield from family.collect()
