"""Drains one backlog of pods with each side in turn: `python -m bench.drain [--nodes N] [--pods N] [-o json]`.

The sides are kube-scheduler, Muster, and the ceiling, which only writes what a scheduler has to write. They take turns,
`--runs` times, and the medians are reported. `trial` says what is measured and why the comparison is fair. If a side
leaves a pod unbound, binds one twice or loses an Event, the benchmark ends with a description and exit code 1.
"""

import json

import click
from rich.console import Console

from bench import scale
from bench.failures import reporting_failures
from bench.report import median_document, median_result, table
from bench.sides import KUBE_SCHEDULER, MUSTER, SIDES
from bench.trial import Backlog, run


class _Sides(click.ParamType[list[str]]):
    """The type of an option with names of sides, joined by commas."""

    name = "sides"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        names = list(dict.fromkeys(str(value).split(",")))
        for name in names:
            if name not in SIDES:
                self.fail(f"{name!r} is not one of {', '.join(SIDES)}", param, ctx)
        return names


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--pods", type=click.IntRange(2), default=3000, help="Pods in the backlog.")
@click.option("--order", type=_Sides(), default=",".join(SIDES), help="Which sides to measure, in this order.")
@click.option("--runs", type=click.IntRange(1), default=1, help="How often each side is measured; the median counts.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, pods: int, order: list[str], runs: int, output: str) -> None:
    """Measure Muster and kube-scheduler side by side, each with the same backlog of pods."""
    if (fault := scale.overfull(nodes, pods)) is not None:
        raise click.UsageError(fault)
    backlog = Backlog(list(scale.nodes(nodes)), list(scale.pods(pods)))
    with reporting_failures() as bars:
        measured = [[run(SIDES[name], backlog, bars) for name in order] for _ in range(runs)]
    if output == "json":
        print(json.dumps(median_document(measured), indent=2))
        return
    title = f"{pods:,} pods on {nodes:,} nodes, median of {runs}" if runs > 1 else f"{pods:,} pods on {nodes:,} nodes"
    medians = [median_result(results) for results in zip(*measured, strict=True)]
    Console().print(table(title, medians, subject=MUSTER.name, baseline=KUBE_SCHEDULER.name))


if __name__ == "__main__":
    main()
