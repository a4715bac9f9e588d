"""The map of nodes, and the page of one node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from muster.framework.model.times import age
from muster.framework.snapshot.snapshot import Snapshot

from ..capacity import (
    ZONE,
    Band,
    Domain,
    NodeAmounts,
    NodeCapacity,
    accepts_no_pods,
    amount,
    domains,
    labels,
    resources,
    taken_of,
)
from .parts import Link, key_link, node_link

_MOST_COLUMNS = 40
_FLATNESS = 2.5
"""The ratio of width to height with which a domain is drawn, up to `_MOST_COLUMNS`."""
_SMALL, _LARGE = 14, 22
_LARGE_BELOW = 400
"""The number of nodes from which on a map is drawn small."""
_MOST_NODES = 500
_MOST_PODS = 500


@dataclass(frozen=True, slots=True)
class Cell:
    """A node on the map."""

    x: int
    y: int
    band: int
    words: str
    path: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A domain's part of the map.

    Attributes:
        name: the label's value.
        path: the path of the list of this domain's nodes.
        summary: a text with the numbers of nodes in the drawing.
        width, height: the size of the drawing.
        large: whether nodes are drawn large.
    """

    name: str
    path: str
    summary: str
    free: str
    offered: str
    count: int
    width: int
    height: int
    large: bool
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node in a list; `share` is how many hundredths of the resource are taken, `percent` the same in words."""

    name: Link
    free: str
    offered: str
    pods: int
    share: int
    percent: str
    state: str


@dataclass(frozen=True, slots=True)
class MapPage:
    """The contents of the map's page.

    Attributes:
        listed: the domain whose nodes are listed; None for no list.
        hidden: the number of this domain's nodes that are not listed.
    """

    resource: str
    label: str
    resources: Sequence[str]
    labels: Sequence[str]
    legend: Sequence[tuple[int, str, int]]
    plots: Sequence[Plot]
    nodes: int
    free: str
    offered: str
    listed: str | None
    rows: Sequence[NodeRow]
    hidden: int


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A resource of a node; `share` is how many hundredths of it are taken, `percent` the same in words."""

    name: str
    offered: str
    taken: str
    free: str
    share: int
    percent: str


@dataclass(frozen=True, slots=True)
class NodePage:
    """The contents of a node's page; `hidden` is the number of pods that are not listed."""

    name: str
    age: str
    closed: bool
    resources: Sequence[ResourceRow]
    labels: Sequence[tuple[str, str]]
    taints: Sequence[str]
    pods: Sequence[tuple[Link, str, str]]
    hidden: int


def map_page(columns: NodeAmounts, *, resource: str, label: str | None, listed: str | None) -> MapPage:
    """Compute the map.

    For a resource that no node has, all nodes offer nothing; for a label that no node has, all are in one domain.
    """
    found = labels(columns.nodes)
    by = label if label is not None else ZONE if ZONE in found else ""
    parts = domains(columns, by)
    rows = next((part.nodes for part in parts if part.value == listed), ()) if listed is not None else ()
    counted = {band: sum(dict(part.bands).get(band, 0) for part in parts) for band in Band}
    pitch = _LARGE if len(columns.nodes) < _LARGE_BELOW else _SMALL
    return MapPage(
        resource=resource,
        label=by,
        resources=columns.resources,
        labels=found,
        legend=[(band.value, band.words, counted[band]) for band in Band if counted[band]],
        plots=[_plot(part, resource, by, pitch) for part in parts],
        nodes=sum(len(part.nodes) for part in parts),
        free=amount(resource, sum(part.free for part in parts)),
        offered=amount(resource, sum(part.offered for part in parts)),
        listed=listed,
        rows=[_row(node, resource) for node in rows[:_MOST_NODES]],
        hidden=max(len(rows) - _MOST_NODES, 0),
    )


def node_page(snapshot: Snapshot, name: str, now: float) -> NodePage | None:
    """Compute the page of a node, None if there is no such node; `now` is in seconds since the epoch."""
    row = snapshot.live_row_of(name)
    node = None if row is None else snapshot.nodes[row]
    if row is None or node is None:
        return None
    pods = sorted(snapshot.pods[row].values(), key=lambda pod: pod.key)
    return NodePage(
        name=name,
        age=age(node.metadata.creation_timestamp, now),
        closed=accepts_no_pods(node),
        resources=[_of_node(snapshot, row, resource) for resource in resources(snapshot)],
        labels=sorted(node.metadata.labels.items()),
        taints=[f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}" for taint in node.spec.taints],
        pods=[
            (
                key_link(pod.key),
                pod.pod.status.phase,
                ", ".join(f"{amount(name, count)} {name}" for name, count in sorted(pod.signature.requests.items())),
            )
            for pod in pods[:_MOST_PODS]
        ],
        hidden=max(len(pods) - _MOST_PODS, 0),
    )


def _plot(part: Domain, resource: str, label: str, pitch: int) -> Plot:
    columns = min(len(part.nodes), _MOST_COLUMNS, math.ceil(math.sqrt(_FLATNESS * len(part.nodes))))
    lines = -(-len(part.nodes) // columns)
    columns = -(-len(part.nodes) // lines)
    return Plot(
        name=part.value,
        path=f"/nodes?{urlencode({'resource': resource, 'label': label, 'in': part.value})}",
        summary=", ".join(f"{count} {band.words}" for band, count in part.bands),
        free=amount(resource, part.free),
        offered=amount(resource, part.offered),
        count=len(part.nodes),
        width=columns * pitch,
        height=lines * pitch,
        large=pitch == _LARGE,
        cells=[
            Cell(
                x=pitch * (index % columns),
                y=pitch * (index // columns),
                band=node.band.value,
                words=f"{node.name}: {amount(resource, node.free)} of {amount(resource, node.offered)} free",
                path=node_link(node.name).path,
            )
            for index, node in enumerate(part.nodes)
        ],
    )


def _row(node: NodeCapacity, resource: str) -> NodeRow:
    taken = node.offered - node.free
    return NodeRow(
        name=node_link(node.name),
        free=amount(resource, node.free),
        offered=amount(resource, node.offered),
        pods=node.pods,
        share=_share(taken, node.offered),
        percent=_percent(taken, node.offered),
        state=node.band.words,
    )


def _of_node(snapshot: Snapshot, row: int, resource: str) -> ResourceRow:
    offered, taken = taken_of(snapshot, row, resource)
    return ResourceRow(
        name=resource,
        offered=amount(resource, offered),
        taken=amount(resource, taken),
        free=amount(resource, offered - taken),
        share=_share(taken, offered),
        percent=_percent(taken, offered),
    )


def _share(taken: int, offered: int) -> int:
    return min(max(100 * taken // offered, 0), 100) if offered > 0 else 0


def _percent(taken: int, offered: int) -> str:
    """The share in words; not 0 % unless nothing is taken."""
    share = _share(taken, offered)
    return "< 1 %" if not share and 0 < taken < offered else f"{share} %"
