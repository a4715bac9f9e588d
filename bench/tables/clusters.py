"""The costs of full and large clusters: many running pods and nodes, backlogs, preemption, events, large gangs."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.tables.block import Block
from bench.tables.markdown import MEBIBYTE, figure, ratio, table
from bench.tables.speed import BASELINE, COMPARED, SUBJECT, Sides

Found = Mapping[str, Any]
"""The result of a side, with its name as `side`."""


def _running(data: Mapping[str, Sides]) -> str:
    header = ["running pods", "", "pods/s", "CPU ms a pod", "peak memory, MiB", "s from start to first binding"]
    rows = []
    for running, sides in data.items():
        first = figure(float(running))
        for name, label in ((BASELINE, "kube-scheduler"), (SUBJECT, "Muster")):
            rows.append([first, label, *_cost(sides.get(name))])
            first = ""
    return table(header, rows, texts=2)


def _cost(side: Found | None) -> list[str]:
    if side is None:
        return ["failed", "", "", ""]
    return [
        figure(side["pods_per_second"]),
        figure(1e3 * side["cpu_per_pod"], 2),
        figure(side["peak_bytes"] / MEBIBYTE),
        figure(side["start_seconds"], 1),
    ]


def _full(backlog: Mapping[str, Sequence[Found]], preemption: Mapping[str, Sequence[Found]]) -> str:
    rows = []
    for situation, found in backlog.items():
        sides = _by_side(found)
        rows += [
            _row(f"{situation}: CPU s", _values(sides, "cpu_seconds"), 1, compared=True),
            _row("until a freed node has a pod, 99th percentile, s", _values(sides, "idle_p99"), 3),
            _row("API writes for each pod that is bound", _values(sides, "writes_per_pod"), 1),
            _row("waiting pods that name a new taint after 30 s, %", _told(sides), 0),
            _row("status writes for each of them", _values(sides, "statuses_per_change"), 2),
        ]
    sides = _by_side(preemption["pods"])
    costs = [1e3 * sides[name]["cpu_seconds"] / sides[name]["pods"] for name in (BASELINE, SUBJECT)]
    rows += [
        _row("pods that preempt: pods/s", _values(sides, "pods_per_second"), 0, compared=True),
        _row("CPU ms a pod", costs, 2, compared=True),
    ]
    return table(["", "kube-scheduler", "Muster", COMPARED], rows)


def _by_side(found: Sequence[Found]) -> Mapping[str, Found]:
    return {each["side"]: each for each in found}


def _values(sides: Mapping[str, Found], key: str) -> list[float]:
    return [sides[name][key] for name in (BASELINE, SUBJECT)]


def _told(sides: Mapping[str, Found]) -> list[float | None]:
    """The percentage of waiting pods that name the new reason in time."""
    pairs = zip(_values(sides, "told"), _values(sides, "changed"), strict=True)
    return [1e2 * told / changed if changed else None for told, changed in pairs]


def _row(label: str, values: Sequence[float | None], decimals: int, *, compared: bool = False) -> list[str]:
    baseline, subject = values
    times = ratio(subject, baseline) if compared else ""
    return [label, figure(baseline, decimals), figure(subject, decimals), times]


def _storm(data: Mapping[str, Found]) -> str:
    found = calm, storm = data["calm"], data["storm"]
    rows = [
        ["plain pods/s", *(figure(each["pods_per_second"]) for each in found)],
        ["share of the rate in the calm", "", ratio(storm["pods_per_second"], calm["pods_per_second"])],
        ["s until a plain pod is bound, 99th percentile", *(figure(each["bound_p99"], 3) for each in found)],
        ["attempts in vain", *(figure(each["in_vain"]) for each in found)],
        ["events/s", *(figure(each["events_per_second"]) for each in found)],
    ]
    return table(["", *(f"{figure(each['waiting'])} pods fit nowhere" for each in found)], rows)


def _vast(data: Mapping[str, Found]) -> str:
    header = ["nodes", "running pods", "pods/s", "CPU ms a pod", "peak memory, MiB", "s from start to first binding"]
    rows = [
        [figure(float(nodes)), figure(cluster["running"]), *_cost(cluster["median"])] for nodes, cluster in data.items()
    ]
    clusters = [*data.values()]
    first, last = clusters[0], clusters[-1]
    share = ratio(last["median"]["pods_per_second"], first["median"]["pods_per_second"])
    return (
        f"{table(header, rows, texts=0)}\n\n"
        f"{figure(first['median']['pods'])} pods in the backlog, medians of {len(first['runs'])} runs."
        f" The last row has {share} of the rate of the first."
    )


def _beside(data: Mapping[str, Any]) -> str:
    header = ["plain pods that arrive", "", "pods", "p50, ms", "p99, ms", "longest, ms"]
    sides = [(label, data["sides"].get(name)) for name, label in ((BASELINE, "kube-scheduler"), (SUBJECT, "Muster"))]
    rows = []
    for stretch, when in (
        ("calm", "before the gang"),
        ("deciding", "until its first member is bound"),
        ("binding", "until its last member is bound"),
    ):
        first = when
        for label, side in sides:
            rows.append([first, label, *(_waits(side[stretch]) if side is not None else ["failed", "", "", ""])])
            first = ""
    took = [
        f"{label} bound the first of its {figure(data['size'])} members {figure(side['decided_seconds'], 2)} s after"
        f" the last one was created, and all of them after {figure(side['started_seconds'], 2)} s."
        for label, side in sides
        if side is not None
    ]
    return "\n\n".join([table(header, rows, texts=2), " ".join(took)])


def _waits(stretch: Found) -> list[str]:
    waits = stretch["waits"] or {}
    return [figure(stretch["pods"]), *(_milliseconds(waits.get(what)) for what in ("p50", "p99", "longest"))]


def _milliseconds(seconds: float | None) -> str:
    return figure(None if seconds is None else 1e3 * seconds)


RUNNING = Block(("crowd",), _running)
FULL = Block(("backlog", "preemption"), _full)
STORM = Block(("storm",), _storm)
VAST = Block(("vast",), _vast)
BESIDE = Block(("beside",), _beside)
