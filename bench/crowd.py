"""Drains one backlog beside ever more running pods: `python -m bench.crowd [--nodes N] [--running N]...`.

A scheduler's cost per pod should not depend on the number of running pods; its memory does. Running pods have 500
different sets of labels. The pending pods have anti-affinity by host, so each is compared with all running pods. A
failed run is reported after all measurements.

A scheduler is ready when it has listed all running pods, which its first binding shows. To measure only that, with
40,000 pods: `--running 40000 --pods 2`.
"""

import json
from collections.abc import Iterator, Mapping

import click
from rich.console import Console
from rich.table import Table

from bench import scale
from bench.progress import Bars
from bench.report import document
from bench.scale import Body
from bench.series import Pair, Series, finished
from bench.shapes import HOST, WEB
from bench.trial import Backlog
from tests.controlplane.binaries import MissingBinaryError

LABEL_SETS = 500
_MEBIBYTE = 1 << 20


def running(count: int, node_count: int) -> Iterator[Body]:
    """Running pods, equally many on each node, with `LABEL_SETS` sets of labels."""
    for number in range(count):
        app = f"app-{number % LABEL_SETS:03}"
        yield scale.running_pod(f"{app}-{number:06}", scale.node_name(number % node_count), {"app": app})


def waiting(count: int) -> Iterator[Body]:
    """The waiting pods."""
    return (
        scale.shaped_pod(f"pod-{number:05}", lambda pod: pod.labels(WEB).apart(HOST, WEB)) for number in range(count)
    )


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--pods", type=click.IntRange(2), default=1000, help="Pods in the backlog.")
@click.option(
    "--running", "crowds", type=click.IntRange(0), multiple=True, default=(0, 100_000, 150_000), help="Pods that run."
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, pods: int, crowds: tuple[int, ...], output: str) -> None:
    """Measure Muster and kube-scheduler where many pods run."""
    if pods > nodes:
        raise click.UsageError(f"{nodes} nodes have no capacity for {pods} pods that keep apart by host")
    if max(crowds) > nodes * scale.RUNNING_PER_NODE:
        raise click.UsageError(f"{nodes} nodes have no capacity for {max(crowds)} running pods")
    found: dict[int, Pair] = {}
    try:
        with Bars() as bars:
            series = Series(bars)
            for crowd in crowds:
                backlog = Backlog(list(scale.nodes(nodes)), list(waiting(pods)), list(running(crowd, nodes)))
                found[crowd] = series.run(f"{crowd:,} running pods", backlog)
    except MissingBinaryError as error:
        raise click.ClickException(str(error)) from error
    finally:
        if output == "json":
            print(json.dumps({crowd: document(finished(pair)) for crowd, pair in found.items()}, indent=2))
        elif found:
            Console().print(table(f"{pods:,} pods that keep apart by host, on {nodes:,} nodes", found))
    series.end()


def table(title: str, found: Mapping[int, Pair]) -> Table:
    """A table with a row for each crowd and each side that did not fail."""
    made = Table(title=title, title_justify="left")
    made.add_column("running pods", justify="right")
    made.add_column("", no_wrap=True)
    for column in ("pods/s", "CPU ms a pod", "peak memory, MiB", "s to first binding", "machine used by others, %"):
        made.add_column(column, justify="right")
    for crowd, pair in found.items():
        for result in finished(pair):
            made.add_row(
                f"{crowd:,}",
                result.side,
                f"{result.pods_per_second:,.0f}",
                f"{1e3 * result.cpu_per_pod:.2f}",
                f"{result.peak_bytes / _MEBIBYTE:,.0f}",
                f"{result.start_seconds:.1f}",
                f"{1e2 * result.others_share:.0f}",
            )
    return made


if __name__ == "__main__":
    main()
