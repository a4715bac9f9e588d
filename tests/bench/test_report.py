"""The output of the benchmarks."""

import io
from dataclasses import replace

from rich.console import Console

from bench.report import document, median_document, table
from bench.trial import Result


def rows(results: list[Result]) -> dict[str, list[str]]:
    console = Console(file=io.StringIO(), width=200)
    console.print(table("title", results, subject="muster", baseline="kube-scheduler"))
    output = console.file
    assert isinstance(output, io.StringIO)
    cells = [
        [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")]
        for line in output.getvalue().splitlines()
    ]
    return {first: rest for first, *rest in cells}


def test_rates_and_costs_are_per_pod(result: Result) -> None:
    told = rows([result])
    assert told["pods/s"] == ["100"]
    assert told["pods/s until the last Event"] == ["91"]
    assert told["CPU ms a pod"] == ["1.00"]
    assert told["with its start"] == ["2.00"]
    assert told["API server CPU ms a pod"] == ["2.00"]
    assert told["together"] == ["3.00"]
    assert told["peak memory, MiB"] == ["100"]
    assert told["machine used by others, %"] == ["25"]


def test_two_sides_are_compared(result: Result) -> None:
    slower = replace(result, side="kube-scheduler", bound_seconds=20.0, cpu_seconds=2.002, others_share=0.0)
    told = rows([slower, result])
    assert told["pods/s"] == ["50", "100", "2.00"]
    assert told["CPU ms a pod"] == ["2.00", "1.00", "0.50"]
    assert told["machine used by others, %"] == ["0", "25", ""]


def test_one_side_alone_is_compared_with_nothing(result: Result) -> None:
    assert rows([result])[""] == ["muster"]


def test_programs_get_what_was_measured_and_the_rates(result: Result) -> None:
    told = document([result])["muster"]
    assert told["peak_bytes"] == 100 << 20
    assert told["server_cpu_seconds"] == {"kube-apiserver": 1.5, "etcd": 0.502}
    assert told["pods_per_second"] == 100
    assert told["all_cpu_per_pod"] == told["cpu_per_pod"] + told["server_cpu_per_pod"]


def test_of_several_runs_each_figure_is_the_median_and_every_rate_is_kept(result: Result) -> None:
    busy = {"kube-apiserver": 9.0, "etcd": 0.1}
    runs = [
        [result, replace(result, side="ceiling")],
        [replace(result, bound_seconds=20.0, peak_bytes=1, server_cpu_seconds=busy), replace(result, side="ceiling")],
        [replace(result, bound_seconds=40.0, peak_bytes=2), replace(result, side="ceiling", bound_seconds=5.0)],
    ]
    told = median_document(runs)
    assert (told["muster"]["pods_per_second"], told["muster"]["rates"]) == (50, [100, 50, 25])
    assert (told["muster"]["peak_bytes"], told["muster"]["server_cpu_seconds"]["etcd"]) == (2, 0.502)
    assert (told["ceiling"]["pods_per_second"], told["ceiling"]["rates"]) == (100, [100, 100, 200])
