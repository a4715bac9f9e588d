"""Plays kube-scheduler's own benchmark against both sides: `python -m bench.upstream [--workload TITLE]... [-o json]`.

scheduler_perf's workloads are read from the Go module of Kubernetes, which Go fetches if it is not there, and played by
`bench.scheduler_perf`. Each side gets a control plane of its own for each workload. A workload that a side ends within
three seconds is played three times by both, and the run of each with the median rate counts. Reported are the rate of
bindings, the times from creation to binding and of attempts to schedule, CPU and memory. Test cases that cannot be
played are reported with the reason. A run that fails is reported after all measurements.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import click
from rich.console import Console
from rich.table import Table

from bench.failures import FAILURES, text_of
from bench.progress import Bars, Display
from bench.provenance import REPOSITORY, DirtyTreeError, measured_commit
from bench.scheduler_perf.choice import AS_THEY_ARE, FACTOR, LEFT_OUT, SCALED, chosen
from bench.scheduler_perf.collecting import Found
from bench.scheduler_perf.configuration import MissingSourceError, UnknownWorkloadError, Workload, read, source
from bench.scheduler_perf.trial import run, sides
from bench.sides import KUBE_SCHEDULER, MUSTER
from tests.controlplane.binaries import KUBERNETES_VERSION, MissingBinaryError

_NONE = "-"
_SHORT_SECONDS = 3.0
_PLAYS_OF_SHORT = 3
"""Single runs of short workloads vary by half."""
Row = dict[str, Any]
"""What was measured of a workload, and what failed."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Rows of a run that may be interrupted, one a line of a file; without a path nothing is kept."""

    path: Path | None = None

    @classmethod
    def of(cls, factor: Fraction) -> Self:
        """The journal of this commit and this size of workloads. Raises `DirtyTreeError`."""
        size = f"{factor.numerator}-of-{factor.denominator}"
        return cls(REPOSITORY / "build" / f"upstream-{measured_commit()}-{size}.jsonl")

    def read(self) -> dict[str, Row]:
        """The rows by workload; a line that was cut off is left out."""
        if self.path is None or not self.path.exists():
            return {}
        whole, newline, _cut = self.path.read_text().rpartition("\n")
        self.path.write_text(whole + newline)
        rows: list[Row] = [json.loads(line) for line in whole.splitlines()]
        return {row["workload"]: row for row in rows}

    def add(self, row: Row) -> None:
        """Keep one more row, unless something failed, so that it is measured again."""
        if self.path is not None and not row["failures"]:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def end(self) -> None:
        """Forget all rows: the next run begins anew."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def measure(workload: Workload, display: Display) -> Row:
    """Both sides in their turn. Raises `MissingBinaryError`, without which nothing can be measured."""
    runs: dict[str, list[Found]] = {side.name: [] for side in sides(workload)}
    failures: dict[str, str] = {}
    plays = 0
    while not plays or (plays < _PLAYS_OF_SHORT and any(map(_is_short, runs.values()))):
        plays += 1
        for side in sides(workload):
            if side.name in failures:
                continue
            try:
                runs[side.name].append(run(side, workload, display))
            except MissingBinaryError:
                raise
            except FAILURES as error:
                failures[side.name] = text_of(error)
                runs[side.name].clear()
    return {
        "topic": workload.topic,
        "workload": workload.title,
        "scaled": workload.title in SCALED,
        "plays": plays,
        "sides": {name: asdict(_median(found)) for name, found in runs.items() if found},
        "failures": failures,
    }


def _is_short(runs: Sequence[Found]) -> bool:
    return any(each.pods < _SHORT_SECONDS * each.pods_per_second for each in runs)


def _median(runs: Sequence[Found]) -> Found:
    return sorted(runs, key=attrgetter("pods_per_second"))[len(runs) // 2]


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
@click.option("--factor", type=Fraction, default=str(FACTOR), help="So much of the objects of large workloads is made.")
@click.option("--resume", is_flag=True, help="Continue an interrupted run of this commit.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(titles: Sequence[str], factor: Fraction, resume: bool, output: str) -> None:
    """Measure Muster and kube-scheduler on the workloads of kube-scheduler's own benchmark."""
    try:
        workloads = chosen(list(read(source())), titles or (*AS_THEY_ARE, *SCALED), factor)
        journal = Journal.of(factor) if resume else Journal()
    except UnknownWorkloadError as error:
        raise click.UsageError(f"scheduler_perf has no workload {error}") from error
    except (MissingSourceError, DirtyTreeError) as error:
        raise click.ClickException(str(error)) from error
    rows: list[Row] = []
    try:
        with Bars() as bars:
            measure_all(workloads, journal, bars, rows)
    except MissingBinaryError as error:
        raise click.ClickException(str(error)) from error
    finally:
        if output == "json":
            print(json.dumps(document(rows, factor), indent=2))
        elif rows:
            Console().print(table(rows))
    if faults := [f"{side}, {row['workload']}: {text}" for row in rows for side, text in row["failures"].items()]:
        raise click.ClickException("\n\n".join(faults))
    journal.end()


def measure_all(workloads: Sequence[Workload], journal: Journal, display: Display, rows: list[Row]) -> None:
    """Add a row for each workload: that of the journal, or a new one, which it keeps then. Raises as `measure` does."""
    known = journal.read()
    for workload in workloads:
        if (row := known.get(workload.title)) is None:
            row = measure(workload, display)
            journal.add(row)
        rows.append(row)


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
