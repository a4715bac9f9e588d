"""The results of `bench.upstream`: a row for each workload, failed or not, and the table of the pages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench import upstream
from bench.failures import StalledError
from bench.progress import Display
from bench.provenance import Machine
from bench.results import Result
from bench.scheduler_perf.attempts import Attempts
from bench.scheduler_perf.choice import LEFT_OUT
from bench.scheduler_perf.collecting import Found, Waits
from bench.scheduler_perf.configuration import MissingSourceError, Workload
from bench.sides import Side
from bench.tables import BLOCKS, render
from tests.controlplane.binaries import MissingBinaryError

FOUND = Found(
    pods=1000,
    pods_per_second=400.0,
    cpu_per_pod=0.0015,
    server_cpu_per_pod=0.002,
    peak_bytes=100 << 20,
    others_share=0.02,
    waits=Waits(0.005, 0.05, 1.25),
    attempts={"scheduled": Attempts(1000, 0.0005, 0.001, 0.0042), "unschedulable": Attempts(9, 1.0, 1.0, 1.0)},
)
SLOWER = replace(FOUND, pods_per_second=200.0, cpu_per_pod=0.003, waits=Waits(0.01, 0.1, 1.0))
STALLED = StalledError("3 of 9 pods in n were bound after 600 s\nthe end of its log:\nnothing")


def a_workload(case: str) -> Workload:
    return Workload("misc", case, "500Nodes", Path(), gates={}, parameters={}, operations=())


def a_run(side: Side, workload: Workload, display: Display) -> Found:
    """What comes of a run in these tests: kube-scheduler stalls where pods starve, and is half as fast otherwise."""
    if side.name == "muster":
        return FOUND
    if workload.case == "Starvation":
        raise STALLED
    return SLOWER


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch, display: Display) -> list[upstream.Row]:
    """Of two workloads, one of which kube-scheduler does not finish."""
    monkeypatch.setattr(upstream, "run", a_run)
    return [upstream.measure(a_workload(case), display) for case in ("SchedulingBasic", "Starvation")]


def block(rows: list[upstream.Row]) -> str:
    """The table of the pages, of results that were written and read."""
    data: Mapping[str, Any] = json.loads(json.dumps(upstream.document(rows, Fraction(1, 5))))
    result = Result(benchmark="upstream", commit="c", date="d", machine=Machine(2), data=dict(data))
    return render(BLOCKS["upstream"], {"upstream": result})


def test_a_side_that_fails_is_told_and_the_other_is_measured(rows: list[upstream.Row]) -> None:
    basic, starvation = rows
    assert (basic["sides"].keys(), basic["failures"]) == ({"kube-scheduler", "muster"}, {})
    assert starvation["sides"].keys() == {"muster"}
    assert starvation["failures"] == {"kube-scheduler": str(STALLED)}


@pytest.mark.parametrize(("rates", "counts", "plays"), [((400.0, 200.0, 300.0), 300.0, 3), ((100.0,), 100.0, 1)])
def test_a_short_workload_is_played_thrice_and_the_median_run_counts(
    monkeypatch: pytest.MonkeyPatch, display: Display, rates: Sequence[float], counts: float, plays: int
) -> None:
    left = {"muster": [*rates], "kube-scheduler": [100.0] * len(rates)}
    monkeypatch.setattr(upstream, "run", lambda side, *_: replace(FOUND, pods_per_second=left[side.name].pop(0)))
    row = upstream.measure(a_workload("SchedulingBasic"), display)
    assert (row["sides"]["muster"]["pods_per_second"], row["plays"]) == (counts, plays)
    assert not any(left.values())


def test_without_programs_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, display: Display) -> None:
    def missing(side: Side, workload: Workload, display: Display) -> Found:
        raise MissingBinaryError("etcd is not built")

    monkeypatch.setattr(upstream, "run", missing)
    with pytest.raises(MissingBinaryError):
        upstream.measure(a_workload("SchedulingBasic"), display)


def test_the_result_says_how_large_workloads_were_and_what_was_left_out(rows: list[upstream.Row]) -> None:
    data = upstream.document(rows, Fraction(1, 5))
    assert data["factor"] == 0.2
    assert data["kubernetes"].startswith("1.")
    assert {each["case"]: each["reason"] for each in data["left_out"]} == LEFT_OUT


def test_the_page_shows_both_sides_of_every_workload(rows: list[upstream.Row]) -> None:
    lines = block([rows[0] | {"scaled": True}, rows[1]]).splitlines()
    none = "\N{EN DASH}"
    both, one = " \N{DAGGER} \N{DOUBLE DAGGER}", " \N{DOUBLE DAGGER}"
    assert f"| SchedulingBasic/500Nodes{both} | 1,000 | 200 | 400 | 2.00 | 3.00 | 1.50 | 100 | 100 |" in lines
    assert f"| Starvation/500Nodes{one} | 1,000 | {none} | 400 | {none} | {none} | 1.50 | {none} | 100 |" in lines
    assert "\N{DOUBLE DAGGER} Played 3 times; the run of each side with the median rate." in lines
    assert "| SchedulingBasic/500Nodes | 10.0 | 5.0 | 100 | 50.0 | 1,000 | 1,250 |" in lines
    assert "| SchedulingBasic/500Nodes | 0.5 | 0.5 | 1.0 | 1.0 | 4.2 | 4.2 |" in lines
    assert f"| Starvation/500Nodes | {none} | 0.5 | {none} | 1.0 | {none} | 4.2 |" in lines


def test_the_page_sums_up_what_failed_what_was_left_out_and_where_muster_is_behind(rows: list[upstream.Row]) -> None:
    text = block(rows)
    assert "In the median workload Muster has 2.00 times kube-scheduler's rate; in 0 of 1 it has less." in text
    assert "is longer with Muster in 1. Other programs used at most 2 % of the machine at a time." in text
    assert "Played with 20 % of its nodes" in text
    assert "- kube-scheduler, Starvation/500Nodes: 3 of 9 pods in n were bound after 600 s\n" in text
    assert "the end of its log" not in text
    for case, reason in LEFT_OUT.items():
        assert f"- {case}: {reason}" in text


def test_a_side_that_tried_no_pod_by_itself_has_no_times_of_attempts(rows: list[upstream.Row]) -> None:
    rows[0]["sides"]["muster"]["attempts"] = {}
    none = "\N{EN DASH}"
    assert f"| SchedulingBasic/500Nodes | 0.5 | {none} | 1.0 | {none} | 4.2 | {none} |" in block(rows)


def test_without_a_common_workload_nothing_is_compared(rows: list[upstream.Row]) -> None:
    assert "No workload was played to its end by both sides." in block(rows[1:])


def test_the_terminal_shows_a_row_for_each_workload(rows: list[upstream.Row]) -> None:
    console = Console(record=True, width=300)
    console.print(upstream.table(rows))
    lines = console.export_text().replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").splitlines()
    text = [" ".join(line.split()) for line in lines]
    assert "SchedulingBasic/500Nodes 200 400 1,000 1,250 3.00 1.50 100 100" in text
    assert "Starvation/500Nodes - 400 - 1,250 - 1.50 - 100" in text


def test_the_command_measures_what_is_named_and_fails_with_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "run", a_run)
    monkeypatch.setattr(upstream, "source", lambda: Path())
    monkeypatch.setattr(upstream, "read", lambda folder: [a_workload("SchedulingBasic"), a_workload("Starvation")])

    done = CliRunner().invoke(upstream.main, ["--workload", "SchedulingBasic/500Nodes", "-o", "json"])
    assert done.exit_code == 0
    assert [row["workload"] for row in json.loads(done.stdout)["workloads"]] == ["SchedulingBasic/500Nodes"]

    done = CliRunner().invoke(upstream.main, ["--workload", "Starvation/500Nodes", "-o", "json"])
    assert done.exit_code == 1
    assert "kube-scheduler, Starvation/500Nodes: 3 of 9 pods" in done.stderr
    assert json.loads(done.stdout)["workloads"][0]["sides"].keys() == {"muster"}

    done = CliRunner().invoke(upstream.main, ["--workload", "Weather/500Nodes"])
    assert done.exit_code == 2
    assert "scheduler_perf has no workload Weather/500Nodes" in done.stderr


def test_the_command_says_how_to_get_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise MissingSourceError("go is not on the PATH")

    monkeypatch.setattr(upstream, "source", missing)
    done = CliRunner().invoke(upstream.main, [])
    assert (done.exit_code, done.stderr) == (1, "Error: go is not on the PATH\n")


def test_an_interrupted_run_goes_on_with_what_was_not_measured_or_failed(
    monkeypatch: pytest.MonkeyPatch, display: Display, tmp_path: Path
) -> None:
    journal = upstream.Journal(tmp_path / "build" / "rows.jsonl")
    workloads = [a_workload(case) for case in ("SchedulingBasic", "Starvation", "Unschedulable")]
    monkeypatch.setattr(upstream, "run", a_run)
    upstream.measure_all(workloads[:2], journal, display, [])
    assert journal.path is not None
    with journal.path.open("a") as file:
        file.write('{"workload": "Unsched')

    played: list[str] = []

    def a_good_run(side: Side, workload: Workload, display: Display) -> Found:
        played.append(workload.case)
        return replace(FOUND, pods=10_000)

    monkeypatch.setattr(upstream, "run", a_good_run)
    rows: list[upstream.Row] = []
    upstream.measure_all(workloads, journal, display, rows)

    assert played == ["Starvation", "Starvation", "Unschedulable", "Unschedulable"]
    assert [row["workload"].partition("/")[0] for row in rows] == ["SchedulingBasic", "Starvation", "Unschedulable"]
    assert journal.read().keys() == {workload.title for workload in workloads}
    journal.end()
    assert journal.read() == {}


def test_a_run_that_shall_not_be_resumed_keeps_nothing(monkeypatch: pytest.MonkeyPatch, display: Display) -> None:
    monkeypatch.setattr(upstream, "run", a_run)
    upstream.measure_all([a_workload("SchedulingBasic")], upstream.Journal(), display, [])
    assert upstream.Journal().read() == {}


def test_a_journal_is_that_of_a_commit_and_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "measured_commit", lambda: "0123456789ab")
    path = upstream.Journal.of(Fraction(1, 5)).path
    assert path is not None
    assert path.name == "upstream-0123456789ab-1-of-5.jsonl"
