"""The speed of Muster's event loop with a stub API server: `python -m bench.loop [--nodes N] [--pods N] [-o json]`.

`bench.stand_in` describes the stub and the measurement.
"""

import json

import click

from bench import scale
from bench.failures import reporting_failures
from bench.stand_in import Cluster, document, run


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--pods", type=click.IntRange(2), default=6000, help="Pods in the backlog.")
@click.option("--runs", type=click.IntRange(1), default=3, help="How often it is measured; the median counts.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, pods: int, runs: int, output: str) -> None:
    """Measure the speed of Muster's event loop with a stub API server."""
    if (fault := scale.overfull(nodes, pods)) is not None:
        raise click.UsageError(fault)
    with reporting_failures() as bars:
        found = document([run(Cluster(nodes, 0, pods), bars) for _ in range(runs)])
    if output == "json":
        print(json.dumps(found, indent=2))
        return
    for label, each in (
        *((f"run {number}", each) for number, each in enumerate(found["runs"], 1)),
        ("median", found["median"]),
    ):
        print(
            f"{label}: {each['pods_per_second']:.0f} pods/s, {1e3 * each['cpu_per_pod']:.2f} ms of CPU a pod,"
            f" first binding after {each['start_seconds']:.1f} s"
        )


if __name__ == "__main__":
    main()
