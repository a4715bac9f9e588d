"""The rates of pods that depend on other pods, by shape and side: `python -m bench.shapes [--pods N] …`.

A shape is the constraint of all pods of a backlog: anti-affinity by host, affinity in a zone, spread over zones,
preferred affinity, default spread of a Service, a volume or a device each. Plain pods come first, for comparison with
each shape. A run that fails is reported after all measurements.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from bench import scale, volumes
from bench.client import Client
from bench.progress import Bars
from bench.report import document
from bench.scale import NAMESPACE, Body
from bench.series import Pair, Series, finished
from bench.sides import KUBE_SCHEDULER, MUSTER
from bench.trial import Backlog, Result
from tests.builders import PodDict
from tests.controlplane.binaries import MissingBinaryError
from tests.dynamicresources.objects import GPU, device, exactly, make_claim, make_class, make_slice

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"app": "web"}
SERVICE: Mapping[str, Any] = {
    "metadata": {"name": "web", "namespace": NAMESPACE},
    "spec": {"selector": WEB, "ports": [{"port": 80}]},
}
_DEVICES = "/apis/resource.k8s.io/v1"
_DEVICES_PER_NODE = 8
_CLAIMING_PODS = 500
_NONE = "-"


def _nothing(nodes: int, pods: int) -> Iterator[Body]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Shape:
    """A constraint of a backlog's pods, and the objects that it needs.

    Attributes:
        wish: adds the constraint to a pod.
        objects: returns the further objects for so many nodes and pods.
        most: the largest backlog that is measured; None for no limit.
        controllers: the controllers of kube-controller-manager that have to run.
        beside: the other tasks that have to run.
    """

    wish: Callable[[PodDict], PodDict]
    objects: Callable[[int, int], Iterator[Body]] = _nothing
    most: int | None = None
    controllers: Sequence[str] = ()
    beside: Callable[[Client], Awaitable[None]] | None = None

    def count(self, asked: int) -> int:
        """The number of pods that is measured, if `pods` are requested."""
        return asked if self.most is None else min(asked, self.most)

    def pods(self, count: int) -> Iterator[Body]:
        """The pods of the backlog."""
        return (scale.shaped_pod(_pod_name(number), self.wish) for number in range(count))


def _pod_name(number: int) -> str:
    return f"pod-{number:05}"


def _service(nodes: int, pods: int) -> Iterator[Body]:
    yield f"/api/v1/namespaces/{NAMESPACE}/services", msgspec.json.encode(SERVICE)


def _volumes(nodes: int, pods: int) -> Iterator[Body]:
    yield from volumes.storage(map(_pod_name, range(pods)))


def _with_device(pod: PodDict) -> PodDict:
    pod["spec"]["resourceClaims"] = [{"name": "device", "resourceClaimName": pod["metadata"]["name"]}]
    return pod


def _devices(nodes: int, pods: int) -> Iterator[Body]:
    """A device class, equally many devices on each node, and a claim of one device for each pod."""
    of_class = make_class("gpu", f"device.driver == '{GPU}'")
    yield f"{_DEVICES}/deviceclasses", msgspec.json.encode(of_class)
    devices = [device(f"gpu-{number}", model="a100") for number in range(_DEVICES_PER_NODE)]
    for number in range(nodes):
        name = scale.node_name(number)
        yield f"{_DEVICES}/resourceslices", msgspec.json.encode(make_slice(name, *devices, node=name))
    for number in range(pods):
        claim = make_claim(_pod_name(number), exactly(1))
        claim["metadata"] = {"name": _pod_name(number)}
        yield f"{_DEVICES}/namespaces/{NAMESPACE}/resourceclaims", msgspec.json.encode(claim)


PLAIN = "plain"
SHAPES: Mapping[str, Shape] = {
    PLAIN: Shape(lambda pod: pod),
    "anti-affinity by host": Shape(lambda pod: pod.labels(WEB).apart(HOST, WEB)),
    "affinity by zone": Shape(lambda pod: pod.labels(WEB).near(ZONE, WEB)),
    "spread over zones": Shape(lambda pod: pod.labels(WEB).spread(ZONE, WEB)),
    "preferred affinity": Shape(lambda pod: pod.labels(WEB).near(ZONE, WEB, weight=10)),
    "default spread of a Service": Shape(lambda pod: pod.labels(WEB), _service),
    "one volume": Shape(volumes.mounting, _volumes, _CLAIMING_PODS, volumes.CONTROLLERS, volumes.provision),
    "one device": Shape(_with_device, _devices, most=_CLAIMING_PODS),
}


def too_many(node_count: int, pod_count: int) -> str | None:
    """Why so many pods of every shape do not fit on so many nodes; None if they fit."""
    if pod_count > node_count:
        return f"{node_count} nodes have no capacity for {pod_count} pods that keep apart by host"
    in_a_zone = node_count // scale.ZONES
    fault = scale.overfull(in_a_zone, pod_count)
    return None if fault is None else f"in one zone of {scale.ZONES}, {fault}"


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(3), default=5000, help="Nodes in the cluster.")
@click.option("--pods", type=click.IntRange(2), default=2000, help="Pods in each backlog.")
@click.option("--shape", "names", type=click.Choice(list(SHAPES)), multiple=True, help="Only these, after plain pods.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, pods: int, names: tuple[str, ...], output: str) -> None:
    """Measure Muster and kube-scheduler with pods that depend on other pods."""
    if (fault := too_many(nodes, pods)) is not None:
        raise click.UsageError(fault)
    found: dict[str, Pair] = {}
    try:
        with Bars() as bars:
            series = Series(bars)
            for name in dict.fromkeys((PLAIN, *(names or SHAPES))):
                shape = SHAPES[name]
                count = shape.count(pods)
                others = list(shape.objects(nodes, count))
                waiting = list(shape.pods(count))
                backlog = Backlog(list(scale.nodes(nodes)), waiting, others, shape.controllers, shape.beside)
                found[name] = series.run(name, backlog)
    except MissingBinaryError as error:
        raise click.ClickException(str(error)) from error
    finally:
        if output == "json":
            print(json.dumps({name: document(finished(pair)) for name, pair in found.items()}, indent=2))
        elif found:
            Console().print(table(f"{pods:,} pods of each shape on {nodes:,} nodes, pods/s", found))
    series.end()


def table(title: str, found: Mapping[str, Pair]) -> Table:
    """A row for each shape: both sides' rates, their ratio, and Muster's rate relative to its rate of plain pods.

    A side that failed has no rate.
    """
    made = Table(title=title, title_justify="left")
    made.add_column(no_wrap=True)
    columns = KUBE_SCHEDULER.name, MUSTER.name, f"{MUSTER.name} / {KUBE_SCHEDULER.name}", f"{MUSTER.name} / its plain"
    for column in (*columns, "machine used by others, %"):
        made.add_column(column, justify="right")
    plain = found[PLAIN][1]
    for name, pair in found.items():
        baseline, subject = pair
        rates = (f"{each.pods_per_second:,.0f}" if each else _NONE for each in pair)
        others = (f"{1e2 * each.others_share:.0f}" if each else _NONE for each in pair)
        made.add_row(name, *rates, _ratio(subject, baseline), _ratio(subject, plain), ", ".join(others))
    return made


def _ratio(subject: Result | None, baseline: Result | None) -> str:
    if subject is None or baseline is None:
        return _NONE
    return f"{subject.pods_per_second / baseline.pods_per_second:.2f}"


if __name__ == "__main__":
    main()
