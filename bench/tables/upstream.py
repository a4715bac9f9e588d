"""The workloads of kube-scheduler's own benchmark, played against both sides: rates and costs, and times to wait.

`bench.upstream` measures them. Every workload that was played has a row, and what failed or was left out is said.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench.tables.block import Block
from bench.tables.markdown import MEBIBYTE, NONE, figure, ratio, table
from bench.tables.speed import BASELINE, COMPARED, SUBJECT

_SIDES = ((BASELINE, "kube-scheduler"), (SUBJECT, "Muster"))
_PERCENTILES = ("p50", "p90", "p99")
_SCHEDULED = "scheduled"
_SCALED_MARK = " \N{DAGGER}"
_REPEATED_MARK = " \N{DOUBLE DAGGER}"
_WHOLE_FROM_SECONDS = 0.1
"""From here on a tenth of a millisecond says nothing."""
Row = Mapping[str, Any]
"""A workload, with what the sides came to under `sides`."""


def _upstream(data: Mapping[str, Any]) -> str:
    rows: Sequence[Row] = data["workloads"]
    parts = [
        _summary(rows),
        _rates(rows),
        f"{_SCALED_MARK.strip()} Played with {1e2 * data['factor']:.0f} % of its nodes, pods, groups and so on.",
        *_repeated(rows),
        "From the creation of a pod to its binding, ms:",
        _times(rows, "waits"),
        "Attempts that scheduled a pod, as each side's own metric has them, ms:",
        _times(rows, "attempts"),
    ]
    if failed := [f"- {side}, {row['workload']}: {_first(text)}" for row in rows for side, text in _failures(row)]:
        parts += ["Failed:", "\n".join(failed)]
    left_out = [f"- {each['case']}: {each['reason']}" for each in data["left_out"]]
    return "\n\n".join([*parts, "Left out:", "\n".join(left_out)])


def _summary(rows: Sequence[Row]) -> str:
    ratios = [times for row in rows if (times := _compared(row)) is not None]
    if not ratios:
        return "No workload was played to its end by both sides."
    slower = sum(times < 1 for times in ratios)
    later = sum(_is_later(row) for row in rows)
    others = max(side["others_share"] for row in rows for side in row["sides"].values())
    return (
        f"In the median workload Muster has {ratio(median(ratios), 1)} times kube-scheduler's rate; in {slower} of"
        f" {len(ratios)} it has less. The 99th percentile from creation to binding is longer with Muster in {later}."
        f" Other programs used at most {1e2 * others:.0f} % of the machine at a time."
    )


def _repeated(rows: Sequence[Row]) -> list[str]:
    mark, plays = _REPEATED_MARK.strip(), {row["plays"] for row in rows} - {1}
    return [f"{mark} Played {each} times; the run of each side with the median rate." for each in sorted(plays)]


def _rates(rows: Sequence[Row]) -> str:
    header = ["workload", "pods"]
    header += [f"pods/s, {side}" for _, side in _SIDES]
    header += [COMPARED]
    header += [f"{what}, {side}" for what in ("CPU ms a pod", "MiB") for _, side in _SIDES]
    return table(header, [_rate(row) for row in rows])


def _rate(row: Row) -> list[str]:
    both = [row["sides"].get(name) for name, _ in _SIDES]
    pods = next((each["pods"] for each in both if each is not None), None)
    rates = [each and each["pods_per_second"] for each in both]
    return [
        row["workload"] + (_SCALED_MARK if row["scaled"] else "") + (_REPEATED_MARK if row["plays"] > 1 else ""),
        figure(pods),
        *map(figure, rates),
        ratio(rates[1], rates[0]),
        *(figure(each and 1e3 * each["cpu_per_pod"], 2) for each in both),
        *(figure(each and each["peak_bytes"] / MEBIBYTE) for each in both),
    ]


def _times(rows: Sequence[Row], what: str) -> str:
    header = ["workload", *(f"{percentile}, {side}" for percentile in _PERCENTILES for _, side in _SIDES)]
    return table(header, [[row["workload"], *_percentiles(row, what)] for row in rows])


def _percentiles(row: Row, what: str) -> list[str]:
    both = [_found(row["sides"].get(name), what) for name, _ in _SIDES]
    return [_milliseconds(each.get(percentile)) for percentile in _PERCENTILES for each in both]


def _found(side: Row | None, what: str) -> Row:
    """The percentiles of a side; of attempts those that scheduled a pod."""
    found: Row = {} if side is None else side[what]
    return found.get(_SCHEDULED, {}) if what == "attempts" else found


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    return figure(1e3 * seconds, 0 if seconds >= _WHOLE_FROM_SECONDS else 1)


def _compared(row: Row) -> float | None:
    theirs, ours = (row["sides"].get(name) for name, _ in _SIDES)
    if theirs is None or ours is None:
        return None
    times: float = ours["pods_per_second"] / theirs["pods_per_second"]
    return times


def _is_later(row: Row) -> bool:
    theirs, ours = (row["sides"].get(name) for name, _ in _SIDES)
    return theirs is not None and ours is not None and bool(ours["waits"]["p99"] > theirs["waits"]["p99"])


def _failures(row: Row) -> Sequence[tuple[str, str]]:
    return [(side, row["failures"][name]) for name, side in _SIDES if name in row["failures"]]


def _first(text: str) -> str:
    return text.partition("\n")[0]


UPSTREAM = Block(("upstream",), _upstream)
