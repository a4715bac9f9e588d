"""Muster drains a backlog on the stand-in, and a side that fails is told with its log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import loop
from bench.failures import StalledError
from bench.progress import Advance


class _Unseen:
    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        yield lambda count: None


@pytest.mark.slow
def test_all_pods_are_bound_and_reported_on_the_stand_in() -> None:
    found = loop.run(20, 40, _Unseen())

    assert found.pods == 40
    assert min(found.pods_per_second, found.start_seconds) > 0


def test_a_side_that_ends_is_told_with_the_end_of_musters_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def ended(folder: Path, nodes: int, pods: int) -> Iterator[tuple[SimpleNamespace, SimpleNamespace]]:
        (folder / loop.API).write_text("")
        (folder / loop.MUSTER).write_text("the operator cannot go on")
        yield SimpleNamespace(is_running=True), SimpleNamespace(is_running=False, pid=1)

    monkeypatch.setattr(loop, "servers", ended)
    with pytest.raises(StalledError, match="the operator cannot go on"):
        loop.run(1, 2, _Unseen())


def test_the_median_is_taken_of_each_figure() -> None:
    runs = [loop.Drained(10, rate, cpu, 1.0) for rate, cpu in ((700.0, 0.003), (900.0, 0.001), (800.0, 0.002))]

    found = loop.document(runs)

    assert found["median"] == {"pods": 10, "pods_per_second": 800.0, "cpu_per_pod": 0.002, "start_seconds": 1.0}
    assert len(found["runs"]) == 3
