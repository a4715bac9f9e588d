"""Metrics of the process besides its engine: requests to the API server, under client-go's names, and the event loop.

The transport reports every request, the writers every write, and the watchdog every block of the loop. Muster has no
numbers for client-go's other families (rate limiter, sizes, certificates), and `workqueue_*` counts queues that it does
not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muster.framework.metrics import Counter, Family, GaugeFunc, Histogram

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_LOOP = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class ProcessMetrics:
    """The families of one process.

    Args:
        host: the API server's host, as a label.
        build: the labels of `kubernetes_build_info`.
    """

    def __init__(self, host: str, build: Mapping[str, str]) -> None:
        self._host = host
        self._requests = Counter(
            "rest_client_requests_total",
            "[ALPHA] Requests to the API server, by the code of the answer; '<error>' without an answer.",
            ("code", "method", "host"),
        )
        self._seconds = Histogram(
            "rest_client_request_duration_seconds",
            "[ALPHA] Duration until the API server answered; of a watch, until it began.",
            ("verb", "host"),
            bounds=_SECONDS,
        )
        self._writes = Counter(
            "muster_api_writes_total",
            "[ALPHA] Writes that were sent to the API server: bindings, Events, statuses.",
            ("verb", "resource"),
        )
        self._loop_blocked = Histogram(
            "muster_event_loop_blocked_seconds",
            "[ALPHA] Time for which the event loop, on which everything runs, did not turn.",
            bounds=_LOOP,
        )
        self._loop_worked = Histogram(
            "muster_event_loop_worked_seconds",
            "[ALPHA] Upper limit of the CPU time of the event loop's thread while the loop did not turn.",
            bounds=_LOOP,
        )
        self._build = GaugeFunc(
            "kubernetes_build_info",
            "[BETA] 1, with the versions of Muster and of its platform.",
            tuple(build),
            lambda: {tuple(build.values()): 1},
        )

    def families(self) -> Iterator[Family]:
        """Every family, in the order in which a scrape shows them."""
        yield from (self._requests, self._seconds, self._writes, self._loop_blocked, self._loop_worked, self._build)

    def answered(self, method: str, code: str, seconds: float) -> None:
        """Count a request and its duration."""
        self._requests.add((code, method, self._host))
        self._seconds.observe((method, self._host), seconds)

    def written(self, verb: str, resource: str) -> None:
        """Count a write to the API server, such as `POST`, `pods/binding`."""
        self._writes.add((verb, resource))

    def loop_blocked(self, seconds: float, at_work: float) -> None:
        """The event loop turned again after so many seconds, at work for at most so many of them."""
        self._loop_blocked.observe((), seconds)
        self._loop_worked.observe((), at_work)
