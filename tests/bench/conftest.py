"""Fixtures for tests of the benchmarks: a result to report, and a display that shows nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.progress import Advance, Display
from bench.trial import Result


class _Nothing:
    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        yield lambda count: None


@pytest.fixture
def display() -> Display:
    """Shows nothing."""
    return _Nothing()


@pytest.fixture
def result() -> Result:
    """1,001 pods in ten seconds, three milliseconds of CPU each."""
    return Result(
        side="muster",
        pods=1001,
        start_seconds=1.5,
        bound_seconds=10.0,
        written_seconds=11.0,
        cpu_seconds=1.001,
        total_cpu_seconds=2.002,
        server_cpu_seconds={"kube-apiserver": 1.5, "etcd": 0.502},
        peak_bytes=100 << 20,
        others_share=0.25,
    )
