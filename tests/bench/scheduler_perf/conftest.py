"""Fixtures of these tests: scheduler_perf itself, and a workload to change."""

from pathlib import Path

import pytest

from bench.scheduler_perf.configuration import Workload, read, source


@pytest.fixture(scope="session")
def scheduler_perf() -> Path:
    """The folder of scheduler_perf in the Go module of Kubernetes."""
    return source()


@pytest.fixture(scope="session")
def workloads(scheduler_perf: Path) -> list[Workload]:
    """All of its workloads."""
    return list(read(scheduler_perf))


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    """A workload without operations."""
    return Workload(
        topic="misc", case="Case", name="small", folder=tmp_path, gates={}, parameters={"nodes": 5}, operations=()
    )
