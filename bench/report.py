"""The result of a benchmark, as a table for users and as JSON for programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from statistics import median
from typing import Any, NamedTuple

from rich.table import Table

from bench.trial import Result

_MEBIBYTE = 1 << 20


class _Row(NamedTuple):
    label: str
    value: Callable[[Result], float]
    decimals: int
    compared: bool = True


_NO_NUMBERS = ("side", "server_cpu_seconds")

_ROWS = (
    _Row("pods/s", lambda result: result.pods_per_second, 0),
    _Row("pods/s until the last Event", lambda result: result.pods / result.written_seconds, 0),
    _Row("CPU ms a pod", lambda result: 1e3 * result.cpu_per_pod, 2),
    _Row("  with its start", lambda result: 1e3 * result.total_cpu_seconds / result.pods, 2),
    _Row("API server CPU ms a pod", lambda result: 1e3 * result.server_cpu_per_pod, 2),
    _Row("  together", lambda result: 1e3 * result.all_cpu_per_pod, 2),
    _Row("peak memory, MiB", lambda result: result.peak_bytes / _MEBIBYTE, 0),
    _Row("s from start to first binding", lambda result: result.start_seconds, 1),
    _Row("machine used by others, %", lambda result: 1e2 * result.others_share, 0, compared=False),
)


def table(title: str, results: Sequence[Result], *, subject: str, baseline: str) -> Table:
    """A table with a column for each side, and with the ratio of side `subject` to side `baseline` if both ran."""
    found = Table(title=title, title_justify="left")
    found.add_column(no_wrap=True)
    by_side = {result.side: result for result in results}
    compared = subject in by_side and baseline in by_side
    for side in by_side:
        found.add_column(side, justify="right")
    if compared:
        found.add_column(f"{subject} / {baseline}", justify="right")
    for row in _ROWS:
        cells = [f"{row.value(result):,.{row.decimals}f}" for result in results]
        if compared:
            below = row.value(by_side[baseline])
            cells.append(f"{row.value(by_side[subject]) / below:.2f}" if below and row.compared else "")
        found.add_row(row.label, *cells)
    return found


def median_result(runs: Sequence[Result]) -> Result:
    """The median of each figure over the runs of one side."""
    figures = [asdict(run) for run in runs]
    servers = {
        name: median(each["server_cpu_seconds"][name] for each in figures) for name in runs[0].server_cpu_seconds
    }
    numbers = {name: median(each[name] for each in figures) for name in figures[0] if name not in _NO_NUMBERS}
    return replace(runs[0], server_cpu_seconds=servers, **numbers)


def median_document(runs: Sequence[Sequence[Result]]) -> dict[str, Mapping[str, Any]]:
    """The `document` of each side's median run, with the rates of all runs as `rates`.

    Each of `runs` has one result for every side.
    """
    sides = [list(results) for results in zip(*runs, strict=True)]
    rates = {results[0].side: [each.pods_per_second for each in results] for results in sides}
    found = document([median_result(results) for results in sides])
    return {side: {**figures, "rates": rates[side]} for side, figures in found.items()}


def document(results: Sequence[Result]) -> dict[str, Mapping[str, Any]]:
    """The measured and the derived figures, by side."""
    return {
        result.side: asdict(result)
        | {
            "pods_per_second": result.pods_per_second,
            "cpu_per_pod": result.cpu_per_pod,
            "server_cpu_per_pod": result.server_cpu_per_pod,
            "all_cpu_per_pod": result.all_cpu_per_pod,
        }
        for result in results
    }
