"""The cost and the speed of a side, between the beginning and the end of what a workload measures.

`play` begins and ends a measurement where a workload of scheduler_perf does: around one operation that makes pods, or
between two operations. The pods that count are those that the workload names, by namespaces and labels.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Self

from bench.ledger import WrongRunError
from bench.measure import Reading, peak_bytes
from bench.scheduler_perf.attempts import Attempts, Buckets, between, buckets
from bench.scheduler_perf.operations import Selector
from bench.scheduler_perf.page import SidePages
from bench.scheduler_perf.pods import Key, PodWatch
from bench.trial import API_SERVER, ETCD

_METRICS = "/metrics"


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds from the answer to the creation of a pod until its binding is seen."""

    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, created: Mapping[Key, float], bound: Mapping[Key, float]) -> Self:
        """Of the pods that were bound, one at least. A watch may be faster than an answer."""
        seconds = [max(0.0, at - created.get(key, at)) for key, at in bound.items()]
        cuts = quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else seconds * 99
        return cls(cuts[49], cuts[89], cuts[98])


@dataclass(frozen=True, slots=True)
class Found:
    """What a side came to.

    Attributes:
        pods: how many were bound that are measured.
        pods_per_second: from the beginning of the measurement to the last binding.
        cpu_per_pod: CPU seconds of the side for each pod, from the beginning of the measurement to its end.
        server_cpu_per_pod: those of kube-apiserver and etcd.
        peak_bytes: the most memory that the side had, since its start.
        others_share: the part of the machine's CPUs that programs outside the benchmark used meanwhile.
        waits: from creation to binding.
        attempts: by result, what the side says of its attempts.
    """

    pods: int
    pods_per_second: float
    cpu_per_pod: float
    server_cpu_per_pod: float
    peak_bytes: int
    others_share: float
    waits: Waits
    attempts: Mapping[str, Attempts]


@dataclass(frozen=True, slots=True)
class _Beginning:
    namespaces: Sequence[str]
    selector: Selector
    at: float
    used: Reading
    attempts: Buckets


class Collector:
    """Measures one side while operations are played.

    Attributes:
        found: what was measured last.
    """

    def __init__(self, watch: PodWatch, pages: SidePages, side: str, pids: Mapping[str, int]) -> None:
        """`pids` are those of the side, under its name, and of the servers that it uses."""
        self.found: Found | None = None
        self._watch = watch
        self._pages = pages
        self._side = side
        self._pids = dict(pids)
        self._began: _Beginning | None = None

    async def start(self, namespaces: Sequence[str], selector: Selector) -> None:
        """Begin, for pods of these namespaces that have the labels. Raises as `SidePages.read` does."""
        attempts = buckets(await self._pages.read(_METRICS))
        self._began = _Beginning(namespaces, selector, time.monotonic(), Reading.of(self._pids), attempts)

    async def stop(self, created: Mapping[Key, float]) -> None:
        """End; `created` is when each pod was. Raises `WrongRunError` where nothing was bound, and as `start` does."""
        if (began := self._began) is None:
            raise WrongRunError("a measurement ends that did not begin")
        seconds, used = time.monotonic() - began.at, Reading.of(self._pids).since(began.used)
        attempts = between(began.attempts, buckets(await self._pages.read(_METRICS)))
        bound = self._bound(began)
        if not bound:
            raise WrongRunError("no pod was bound of those that are measured")
        servers = sum(used.processes[name] for name in (API_SERVER, ETCD))
        self.found = Found(
            pods=len(bound),
            pods_per_second=len(bound) / (max(bound.values()) - began.at),
            cpu_per_pod=used.processes[self._side] / len(bound),
            server_cpu_per_pod=servers / len(bound),
            peak_bytes=peak_bytes(self._pids[self._side]),
            others_share=used.others / (seconds * (os.cpu_count() or 1)),
            waits=Waits.of(created, bound),
            attempts=attempts,
        )

    def _bound(self, began: _Beginning) -> dict[Key, float]:
        return {
            key: seen.bound_at
            for key, seen in self._watch.bound.items()
            if seen.bound_at is not None
            and seen.bound_at > began.at
            and key[0] in began.namespaces
            and seen.has(began.selector)
        }
