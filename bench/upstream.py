"""Plays kube-scheduler's own benchmark against both sides: `python -m bench.upstream [--workload TITLE]... [-o json]`.

scheduler_perf's workloads are read from the Go module of Kubernetes, which Go fetches if it is not there, and played by
`bench.scheduler_perf`. Each side gets a control plane of its own for each workload. Reported are the rate of bindings,
the times from creation to binding and of attempts to schedule, CPU and memory. Test cases that cannot be played are
reported with the reason. A run that fails is reported after all measurements.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench.failures import FAILURES, text_of
from bench.progress import Bars, Display
from bench.scheduler_perf.choice import AS_THEY_ARE, FACTOR, LEFT_OUT, SCALED, chosen
from bench.scheduler_perf.configuration import MissingSourceError, UnknownWorkloadError, Workload, read, source
from bench.scheduler_perf.trial import run, sides
from bench.sides import KUBE_SCHEDULER, MUSTER
from tests.controlplane.binaries import KUBERNETES_VERSION, MissingBinaryError

_NONE = "-"
Row = dict[str, Any]
"""What was measured of a workload, and what failed."""


def measure(workload: Workload, display: Display) -> Row:
    """Both sides in their turn. Raises `MissingBinaryError`, without which nothing can be measured."""
    found: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for side in sides(workload):
        try:
            found[side.name] = asdict(run(side, workload, display))
        except MissingBinaryError:
            raise
        except FAILURES as error:
            failures[side.name] = text_of(error)
    return {
        "topic": workload.topic,
        "workload": workload.title,
        "scaled": workload.title in SCALED,
        "sides": found,
        "failures": failures,
    }


def document(rows: Sequence[Row], factor: Fraction) -> dict[str, Any]:
    """The result, with what it was measured of and what was left out."""
    return {
        "kubernetes": KUBERNETES_VERSION,
        "factor": float(factor),
        "workloads": list(rows),
        "left_out": [{"case": case, "reason": reason} for case, reason in LEFT_OUT.items()],
    }


@click.command(context_settings={"show_default": True})
@click.option("--workload", "titles", multiple=True, help="Only these, such as SchedulingBasic/5Nodes.")
@click.option("--factor", type=Fraction, default=str(FACTOR), help="How much there is of the objects of large workloads.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(titles: Sequence[str], factor: Fraction, output: str) -> None:
    """Measure Muster and kube-scheduler on the workloads of kube-scheduler's own benchmark."""
    try:
        workloads = chosen(list(read(source())), titles or (*AS_THEY_ARE, *SCALED), factor)
    except UnknownWorkloadError as error:
        raise click.UsageError(f"scheduler_perf has no workload {error}") from error
    except MissingSourceError as error:
        raise click.ClickException(str(error)) from error
    rows: list[Row] = []
    try:
        with Bars() as bars:
            for workload in workloads:
                rows.append(measure(workload, bars))
    except MissingBinaryError as error:
        raise click.ClickException(str(error)) from error
    finally:
        if output == "json":
            print(json.dumps(document(rows, factor), indent=2))
        elif rows:
            Console().print(table(rows))
    if faults := [f"{side}, {row['workload']}: {text}" for row in rows for side, text in row["failures"].items()]:
        raise click.ClickException("\n\n".join(faults))


def table(rows: Sequence[Row]) -> Table:
    """A row for each workload; a side that failed has no figures."""
    names = KUBE_SCHEDULER.name, MUSTER.name
    made = Table(title="scheduler_perf", title_justify="left")
    made.add_column("workload")
    for what in ("pods/s", "p99 from creation to binding, ms", "CPU ms a pod", "MiB"):
        for name in names:
            made.add_column(f"{name}, {what}", justify="right")
    for row in rows:
        both = [row["sides"].get(name) for name in names]
        made.add_row(
            row["workload"],
            *(_figure(side and side["pods_per_second"]) for side in both),
            *(_figure(side and 1e3 * side["waits"]["p99"]) for side in both),
            *(_figure(side and 1e3 * side["cpu_per_pod"], 2) for side in both),
            *(_figure(side and side["peak_bytes"] / (1 << 20)) for side in both),
        )
    return made


def _figure(value: float | None, decimals: int = 0) -> str:
    return _NONE if value is None else f"{value:,.{decimals}f}"


if __name__ == "__main__":
    main()
