"""The table of goals: figures of several benchmarks, each beside its goal.

A row is missed if its figure is worse than its goal; the table says so, and never leaves a row out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench.tables.block import Block
from bench.tables.clusters import Found
from bench.tables.markdown import MEBIBYTE, NONE, figure, table
from bench.tables.speed import BASELINE, CEILING, COMPARED, FIVE_QUOTAS, MANY_QUOTAS, SUBJECT, Runs, Sides, relative

_RATIO_DECIMALS = 2


class _Goal(NamedTuple):
    """A row: both sides' figures, and the goal for `judged`, a lower bound unless `most`."""

    label: str
    baseline: float | None
    subject: float | None
    judged: float | None
    goal: float
    decimals: int = 0
    most: bool = False
    as_ratio: bool = False

    def cells(self) -> list[str]:
        """The cells of the row."""
        sign, decimals = "≤" if self.most else "≥", _RATIO_DECIMALS if self.as_ratio else self.decimals
        wanted = f"{sign} {self.goal:,.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{sign} {self.goal:,.0f}"
        compared = None if not self.baseline or self.subject is None else self.subject / self.baseline
        return [
            self.label,
            figure(self.baseline, self.decimals),
            figure(self.subject, self.decimals),
            figure(compared, _RATIO_DECIMALS),
            f"{wanted} times" if self.as_ratio else f"Muster {wanted}",
            self.verdict,
        ]

    @property
    def verdict(self) -> str:
        """Whether the goal is met, if the figure was measured."""
        if self.judged is None:
            return NONE
        return "yes" if (self.judged <= self.goal if self.most else self.judged >= self.goal) else "missed"


def _times(label: str, baseline: float, subject: float, goal: float, *, decimals: int = 0, most: bool = False) -> _Goal:
    """A row whose goal is a ratio: Muster's figure divided by the other side's."""
    return _Goal(label, baseline, subject, subject / baseline, goal, decimals, most, as_ratio=True)


def _most(label: str, baseline: float | None, subject: float, goal: float, decimals: int = 0) -> _Goal:
    """A row whose goal is an upper bound of Muster's figure."""
    return _Goal(label, baseline, subject, subject, goal, decimals, most=True)


def _goals(
    drain: Sides,
    loop: Mapping[str, Any],
    latency: Mapping[str, Sequence[Found]],
    native: Sides,
    crowd: Mapping[str, Sides],
    topology: Mapping[str, Mapping[str, Any]],
    beside: Mapping[str, Any],
    vast: Mapping[str, Mapping[str, Any]],
    quotas: Runs | None,
) -> str:
    rows = [
        *_of_pods(drain, loop),
        *_of_quotas(quotas),
        *_of_arrivals(latency),
        *_of_gangs(native, topology, beside),
        *_of_size(crowd, vast),
    ]
    header = ["", "kube-scheduler", "Muster", COMPARED, "goal", "met"]
    return table(header, [row.cells() for row in rows])


def _of_pods(drain: Sides, loop: Mapping[str, Any]) -> Iterator[_Goal]:
    ours, theirs, bound = (drain[name] for name in (SUBJECT, BASELINE, CEILING))
    yield _times("plain pods/s", theirs["pods_per_second"], ours["pods_per_second"], 2.2)
    share = ours["pods_per_second"] / bound["pods_per_second"]
    yield _Goal("plain pods/s, relative to a client that only writes Bindings and Events", None, share, share, 0.9, 2)
    yield _most("CPU ms a plain pod", 1e3 * theirs["cpu_per_pod"], 1e3 * ours["cpu_per_pod"], 0.7, 2)
    rate = loop["median"]["pods_per_second"]
    yield _Goal("pods/s with a stub API server", None, rate, rate, 1500)


def _of_quotas(quotas: Runs | None) -> Iterator[_Goal]:
    cases = ((FIVE_QUOTAS, "5 ElasticQuotas", 0.95), (MANY_QUOTAS, "500 namespaces with ElasticQuotas", 0.9))
    for case, label, goal in cases:
        share = None if quotas is None else relative(quotas, case)
        yield _Goal(f"plain pods/s with {label}, relative to none", None, share, share, goal, 2)


def _of_arrivals(latency: Mapping[str, Sequence[Found]]) -> Iterator[_Goal]:
    for theirs, ours in zip(latency[BASELINE], latency[SUBJECT], strict=True):
        for what in ("p50", "p99"):
            label = f"{what} from creation to Binding at {figure(theirs['rate'])} pods/s, ms"
            yield _times(label, 1e3 * theirs[what], 1e3 * ours[what], 1.0, most=True)


def _of_gangs(native: Sides, topology: Mapping[str, Mapping[str, Any]], beside: Mapping[str, Any]) -> Iterator[_Goal]:
    yield _times(
        "native gangs of 30, pods/s", native[BASELINE]["pods_per_second"], native[SUBJECT]["pods_per_second"], 2.5
    )
    longest = max(sides["longest_hold_seconds"] for sides in topology.values())
    within = min(sides["held_within_20_ms"] for sides in topology.values())
    yield _most("longest blocking of the event loop, ms", None, 1e3 * longest, 50)
    yield _Goal("steps of the event loop within 20 ms, %", None, 1e2 * within, 1e2 * within, 99.9, 2)
    sides = beside["sides"]
    waits = {name: (sides.get(name) or {}).get("deciding", {}).get("waits") for name in (BASELINE, SUBJECT)}
    theirs, ours = (None if each is None else each["longest"] for each in waits.values())
    label = f"longest wait of a plain pod while a gang of {figure(beside['size'])} is decided, s"
    yield _Goal(label, theirs, ours, ours, 0.1, 2, most=True)


def _of_size(crowd: Mapping[str, Sides], vast: Mapping[str, Mapping[str, Any]]) -> Iterator[_Goal]:
    for running, goal in (("0", 0.7), ("100000", 6.0)):
        theirs, ours = (crowd[running][name]["start_seconds"] for name in (BASELINE, SUBJECT))
        yield _most(f"first Binding after start, {figure(float(running))} running pods, s", theirs, ours, goal, 1)
    nodes, largest = max(vast.items(), key=lambda each: int(each[0]))
    found, small = largest["median"], min(vast.items(), key=lambda each: int(each[0]))[1]["median"]
    size = f"{figure(float(nodes))} nodes, {figure(largest['running'])} running pods"
    yield _most(f"{size}: first Binding, s", None, found["start_seconds"], 60)
    yield _most(f"{size}: peak memory, MiB", None, found["peak_bytes"] / MEBIBYTE, 2048)
    share = found["pods_per_second"] / small["pods_per_second"]
    yield _Goal(f"{size}: pods/s, relative to a tenth of both", None, share, share, 0.7, 2)


GOALS = Block(("drain", "loop", "latency", "native", "crowd", "topology", "beside", "vast"), _goals, more=("quotas",))
