"""The table of goals: every row is judged, and what is missed is said."""

from typing import Any

import pytest

from bench.provenance import Machine
from bench.results import Result, Run
from bench.tables import BLOCKS, render

WAITS = {"p50": 0.002, "p99": 0.004, "longest": 0.3}


def side(rate: float, **more: Any) -> dict[str, Any]:
    return {"pods_per_second": rate, "cpu_per_pod": 0.00065, "start_seconds": 0.6, "pods": 3000, **more}


def data() -> dict[str, dict[str, Any]]:
    """What the benchmarks measured, but for what a test changes."""
    arrivals = [{"rate": rate, "p50": 0.003, "p99": 0.01} for rate in (100, 300, 500)]
    small, large = side(1000.0, peak_bytes=1 << 28), side(750.0, peak_bytes=1 << 30)
    return {
        "drain": {"kube-scheduler": side(300.0), "muster": side(690.0), "ceiling": side(720.0)},
        "loop": {"median": side(2000.0), "runs": [side(2000.0)]},
        "latency": {"kube-scheduler": [{**each, "p99": 0.02} for each in arrivals], "muster": arrivals},
        "native": {"kube-scheduler": side(200.0), "muster": side(520.0)},
        "crowd": {running: {"kube-scheduler": side(1.0), "muster": side(1.0)} for running in ("0", "100000")},
        "topology": {"6 gangs": {"longest_hold_seconds": 0.05, "held_within_20_ms": 0.9995}},
        "beside": {"size": 3000, "sides": {"muster": {"deciding": {"pods": 9, "waits": WAITS}}}},
        "vast": {
            "5000": {"running": 50_000, "median": small, "runs": [small]},
            "50000": {"running": 500_000, "median": large, "runs": [large]},
        },
        "quotas": {
            case: {"median": side(rate), "runs": [side(rate)]}
            for case, rate in {"no quotas": 1000.0, "5 quotas": 960.0, "500 quotas": 910.0}.items()
        },
    }


def rows(found: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """The cells of the table, by the label of their row."""
    results = {
        name: Result(benchmark=name, commit="0123456789ab", date="2026-11-25", machine=Machine(2), run=Run(), data=each)
        for name, each in found.items()
    }
    lines = [line for line in render(BLOCKS["goals"], results).splitlines() if line.startswith("| ")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {label: rest for label, *rest in cells}


def test_each_goal_has_both_sides_its_ratio_and_whether_it_is_met() -> None:
    shown = rows(data())
    assert shown["plain pods/s"] == ["300", "690", "2.30", "≥ 2.2 times", "yes"]
    assert shown["CPU ms a plain pod"] == ["0.65", "0.65", "1.00", "Muster ≤ 0.7", "yes"]
    assert shown["p99 from creation to Binding at 300 pods/s, ms"] == ["20", "10", "0.50", "≤ 1 times", "yes"]
    assert shown["steps of the event loop within 20 ms, %"] == [
        "\N{EN DASH}",
        "99.95",
        "\N{EN DASH}",
        "Muster ≥ 99.9",
        "yes",
    ]
    assert shown["first Binding after start, 100,000 running pods, s"] == ["0.6", "0.6", "1.00", "Muster ≤ 6", "yes"]


def test_a_side_that_failed_leaves_its_cell_empty_and_the_other_is_judged() -> None:
    label = "longest wait of a plain pod while a gang of 3,000 is decided, s"
    assert rows(data())[label] == ["\N{EN DASH}", "0.30", "\N{EN DASH}", "Muster ≤ 0.1", "missed"]
    found = data()
    found["beside"]["sides"] = {}
    assert rows(found)[label] == ["\N{EN DASH}"] * 3 + ["Muster ≤ 0.1", "\N{EN DASH}"]


def test_a_goal_whose_benchmark_has_not_been_measured_is_shown_without_a_verdict() -> None:
    found = data()
    del found["quotas"]
    shown = rows(found)
    assert shown["plain pods/s with 5 ElasticQuotas, relative to none"] == [
        *["\N{EN DASH}"] * 3,
        "Muster ≥ 0.95",
        "\N{EN DASH}",
    ]
    assert shown["plain pods/s"][-1] == "yes"


@pytest.mark.parametrize(
    ("benchmark", "path", "value", "label"),
    [
        ("drain", ("muster", "pods_per_second"), 600.0, "plain pods/s"),
        (
            "drain",
            ("ceiling", "pods_per_second"),
            800.0,
            "plain pods/s, relative to a client that only writes Bindings and Events",
        ),
        ("drain", ("muster", "cpu_per_pod"), 0.0008, "CPU ms a plain pod"),
        ("loop", ("median", "pods_per_second"), 1400.0, "pods/s with a stub API server"),
        ("latency", ("muster", 2, "p99"), 0.03, "p99 from creation to Binding at 500 pods/s, ms"),
        (
            "quotas",
            ("5 quotas", "runs", 0, "pods_per_second"),
            940.0,
            "plain pods/s with 5 ElasticQuotas, relative to none",
        ),
        (
            "quotas",
            ("500 quotas", "runs", 0, "pods_per_second"),
            890.0,
            "plain pods/s with 500 namespaces with ElasticQuotas, relative to none",
        ),
        ("native", ("muster", "pods_per_second"), 400.0, "native gangs of 30, pods/s"),
        ("topology", ("6 gangs", "longest_hold_seconds"), 0.1, "longest blocking of the event loop, ms"),
        ("topology", ("6 gangs", "held_within_20_ms"), 0.9, "steps of the event loop within 20 ms, %"),
        ("crowd", ("0", "muster", "start_seconds"), 1.1, "first Binding after start, 0 running pods, s"),
        ("vast", ("50000", "median", "start_seconds"), 90.0, "50,000 nodes, 500,000 running pods: first Binding, s"),
        ("vast", ("50000", "median", "peak_bytes"), 1 << 32, "50,000 nodes, 500,000 running pods: peak memory, MiB"),
        (
            "vast",
            ("50000", "median", "pods_per_second"),
            600.0,
            "50,000 nodes, 500,000 running pods: pods/s, relative to a tenth of both",
        ),
    ],
)
def test_a_goal_that_is_not_reached_is_missed(
    benchmark: str, path: tuple[str | int, ...], value: float, label: str
) -> None:
    assert rows(data())[label][-1] == "yes"
    found = data()
    place: Any = found[benchmark]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert rows(found)[label][-1] == "missed"
