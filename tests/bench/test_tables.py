"""Tables of results on pages: figures, ratios, failures, and where results come from."""

import json
from collections import Counter
from dataclasses import asdict, replace
from typing import Any

import pytest
from click.testing import CliRunner

from bench.arrivals import Waits
from bench.attack import document as document_of_attacks
from bench.attack_effects import MIB, AttackEffects
from bench.backlog import Found as BacklogFound
from bench.backlog import main as measure_backlogs
from bench.beside import Found as Beside
from bench.beside import Stretch
from bench.pages import Drawn
from bench.pages import Found as Page
from bench.preemption import Found as PreemptionFound
from bench.provenance import Machine
from bench.report import document
from bench.results import Result as Kept
from bench.results import Run
from bench.soak import SERIES, Seen
from bench.soak import document as document_of_soak
from bench.stand_in import Drained
from bench.stand_in import document as document_of_runs
from bench.steadiness import trends
from bench.storm import Found as StormFound
from bench.tables import BLOCKS, render
from bench.tables.comparison import FAULTS
from bench.tables.markdown import figure, ratio, table
from bench.trial import Result
from muster.testing.simulation import history
from muster.testing.simulation.tally import SeedTally
from muster.testing.simulation.traits import REQUIRED
from tests.gangscheduling.parity.comparison import Tally as GroupTally

MACHINE = Machine(2, 23, "AMD EPYC", "Linux")
BY_HAND = Run()


def kept(benchmark: str, data: dict[str, Any], *, commit: str = "0123456789ab", run: Run = BY_HAND) -> Kept:
    """A result; its data as they are after they were written and read."""
    read = json.loads(json.dumps(data))
    return Kept(benchmark=benchmark, commit=commit, date="2026-11-23", machine=MACHINE, run=run, data=read)


def shown(name: str, *results: Kept) -> list[str]:
    """The lines of a block."""
    return render(BLOCKS[name], {result.benchmark: result for result in results}).splitlines()


@pytest.fixture
def sides(result: Result) -> dict[str, Any]:
    """Muster with 100 pods/s, kube-scheduler with half, the ceiling with four times as many."""
    slow = replace(result, side="kube-scheduler", bound_seconds=20.0, cpu_seconds=2.002)
    fast = replace(result, side="ceiling", bound_seconds=2.5)
    return dict(document([slow, result, fast]))


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(1302.4, 0, "1,302"), (0.0289, 3, "0.029"), (0, 0, "0"), (-0.3, 0, "0"), (None, 2, "\N{EN DASH}")],
)
def test_figures_have_thousands_apart_and_as_many_decimals_as_asked_for(
    value: float | None, decimals: int, text: str
) -> None:
    assert figure(value, decimals) == text


@pytest.mark.parametrize(
    ("subject", "baseline", "text"),
    [(429, 35, "12.3"), (494, 322, "1.53"), (1, None, "\N{EN DASH}"), (None, 1, "\N{EN DASH}"), (1, 0, "\N{EN DASH}")],
)
def test_ratios_have_three_digits_or_none(subject: float | None, baseline: float | None, text: str) -> None:
    assert ratio(subject, baseline) == text


def test_figures_are_aligned_to_the_right_and_empty_cells_stay_empty() -> None:
    assert table(["", "pods/s"], [["plain", "1"], ["gangs", ""]]).splitlines() == [
        "| | pods/s |",
        "| --- | ---: |",
        "| plain | 1 |",
        "| gangs | |",
    ]


def test_single_pods_are_shown_for_all_sides_and_compared(sides: dict[str, Any]) -> None:
    assert shown("single-pods", kept("drain", sides)) == [
        "| single pods | kube-scheduler | Muster | ceiling | Muster / kube-scheduler |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| pods/s | 50 | 100 | 400 | 2.00 |",
        "| CPU ms a pod (scheduler) | 2.00 | 1.00 | 1.00 | 0.50 |",
        "| CPU ms a pod (API server and etcd) | 2.00 | 2.00 | 2.00 | 1.00 |",
        "| peak memory, MiB | 100 | 100 | 100 | 1.00 |",
        "| CPU used by other programs, % | 25 | 25 | 25 | |",
        "",
        "Measured on 2026-11-23 at commit `0123456789ab` on 2 cores (AMD EPYC), 23 GiB, Linux.",
    ]


def test_gangs_are_shown_with_how_long_each_waited(sides: dict[str, Any]) -> None:
    lines = shown("gangs", kept("gangs", {"backlog": sides, "arrivals": {"p50": 0.151, "p99": 0.29, "longest": 1}}))

    assert "| pods/s | 50 | 100 | 2.00 |" in lines
    assert "0.15 s (median), 0.29 s (99th percentile) and 1.00 s (longest)." in "\n".join(lines)


def test_the_loop_alone_shows_medians() -> None:
    found = {"pods": 6000, "pods_per_second": 1234.5, "cpu_per_pod": 0.00071, "start_seconds": 1.44}

    lines = shown("loop", kept("loop", {"median": found, "runs": [found] * 3}))

    assert lines[0] == "| 6,000 pods, median of 3 runs | Muster |"
    assert lines[2:5] == ["| pods/s | 1,234 |", "| CPU ms a pod | 0.71 |", "| s from start to first binding | 1.4 |"]


def test_latencies_have_a_row_for_each_rate() -> None:
    side = {"rate": 300, "created": 299.6, "p50": 0.004, "p99": 0.03, "longest": 0.1}
    data = {"kube-scheduler": [side], "muster": [side | {"p99": 0.015}]}

    assert shown("latency", kept("latency", data))[2] == "| 300 | 300 | 300 | 4 | 4 | 30 | 15 | 0.50 |"


def test_shapes_are_compared_with_plain_pods_and_a_failed_side_has_no_rate(sides: dict[str, Any]) -> None:
    plain = {name: sides[name] | {"pods_per_second": rate} for name, rate in (("kube-scheduler", 100), ("muster", 200))}
    failed = {"muster": sides["muster"]}

    lines = shown("shapes", kept("shapes", {"plain": plain, "one device": failed, "near": sides}))

    pods = f"{sides['muster']['pods']:,}"
    assert lines[2:5] == [
        f"| plain | {pods} | 100 | 200 | 2.00 | 1.00 |",
        f"| one device each | {pods} | \N{EN DASH} | 100 | \N{EN DASH} | 0.50 |",
        f"| near | {pods} | 50 | 100 | 2.00 | 0.50 |",
    ]


def test_the_table_of_groups_has_two_benchmarks_and_the_longest_work_of_the_loop(sides: dict[str, Any]) -> None:
    racks = {
        "6 gangs of 1,000": sides | {"longest_work_seconds": 0.02},
        "9 gangs of 4": sides | {"longest_work_seconds": 0.005},
    }

    lines = shown("groups", kept("native", sides), kept("topology", racks))

    assert lines[2:5] == [
        "| native gangs | 50 | 100 | 2.00 |",
        "| 6 gangs of 1,000, each in one rack | 50 | 100 | 2.00 |",
        "| 9 gangs of 4, each in one rack | 50 | 100 | 2.00 |",
    ]
    assert "at most 20 ms at a time" in lines[6]


def test_running_pods_take_two_rows_and_a_failed_side_says_so(sides: dict[str, Any]) -> None:
    alone = {"muster": sides["muster"] | {"start_seconds": 9.46}}

    lines = shown("running", kept("crowd", {"0": sides, "100000": alone}))

    start = f"{sides['muster']['start_seconds']:.1f}"
    assert lines[2:6] == [
        f"| 0 | kube-scheduler | 50 | 2.00 | 100 | {start} |",
        f"| | Muster | 100 | 1.00 | 100 | {start} |",
        "| 100,000 | kube-scheduler | failed | | | |",
        "| | Muster | 100 | 1.00 | 100 | 9.5 |",
    ]


def test_vast_clusters_are_held_against_the_smallest() -> None:
    small = Drained(6000, pods_per_second=1000.0, cpu_per_pod=0.0007, start_seconds=4.0, peak_bytes=300 * MIB)
    large = replace(small, pods_per_second=750.0, start_seconds=58.21, peak_bytes=1800 * MIB)
    data = {
        "5000": {"running": 50_000, **document_of_runs([small] * 3)},
        "50000": {"running": 500_000, **document_of_runs([large] * 3)},
    }

    assert shown("vast", kept("vast", data))[:6] == [
        "| nodes | running pods | pods/s | CPU ms a pod | peak memory, MiB | s from start to first binding |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 5,000 | 50,000 | 1,000 | 0.70 | 300 | 4.0 |",
        "| 50,000 | 500,000 | 750 | 0.70 | 1,800 | 58.2 |",
        "",
        "6,000 pods in the backlog, medians of 3 runs. The last row has 0.75 of the rate of the first.",
    ]


def test_waits_beside_a_gang_have_a_row_for_each_stretch_and_side_and_a_failed_side_says_so() -> None:
    calm, deciding = Stretch(300, Waits(0.006, 0.012, 0.02)), Stretch(9, Waits(0.05, 0.0951, 0.0961))
    found = asdict(Beside(0.41, 6.2, calm, deciding, Stretch(0, None)))

    lines = shown("beside", kept("beside", {"size": 3000, "sides": {"muster": found}}))

    assert lines[2:8] == [
        "| before the gang | kube-scheduler | failed | | | |",
        "| | Muster | 300 | 6 | 12 | 20 |",
        "| until its first member is bound | kube-scheduler | failed | | | |",
        "| | Muster | 9 | 50 | 95 | 96 |",
        "| until its last member is bound | kube-scheduler | failed | | | |",
        "| | Muster | 0 | \N{EN DASH} | \N{EN DASH} | \N{EN DASH} |",
    ]
    assert lines[9] == (
        "Muster bound the first of its 3,000 members 0.41 s after the last one was created,"
        " and all of them after 6.20 s."
    )


def waiting(side: str, cpu: float, *, changed: int, told: int) -> BacklogFound:
    return BacklogFound(side, 600, 600, 0.02, 0.1891, cpu, 30.0, 3.26, changed, told, 1.0, 0.0)


def preempting(side: str, seconds: float) -> dict[str, Any]:
    found = PreemptionFound(side, 1000, 1000, seconds, 10.0, 5.0, 3.0, 0.0)
    return asdict(found) | {"pods_per_second": found.pods_per_second}


def test_full_clusters_are_shown_as_the_benchmark_names_their_backlogs(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = iter(
        [
            waiting("kube-scheduler", 49.1, changed=5000, told=2500),
            waiting("muster", 4.3, changed=5000, told=5000),
            waiting("kube-scheduler", 40.0, changed=0, told=0),
            waiting("muster", 10.0, changed=0, told=0),
        ]
    )
    monkeypatch.setattr("bench.backlog.run", lambda *arguments: next(trials))
    written = CliRunner().invoke(measure_backlogs, ["--output=json"])
    preemption = {"pods": [preempting("kube-scheduler", 40), preempting("muster", 20)]}

    lines = shown("full", kept("backlog", json.loads(written.stdout)), kept("preemption", preemption))

    assert lines[2:] == [
        "| 5,000 plain pods wait: CPU s | 49.1 | 4.3 | 0.09 |",
        "| until a freed node has a pod, 99th percentile, s | 0.189 | 0.189 | |",
        "| API writes for each pod that is bound | 3.3 | 3.3 | |",
        "| waiting pods that name a new taint after 30 s, % | 50 | 100 | |",
        "| status writes for each of them | 1.00 | 1.00 | |",
        "| 100 gangs of 30 and 2,000 plain pods wait: CPU s | 40.0 | 10.0 | 0.25 |",
        "| until a freed node has a pod, 99th percentile, s | 0.189 | 0.189 | |",
        "| API writes for each pod that is bound | 3.3 | 3.3 | |",
        "| waiting pods that name a new taint after 30 s, % | \N{EN DASH} | \N{EN DASH} | |",
        "| status writes for each of them | 1.00 | 1.00 | |",
        "| pods that preempt: pods/s | 25 | 50 | 2.00 |",
        "| CPU ms a pod | 10.00 | 10.00 | 1.00 |",
        "",
        "Measured on 2026-11-23 at commit `0123456789ab` on 2 cores (AMD EPYC), 23 GiB, Linux.",
    ]


def test_a_storm_is_held_against_the_calm() -> None:
    calm = StormFound(0, 199.6, 200.0, 0.1, 0.4, 0, 1.0, 0.0)
    storm = replace(calm, waiting=10_000, pods_per_second=190.0, in_vain=3)

    assert shown("storm", kept("storm", {"calm": asdict(calm), "storm": asdict(storm)}))[:7] == [
        "| | 0 pods fit nowhere | 10,000 pods fit nowhere |",
        "| --- | ---: | ---: |",
        "| plain pods/s | 200 | 190 |",
        "| share of the rate in the calm | | 0.95 |",
        "| s until a plain pod is bound, 99th percentile | 0.400 | 0.400 |",
        "| attempts in vain | 0 | 3 |",
        "| events/s | 200 | 200 |",
    ]


def test_pages_are_shown_by_what_they_are() -> None:
    drawn = Page.of("/nodes", [Drawn(0.1, each, 0.11, 4096) for each in (0.7, 0.9, 2.0)])
    data = {"nodes": 5000, "groups": 500, "members": 8, "pods": 10_000, "pages": [asdict(drawn)]}

    lines = shown("web", kept("pages", data))

    assert lines[0] == "5,000 nodes, 500 groups of 8, 10,000 further pods; medians:"
    assert lines[4] == "| map of the nodes | 0.90 | 0.11 | 4 |"


def test_a_soak_is_shown_with_what_it_left() -> None:
    points = {what: [(20.0 * at, 100.0 + at / 3) for at in range(90)] for what in SERIES}
    points["tasks"] = [(at, 20.0) for at, _ in points["tasks"]]
    seen = Seen(values=points, alive=[1200.0], created=216_321, seconds=1800.0, left=["x is 1"])

    lines = shown("soak", kept("soak", document_of_soak(seen, trends(seen.values, seen.seconds), rate=120)))

    assert lines[0] == "216,321 pods came and went in 30 minutes, 120 a second. When all had gone, x is 1."
    assert "| resident memory, MiB | 119.8 | 19.7 | climbs |" in lines
    assert "| tasks | 20.0 | 0.0 | flat |" in lines


def test_attacks_are_shown_with_what_others_noticed_and_the_faults() -> None:
    borne = AttackEffects(
        "a stall", held=0.05, livez=0.9, bound=[0.2, 0.91], before=200 * MIB, highest=400 * MIB, after=219 * MIB
    )
    silent = replace(borne, name="a flood", bound=[])

    lines = shown(
        "attack", kept("attack", document_of_attacks(5000, [borne, silent], [[], ["no other pod was bound"]]))
    )

    assert lines[0] == "On 5,000 nodes, the longest of each:"
    assert lines[4:6] == [
        "| a stall | 50 | 900 | 0.91 | 19 | none |",
        "| a flood | 50 | 900 | \N{EN DASH} | 19 | no other pod was bound |",
    ]


def test_a_comparison_is_shown_by_its_counts() -> None:
    tally = GroupTally(situations=150, excused=Counter({"other victims": 6}))

    assert shown("parity-groups", kept("parity-groups", tally.data))[:9] == [
        "| | number |",
        "| --- | ---: |",
        "| situations | 150 |",
        "| parted | 0 |",
        "| broken | 0 |",
        "| differences | 0 |",
        "",
        "| excused | number |",
        "| --- | ---: |",
    ]


def test_the_simulation_is_shown_with_all_that_took_part() -> None:
    tally = SeedTally()
    tally.acts.update(pods_come=1953, cable_is_pulled=87, weather_turns=356)
    tally.groups.update({"by label": 392, REQUIRED: 199})
    tally.plugins.update(Reservation=24_480)
    tally.events.update({"groups judged": 236, "groups excused": 14, "reservations": 56})
    data = {
        "seeds": 10_000,
        "wrong": 0,
        "events": 97_131_734,
        "simulated_seconds": 3_265_200,
        "cpu_seconds": 4887,
        "seconds": 3200,
        "seeds_an_hour": 11_250,
        "took_part": tally.data(),
    }

    assert shown("simulation", kept("simulation", data))[:-2] == [
        "| | number |",
        "| --- | ---: |",
        "| seeds | 10,000 |",
        "| seeds that went wrong | 0 |",
        "| events | 97,131,734 |",
        "| hours simulated | 907 |",
        "| seeds an hour | 11,250 |",
        "| groups that ran at rest | 236 |",
        "| of these, excused for running in part | 14 |",
        "",
        "| took part | how often |",
        "| --- | --- |",
        "| groups | by label 392, required-topology 199 |",
        "| faults | weather turns 356, cable is pulled 87 |",
        "| other acts | pods come 1,953 |",
        "| plugins, by pods that each was asked about | Reservation 24,480 |",
        "| plugins, by pods that each held back | |",
        "| what came of it | reservations 56 |",
    ]


def ended(name: str, theirs: dict[str, Any] | None, ours: dict[str, Any] | None) -> dict[str, Any]:
    """A test of Kubernetes, and how it ended with either scheduler."""
    return {"name": name, "sides": {"kube-scheduler": theirs, "muster": ours}}


def test_end_to_end_tests_are_shown_without_labels_and_what_did_not_pass_says_why() -> None:
    passed, failed = {"state": "passed", "seconds": 3.2}, {"state": "failed", "seconds": 300.0, "message": "Timed out"}
    tests = [
        ended("[sig-scheduling] Predicates [Serial] validates limits [Conformance]", passed, passed),
        ended("[sig-node] [DRA] control plane reuses devices", passed, failed),
        ended("[sig-scheduling] Multi-AZ Clusters spreads", failed, failed),
        ended("[sig-scheduling] Gangs", failed, None),
    ]

    assert shown("e2e", kept("e2e", {"kubernetes": "1.37.1", "seed": 1, "tests": tests}))[:-2] == [
        "The tests of Kubernetes 1.37.1:",
        "",
        "| test | kube-scheduler | Muster |",
        "| --- | --- | --- |",
        "| Predicates validates limits | passed | passed |",
        "| [DRA] control plane reuses devices | passed | failed |",
        "| Multi-AZ Clusters spreads | failed | failed |",
        "| Gangs | failed | \N{EN DASH} |",
        "| passed, of 4 | 2 | 1 |",
        "",
        "- [DRA] control plane reuses devices, Muster: Timed out",
        "- Multi-AZ Clusters spreads, kube-scheduler and Muster: Timed out",
        "- Gangs, kube-scheduler: Timed out",
    ]


def test_faults_are_told_apart_as_histories_draw_them() -> None:
    assert {what for what, _ in history._TROUBLES} == FAULTS


def test_results_of_different_commits_are_distinguished(sides: dict[str, Any]) -> None:
    racks = kept("topology", {"gangs": sides | {"longest_work_seconds": 0}}, commit="ba9876543210")

    assert shown("groups", kept("native", sides), racks)[-1] == (
        "`native` measured on 2026-11-23 at commit `0123456789ab` on 2 cores (AMD EPYC), 23 GiB, Linux; "
        "`topology` measured on 2026-11-23 at commit `ba9876543210` on 2 cores (AMD EPYC), 23 GiB, Linux."
    )


def test_a_failure_is_shown_with_what_was_measured_before_it(sides: dict[str, Any]) -> None:
    failed = kept("drain", sides, run=Run(failure="failed with exit code 1"))

    assert shown("single-pods", failed)[-1] == "`drain` failed with exit code 1."


def test_a_table_without_results_says_that_it_was_not_measured(sides: dict[str, Any]) -> None:
    assert shown("groups", kept("native", sides)) == ["Not measured yet: topology."]
