"""The cost of quotas: `python -m bench.quotas [--nodes N] [--pods N] [--runs N] [-o json]`.

The same number of pods is drained on the stand-in (`bench.stand_in`) without quotas, in five namespaces with a quota
each, and in 500, first without and then with quotas: many namespaces cost something by themselves. Half of the
quotas guarantee less than their namespaces ask for, so half of the namespaces borrow in the end; nothing waits. The
stand-in keeps and streams the statuses that Muster writes of quotas. The cases take turns, forwards and backwards, and
each rate is compared with that without quotas of the same round; the medians of all rounds are reported.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from bench import scale
from bench.failures import reporting_failures
from bench.scale import POD_CPU, SCHEDULER_NAME, Body
from bench.stand_in import NODES, PODS, Cluster, Drained, document, run
from bench.tables.speed import FIVE_QUOTAS, MANY_QUOTAS, NAMESPACES_ALONE, NO_QUOTAS, relative
from tests.builders import make_pod
from tests.capacityscheduling.objects import make_quota

QUOTAS = "/apis/scheduling.x-k8s.io/v1alpha1/elasticquotas"


@dataclass(frozen=True, slots=True)
class SharedCluster(Cluster):
    """A cluster whose backlog is spread evenly over namespaces, each with a quota or none."""

    namespaces: int
    has_quotas: bool

    def objects(self) -> Mapping[str, Iterable[Body]]:
        """All objects, by the paths of their lists."""
        found: dict[str, Iterable[Body]] = {NODES: scale.nodes(self.nodes), PODS: self._backlog()}
        return found | {QUOTAS: self._quotas()} if self.has_quotas else found

    def _backlog(self) -> Iterator[Body]:
        for number in range(self.pods):
            pod = make_pod(f"pod-{number:05}", namespace=self._namespace(number)).scheduler(SCHEDULER_NAME)
            yield PODS, msgspec.json.encode(pod.requests(cpu=f"{POD_CPU}m", memory="500Mi"))

    def _quotas(self) -> Iterator[Body]:
        """The quotas: together they guarantee what all pods ask for, in turn too little and too much."""
        asked = POD_CPU * -(-self.pods // self.namespaces)
        pairs = self.namespaces // 2
        for number in range(self.namespaces):
            more = 0 if number >= 2 * pairs else asked // 2
            least = asked + (more if number % 2 else -more)
            made = make_quota(self._namespace(number), min={"cpu": f"{least}m"}, max={"cpu": f"{2 * asked}m"})
            yield QUOTAS, msgspec.json.encode(made)

    def _namespace(self, number: int) -> str:
        return f"team-{number % self.namespaces:03}"


def cases(nodes: int, pods: int) -> Mapping[str, SharedCluster]:
    """The clusters that are compared."""
    kinds = (
        (NO_QUOTAS, 1, False),
        (FIVE_QUOTAS, 5, True),
        (NAMESPACES_ALONE, 500, False),
        (MANY_QUOTAS, 500, True),
    )
    return {name: SharedCluster(nodes, 0, pods, namespaces, quotas) for name, namespaces, quotas in kinds}


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--pods", type=click.IntRange(2), default=10_000, help="Pods in the backlog.")
@click.option("--runs", type=click.IntRange(1), default=9, help="How often each case is measured; the median counts.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, pods: int, runs: int, output: str) -> None:
    """Measure what quotas cost Muster's event loop with a stub API server."""
    if (fault := scale.overfull(nodes, pods)) is not None:
        raise click.UsageError(fault)
    clusters = dict(cases(nodes, pods))
    drained: dict[str, list[Drained]] = {name: [] for name in clusters}
    with reporting_failures() as bars:
        for number in range(runs):
            for name in reversed([*clusters]) if number % 2 else clusters:
                drained[name].append(run(clusters[name], bars))
    found = {name: document(each) for name, each in drained.items()}
    if output == "json":
        print(json.dumps(found, indent=2))
    else:
        Console().print(table(found))


def table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """A table with a row of medians for each case."""
    made = Table(title="the cost of quotas", title_justify="left")
    for column in ("", "pods/s", "relative", "CPU ms a pod"):
        made.add_column(column, justify="right" if column else "left")
    for name, each in found.items():
        median = each["median"]
        rates = [f"{median['pods_per_second']:,.0f}", f"{relative(found, name):.3f}"]
        made.add_row(name, *rates, f"{1e3 * median['cpu_per_pod']:.2f}")
    return made


if __name__ == "__main__":
    main()
