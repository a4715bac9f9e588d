"""The start of gangs by Muster: `python -m bench.gangs [--nodes N] [--gangs N] [--size N] [-o json]`.

It measures two things, with groups that need all of their pods:

- a backlog of gangs, drained as `bench.drain` drains single pods, against kube-scheduler with as many single pods;
- arrivals: as many gangs again, created one after another while Muster runs.

A gang with an unbound pod at the end is a failure, as in `bench.drain`.
"""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import click
import uvloop
from rich.console import Console

from bench import scale
from bench.arrivals import Waits, arrive
from bench.failures import reporting_failures
from bench.podgroups import gang_names, make_gang
from bench.progress import Display
from bench.report import document, table
from bench.sides import KUBE_SCHEDULER, MUSTER
from bench.trial import Backlog, Result, control_plane, measure, run
from tests.controlplane.plane import ControlPlane

CRD = Path(__file__).parents[1] / "deploy" / "crds" / "scheduling.x-k8s.io_podgroups.yaml"
KIND = "crd/podgroups.scheduling.x-k8s.io"


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--gangs", type=click.IntRange(3), default=100, help="Gangs in the backlog, and gangs that arrive.")
@click.option("--size", type=click.IntRange(1), default=30, help="Pods of a gang.")
@click.option("--crd", type=click.Path(exists=True, path_type=Path), default=CRD, help="Definition of PodGroups.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, gangs: int, size: int, crd: Path, output: str) -> None:
    """Measure how fast Muster starts groups of pods, beside kube-scheduler with single pods."""
    pods = gangs * size
    if (fault := scale.overfull(nodes, 2 * pods)) is not None:
        raise click.UsageError(fault)
    with reporting_failures() as bars:
        plain = run(KUBE_SCHEDULER, Backlog(list(scale.nodes(nodes)), list(scale.pods(pods))), bars)
        grouped, waits = _start_gangs(nodes, gangs, size, crd, bars)
    if output == "json":
        print(json.dumps({"backlog": document([plain, grouped]), "arrivals": asdict(waits)}, indent=2))
        return
    title = f"{gangs:,} gangs of {size:,} on {nodes:,} nodes; {KUBE_SCHEDULER.name}: {pods:,} single pods"
    console = Console()
    console.print(table(title, [plain, grouped], subject=MUSTER.name, baseline=KUBE_SCHEDULER.name))
    console.print(
        f"{gangs:,} more gangs one after another: from a gang's last pod to its start "
        f"{waits.p50:.3f} s (median), {waits.p99:.3f} s (p99), {waits.longest:.3f} s (longest)"
    )


def _start_gangs(nodes: int, count: int, size: int, crd: Path, display: Display) -> tuple[Result, Waits]:
    """Run Muster with a backlog of gangs, then with arriving gangs. Raises one of `FAILURES`."""
    backlog = [make_gang(name, size) for name in gang_names(count)]
    pods = [pod for gang in backlog for pod in gang.pods.values()]
    arrivals = [make_gang(name, size) for name in gang_names(count, prefix="late")]
    with control_plane(MUSTER, display) as plane, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        serve_pod_groups(plane, crd)
        filled = Backlog(list(scale.nodes(nodes)), pods, [gang.group for gang in backlog])
        result = runner.run(measure(MUSTER, filled, plane, display))
        waits = runner.run(arrive(arrivals, plane, display, bound=len(pods)))
    return result, waits


def serve_pod_groups(plane: ControlPlane, crd: Path = CRD) -> None:
    """Create the definition of PodGroups, and wait until the API serves them."""
    plane.kubectl("apply", f"--filename={crd}")
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", KIND)


if __name__ == "__main__":
    main()
