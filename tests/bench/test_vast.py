"""One backlog in clusters of several sizes, and what was measured before a failure is kept."""

import json
from dataclasses import replace

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from bench import vast
from bench.failures import StalledError
from bench.progress import Display
from bench.stand_in import Cluster, Drained, document
from bench.vast import main, overfull, table

DRAINED = Drained(pods=6000, pods_per_second=900.0, cpu_per_pod=0.001, start_seconds=9.46, peak_bytes=300 << 20)


def test_pods_that_do_not_fit_beside_the_running_ones_are_refused() -> None:
    assert overfull(2, 10, 78) is None
    assert overfull(2, 10, 79) == "2 nodes have no capacity for 79 pods: 39 fit on each beside 10 that run"

    done = CliRunner().invoke(main, ["--nodes=1", "--nodes=500", "--pods=40"])
    assert done.exit_code == 2
    assert "1 nodes have no capacity for 40 pods" in done.output


def test_every_cluster_has_as_many_running_pods_on_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Cluster] = []

    def run(cluster: Cluster, display: Display) -> Drained:
        asked.append(cluster)
        return DRAINED

    monkeypatch.setattr(vast, "run", run)
    done = CliRunner().invoke(main, ["--nodes=10", "--nodes=100", "--density=5", "--pods=20", "--runs=2", "-o", "json"])

    assert asked == [Cluster(10, 50, 20)] * 2 + [Cluster(100, 500, 20)] * 2
    found = json.loads(done.stdout)
    assert {nodes: cluster["running"] for nodes, cluster in found.items()} == {"10": 50, "100": 500}
    assert all(len(cluster["runs"]) == 2 for cluster in found.values())


def test_a_cluster_that_was_measured_is_reported_though_the_next_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(cluster: Cluster, display: Display) -> Drained:
        if cluster.nodes > 10:
            raise StalledError("not ready")
        return DRAINED

    monkeypatch.setattr(vast, "run", run)
    done = CliRunner().invoke(main, ["--nodes=10", "--nodes=100", "--pods=20", "-o", "json"])

    assert done.exit_code == click.ClickException.exit_code
    assert "not ready" in done.stderr
    assert list(json.loads(done.stdout)) == ["10"]


def test_the_table_has_a_row_for_each_cluster() -> None:
    slow = replace(DRAINED, pods_per_second=650.0, start_seconds=51.2, peak_bytes=1500 << 20)
    console = Console(record=True, width=150)
    console.print(
        table({5000: {"running": 50_000, **document([DRAINED])}, 50_000: {"running": 500_000, **document([slow])}})
    )

    text = [" ".join(line.replace("│", " ").split()) for line in console.export_text().splitlines()]
    assert "5,000 50,000 900 1.00 300 9.5" in text
    assert "50,000 500,000 650 1.00 1,500 51.2" in text
