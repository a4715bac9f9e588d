"""The start of native gangs by both sides: `python -m bench.native [--nodes N] [--gangs N] [-o json]`.

Both get the same PodGroups of scheduling.k8s.io, each of which needs all of its pods, on control planes that serve
them; kube-scheduler's feature gate for them is on. The sides take turns, `--runs` times, and the medians are reported.
A run that fails ends the benchmark as in `bench.drain`.
"""

import asyncio
import json

import click
import uvloop
from rich.console import Console

from bench import scale
from bench.failures import reporting_failures
from bench.podgroups import gang_names, make_native_gang
from bench.progress import Display
from bench.report import median_document, median_result, table
from bench.sides import KUBE_SCHEDULER, MUSTER, Side
from bench.trial import Backlog, Result, control_plane, measure
from tests.controlplane import commands
from tests.controlplane.plane import ControlPlane

GATES = {"GenericWorkload": True}
SERVED = {"scheduling.k8s.io/v1beta1": True}


def _with_gates(plane: ControlPlane) -> list[str]:
    return [*KUBE_SCHEDULER.command(plane), *commands.switches("feature-gates", GATES)]


GATED = Side(KUBE_SCHEDULER.name, _with_gates)
"""The side kube-scheduler with support for groups."""


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--gangs", type=click.IntRange(3), default=100, help="Gangs in the backlog.")
@click.option("--size", type=click.IntRange(1), default=30, help="Pods of a gang.")
@click.option("--runs", type=click.IntRange(1), default=1, help="How often each side is measured; the median counts.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, gangs: int, size: int, runs: int, output: str) -> None:
    """Measure how fast both sides start native groups."""
    pods = gangs * size
    if (fault := scale.overfull(nodes, pods)) is not None:
        raise click.UsageError(fault)
    made = [make_native_gang(name, size) for name in gang_names(gangs)]
    groups, members = [gang.group for gang in made], [pod for gang in made for pod in gang.pods.values()]
    with reporting_failures() as bars:
        backlog = Backlog(list(scale.nodes(nodes)), members, groups)
        measured = [[_run(side, backlog, bars) for side in (GATED, MUSTER)] for _ in range(runs)]
    if output == "json":
        print(json.dumps(median_document(measured), indent=2))
        return
    title = f"{gangs:,} native gangs of {size:,} on {nodes:,} nodes"
    medians = [median_result(results) for results in zip(*measured, strict=True)]
    Console().print(table(title, medians, subject=MUSTER.name, baseline=KUBE_SCHEDULER.name))


def _run(side: Side, backlog: Backlog, display: Display) -> Result:
    with (
        control_plane(side, display, feature_gates=GATES, runtime_config=SERVED) as plane,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(measure(side, backlog, plane, display))


if __name__ == "__main__":
    main()
