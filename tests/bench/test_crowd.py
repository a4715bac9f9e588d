"""Pods that run already where a backlog is drained, and the table of what was found."""

import io
from collections import Counter
from dataclasses import replace

import msgspec
from rich.console import Console

from bench.crowd import LABEL_SETS, running, table, waiting
from bench.trial import Result


def test_running_pods_lie_evenly_on_the_nodes_and_have_many_sets_of_labels() -> None:
    pods = [msgspec.json.decode(body) for _, body in running(2000, 400)]
    assert set(Counter(pod["spec"]["nodeName"] for pod in pods).values()) == {5}
    assert len({pod["metadata"]["labels"]["app"] for pod in pods}) == LABEL_SETS
    assert len({pod["metadata"]["name"] for pod in pods}) == 2000


def test_running_pods_leave_capacity_for_the_waiting_pods() -> None:
    [(_, crowd)], [(_, pod)] = running(1, 1), waiting(1)
    there, here = msgspec.json.decode(crowd), msgspec.json.decode(pod)
    assert there["metadata"]["namespace"] != here["metadata"]["namespace"]
    assert not there["metadata"]["labels"].items() & here["metadata"]["labels"].items()


def test_the_table_has_a_row_for_each_side_and_crowd(result: Result) -> None:
    other = replace(result, side="kube-scheduler", peak_bytes=300 << 20, start_seconds=2.5)
    console = Console(file=io.StringIO(), width=200)
    console.print(table("title", {0: (other, result), 1000: (other, result)}))
    output = console.file
    assert isinstance(output, io.StringIO)
    rows = [
        [cell.strip() for cell in line.strip("│ ").split("│")]
        for line in output.getvalue().splitlines()
        if line.startswith("│")
    ]
    assert [row[:2] for row in rows] == [
        ["0", "kube-scheduler"],
        ["0", "muster"],
        ["1,000", "kube-scheduler"],
        ["1,000", "muster"],
    ]
    assert rows[0][4:6] == ["300", "2.5"]
    assert rows[1][2:5] == ["100", "1.00", "100"]
