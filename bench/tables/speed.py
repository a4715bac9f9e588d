"""Tables of the rates of drained backlogs: single pods, gangs, pods that depend on other pods, and native groups."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from bench.tables.block import Block
from bench.tables.markdown import MEBIBYTE, figure, ratio, table

BASELINE, SUBJECT, CEILING = "kube-scheduler", "muster", "ceiling"
COMPARED = "Muster / kube-scheduler"
Sides = Mapping[str, Any]
"""The results by side, as in `bench.report.document`."""
Runs = Mapping[str, Mapping[str, Any]]
"""Runs on the stand-in and their medians, by case."""

NO_QUOTAS, FIVE_QUOTAS, NAMESPACES_ALONE, MANY_QUOTAS = "no quotas", "5 quotas", "500 namespaces", "500 quotas"
"""The cases of `bench.quotas`."""


class _Row(NamedTuple):
    label: str
    value: Callable[[Sides], float]
    decimals: int
    compared: bool = True


_ROWS = (
    _Row("pods/s", lambda side: side["pods_per_second"], 0),
    _Row("CPU ms a pod (scheduler)", lambda side: 1e3 * side["cpu_per_pod"], 2),
    _Row("CPU ms a pod (API server and etcd)", lambda side: 1e3 * side["server_cpu_per_pod"], 2),
    _Row("peak memory, MiB", lambda side: side["peak_bytes"] / MEBIBYTE, 0),
    _Row("CPU used by other programs, %", lambda side: 1e2 * side["others_share"], 0, compared=False),
)

_SHAPES = {
    "anti-affinity by host": "required anti-affinity by host",
    "affinity by zone": "required affinity by zone",
    "spread over zones": "spread over zones, DoNotSchedule",
    "one volume": "one volume each",
    "one device": "one device each",
}
"""The titles of benchmarks whose name does not suffice."""


def sides_table(header: Sequence[str], sides: Sides, names: Sequence[str]) -> str:
    """A table with a column for each side, and the ratio of Muster to kube-scheduler."""
    rows = []
    for row in _ROWS:
        values = {name: row.value(sides[name]) for name in names}
        compared = ratio(values[SUBJECT], values[BASELINE]) if row.compared else ""
        rows.append([row.label, *(figure(value, row.decimals) for value in values.values()), compared])
    return table([*header, COMPARED], rows)


def rate(sides: Sides, name: str) -> float | None:
    """The rate in pods a second; None if the side failed."""
    return sides[name]["pods_per_second"] if name in sides else None


def _single_pods(sides: Sides) -> str:
    header = ["single pods", "kube-scheduler", "Muster", "ceiling"]
    return sides_table(header, sides, (BASELINE, SUBJECT, CEILING))


def _loop(data: Mapping[str, Mapping[str, float]]) -> str:
    found = data["median"]
    rows = [
        ["pods/s", figure(found["pods_per_second"])],
        ["CPU ms a pod", figure(1e3 * found["cpu_per_pod"], 2)],
        ["s from start to first binding", figure(found["start_seconds"], 1)],
    ]
    return table([f"{figure(found['pods'])} pods, median of {len(data['runs'])} runs", "Muster"], rows)


def relative(runs: Runs, case: str) -> float:
    """The rate of a case of `bench.quotas`, as a part of that without quotas; the median of all rounds.

    The two runs of a round are seconds apart, so what slows the whole machine for minutes counts for neither.
    """
    rounds = zip(runs[case]["runs"], runs[NO_QUOTAS]["runs"], strict=True)
    return median(float(run["pods_per_second"]) / float(beside["pods_per_second"]) for run, beside in rounds)


def _quotas(runs: Runs) -> str:
    labels = {
        NO_QUOTAS: "one namespace, no quota",
        FIVE_QUOTAS: "5 namespaces with quotas",
        NAMESPACES_ALONE: "500 namespaces, no quota",
        MANY_QUOTAS: "500 namespaces with quotas",
    }
    rows = []
    for case, label in labels.items():
        found = runs[case]["median"]
        rates = [figure(found["pods_per_second"]), figure(relative(runs, case), 2)]
        rows.append([label, *rates, figure(1e3 * found["cpu_per_pod"], 2)])
    first = runs[NO_QUOTAS]
    header = f"{figure(first['median']['pods'])} pods, medians of {len(first['runs'])} runs"
    return table([header, "pods/s", "relative to none", "CPU ms a pod"], rows)


def _latency(sides: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    rows = []
    for baseline, subject in zip(sides[BASELINE], sides[SUBJECT], strict=True):
        cells = [figure(1e3 * side[what]) for what in ("p50", "p99") for side in (baseline, subject)]
        rates = [figure(baseline["rate"]), figure(baseline["created"]), figure(subject["created"])]
        rows.append([*rates, *cells, ratio(subject["p99"], baseline["p99"])])
    sides_of = [f"{what}, {side}" for what in ("p50", "p99") for side in ("kube-scheduler", "Muster")]
    created = ["created, kube-scheduler", "created, Muster"]
    return table(["pods/s", *created, *(f"{each}, ms" for each in sides_of), f"p99, {COMPARED}"], rows)


def _gangs(data: Mapping[str, Any]) -> str:
    waits = data["arrivals"]
    header = ["gangs", "kube-scheduler, as many single pods", "Muster, gangs"]
    return (
        f"{sides_table(header, data['backlog'], (BASELINE, SUBJECT))}\n\n"
        "As many gangs again, created one after another: from the creation of a gang's last pod to its start"
        f" {figure(waits['p50'], 2)} s (median), {figure(waits['p99'], 2)} s (99th percentile)"
        f" and {figure(waits['longest'], 2)} s (longest)."
    )


def _shapes(data: Mapping[str, Sides]) -> str:
    plain = rate(data.get("plain", {}), SUBJECT)
    rows = []
    for name, sides in data.items():
        baseline, subject = rate(sides, BASELINE), rate(sides, SUBJECT)
        rates = [figure(baseline), figure(subject), ratio(subject, baseline), ratio(subject, plain)]
        rows.append([_SHAPES.get(name, name), figure(_pods(sides)), *rates])
    return table(["", "pods", "kube-scheduler, pods/s", "Muster, pods/s", COMPARED, "Muster / its plain pods"], rows)


def _pods(sides: Sides) -> float | None:
    return next((side["pods"] for side in sides.values()), None)


def _groups(native: Sides, racks: Mapping[str, Sides]) -> str:
    rows = [_rates("native gangs", native)]
    rows += [_rates(f"{gangs}, each in one rack", sides) for gangs, sides in racks.items()]
    longest = max(sides["longest_work_seconds"] for sides in racks.values())
    return (
        f"{table(['pods/s', 'kube-scheduler', 'Muster', COMPARED], rows)}\n\n"
        f"Meanwhile Muster's event loop was at work for at most {figure(1e3 * longest)} ms at a time."
    )


def _rates(label: str, sides: Sides) -> list[str]:
    baseline, subject = rate(sides, BASELINE), rate(sides, SUBJECT)
    return [label, figure(baseline), figure(subject), ratio(subject, baseline)]


SINGLE_PODS = Block(("drain",), _single_pods)
LOOP = Block(("loop",), _loop)
QUOTAS = Block(("quotas",), _quotas)
LATENCY = Block(("latency",), _latency)
GANGS = Block(("gangs",), _gangs)
SHAPES = Block(("shapes",), _shapes)
GROUPS = Block(("native", "topology"), _groups)
