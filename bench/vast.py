"""Muster on vast clusters: `python -m bench.vast [--nodes N]... [--density N] [--pods N] [-o json]`.

The same backlog is drained on ever larger clusters, with equally many running pods on each node. For half a million
pods a real API server would need more memory and time than Muster, so `bench.stand_in` replaces it. Muster is ready
when it has listed all objects, which its first Binding shows. If a cluster fails, the clusters measured before are
reported.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench import scale
from bench.failures import reporting_failures
from bench.stand_in import Cluster, document, run

NODES = (5000, 50_000)
_MEBIBYTE = 1 << 20


def overfull(nodes: int, density: int, pods: int) -> str | None:
    """Why so many pods do not fit on nodes with `density` running pods each; None if they fit."""
    each = (scale.NODE_CPU - density * scale.RUNNING_POD_CPU) // scale.POD_CPU
    if pods <= nodes * each:
        return None
    return f"{nodes} nodes have no capacity for {pods} pods: {each} fit on each beside {density} that run"


@click.command(context_settings={"show_default": True})
@click.option("--nodes", "counts", type=click.IntRange(1), multiple=True, default=NODES, help="Nodes in a cluster.")
@click.option(
    "--density", type=click.IntRange(0, scale.RUNNING_PER_NODE), default=10, help="Pods that run on each node."
)
@click.option("--pods", type=click.IntRange(2), default=6000, help="Pods in the backlog.")
@click.option("--runs", type=click.IntRange(1), default=3, help="How often each is measured; the median counts.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(counts: Sequence[int], density: int, pods: int, runs: int, output: str) -> None:
    """Measure Muster's start, memory and rate in clusters of tens of thousands of nodes."""
    if (fault := overfull(min(counts), density, pods)) is not None:
        raise click.UsageError(fault)
    found: dict[int, Mapping[str, Any]] = {}
    try:
        with reporting_failures() as bars:
            for nodes in counts:
                cluster = Cluster(nodes, nodes * density, pods)
                found[nodes] = {"running": cluster.running, **document([run(cluster, bars) for _ in range(runs)])}
    finally:
        if found and output == "json":
            print(json.dumps(found, indent=2))
        elif found:
            Console().print(table(found))


def table(found: Mapping[int, Mapping[str, Any]]) -> Table:
    """A table with a row of medians for each cluster."""
    made = Table(title="a backlog in vast clusters", title_justify="left")
    for column in ("nodes", "running pods", "pods/s", "CPU ms a pod", "peak memory, MiB", "s to first binding"):
        made.add_column(column, justify="right")
    for nodes, cluster in found.items():
        median = cluster["median"]
        made.add_row(
            f"{nodes:,}",
            f"{cluster['running']:,}",
            f"{median['pods_per_second']:,.0f}",
            f"{1e3 * median['cpu_per_pod']:.2f}",
            f"{median['peak_bytes'] / _MEBIBYTE:,.0f}",
            f"{median['start_seconds']:.1f}",
        )
    return made


if __name__ == "__main__":
    main()
