"""Free capacity of nodes: how much of a resource each node has free, in bands, grouped by the value of a label.

Pure functions over the snapshot's columns; the views draw the map of nodes and the bars of single nodes from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from muster.framework.model.node import Node
from muster.framework.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from muster.framework.snapshot.resources import Amounts
from muster.framework.snapshot.snapshot import Snapshot

ZONE = "topology.kubernetes.io/zone"
_USUAL = (CPU, MEMORY, PODS)
_BYTES = (MEMORY, EPHEMERAL_STORAGE)
_CLOSING_TAINTS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_MOST_LABELS = 40
_MOST_SHARES = 6
_MOST_VALUES = 400
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_STEP = 1024
_MILLI = 1000


class Band(IntEnum):
    """How much of a node is free, in the order of the legend."""

    FULL = 0
    LITTLE = 1
    SOME = 2
    MUCH = 3
    MOST = 4
    CLOSED = 5
    NONE = 6

    @property
    def words(self) -> str:
        """The name for users."""
        return _WORDS[self]


_WORDS = {
    Band.FULL: "full",
    Band.LITTLE: "up to a quarter free",
    Band.SOME: "up to half free",
    Band.MUCH: "up to three quarters free",
    Band.MOST: "over three quarters free",
    Band.CLOSED: "cordoned or not ready",
    Band.NONE: "offers none of it",
}


_BAND_OF = tuple(Band)


@dataclass(frozen=True, slots=True)
class NodeCapacity:
    """A node with its offered and free amounts of one resource, as the scheduler counts them."""

    name: str
    offered: int
    free: int
    pods: int
    band: Band


@dataclass(frozen=True, slots=True)
class Domain:
    """The nodes with one value of the label, sorted by name; `value` is "" for nodes without the label."""

    value: str
    nodes: Sequence[NodeCapacity]

    @property
    def offered(self) -> int:
        """The capacity of all nodes."""
        return sum(node.offered for node in self.nodes)

    @property
    def free(self) -> int:
        """The free capacity of nodes that accept pods."""
        return sum(max(node.free, 0) for node in self.nodes if node.band is not Band.CLOSED)

    @property
    def bands(self) -> Sequence[tuple[Band, int]]:
        """The number of nodes in each band; empty bands are omitted."""
        counted = Counter(node.band for node in self.nodes)
        return [(band, counted[band]) for band in Band if counted[band]]


@dataclass(frozen=True, slots=True)
class NodeAmounts:
    """The snapshot's amounts of one resource, copied so that another thread may use them.

    Attributes:
        nodes: the nodes; `offered`, `free` and `pods` have the same order.
        offered, free, pods: each node's offered and free amount of the resource, and its number of pods.
        resources: the resources that some node offers, the usual ones first.
    """

    nodes: Sequence[Node]
    offered: Amounts
    free: Amounts
    pods: Amounts
    resources: Sequence[str]

    @classmethod
    def of(cls, snapshot: Snapshot, resource: str) -> NodeAmounts:
        """Copy the columns. The amounts of an unknown resource are zero."""
        rows = snapshot.live_rows()
        offered, taken = _offered_and_taken(snapshot, resource)
        nodes = [node for row in rows.tolist() if (node := snapshot.nodes[row]) is not None]
        return cls(nodes, offered, offered - taken, snapshot.resources.pod_count[rows], resources(snapshot))


def resources(snapshot: Snapshot) -> list[str]:
    """The resources that some node offers, the usual ones first."""
    offered = {name for name, total in snapshot.resources.offered_in_all().items() if total}
    return [*_USUAL, *sorted(offered.difference(_USUAL))]


def labels(nodes: Iterable[Node]) -> list[str]:
    """Labels whose values are suitable domains: more than one node for a value, and a limited number of values."""
    values: dict[str, set[str]] = {}
    holders: Counter[str] = Counter()
    for node in nodes:
        for name, value in node.metadata.labels.items():
            holders[name] += 1
            values.setdefault(name, set()).add(value)
    suitable = [
        name
        for name, found in values.items()
        if len(found) <= _MOST_VALUES and (len(found) < holders[name] or holders[name] == 1)
    ]
    return sorted(suitable, key=lambda name: (not name.startswith("topology."), name))[:_MOST_LABELS]


def capacities(columns: NodeAmounts) -> list[NodeCapacity]:
    """The capacity of every node, in the order of the columns."""
    bands = _bands(columns.offered, columns.free)
    amounts = columns.offered.tolist(), columns.free.tolist(), columns.pods.tolist()
    found = zip(columns.nodes, *amounts, bands, strict=True)
    return [
        NodeCapacity(node.metadata.name, offered, free, pods, Band.CLOSED if accepts_no_pods(node) else band)
        for node, offered, free, pods, band in found
    ]


def domains(columns: NodeAmounts, label: str) -> list[Domain]:
    """The nodes by the value of a label, nodes without the label last; for the label "", one domain of all nodes."""
    found: dict[str, list[NodeCapacity]] = {}
    for node, capacity in zip(columns.nodes, capacities(columns), strict=True):
        found.setdefault(node.metadata.labels.get(label, ""), []).append(capacity)
    ordered = sorted(found, key=lambda value: (not value, value))
    return [Domain(value, sorted(found[value], key=lambda capacity: capacity.name)) for value in ordered]


def used_shares(snapshot: Snapshot) -> dict[str, float]:
    """The share of each resource's total capacity that pods on nodes request, the usual resources first."""
    found: dict[str, float] = {}
    for resource in resources(snapshot)[:_MOST_SHARES]:
        offered, taken = _offered_and_taken(snapshot, resource)
        total = int(offered.sum())
        if total:
            found[resource] = int(taken.sum()) / total
    return found


def taken_of(snapshot: Snapshot, row: int, resource: str) -> tuple[int, int]:
    """The amount of a resource that one node offers, and the amount that its pods take."""
    columns = snapshot.resources
    if resource == PODS:
        return int(columns.allowed_pods[row]), int(columns.pod_count[row])
    return columns.amount(columns.allocatable, resource, row), columns.amount(columns.requested, resource, row)


def accepts_no_pods(node: Node) -> bool:
    """Whether the node accepts no further pod."""
    return node.spec.unschedulable or any(taint.key in _CLOSING_TAINTS for taint in node.spec.taints)


def amount(resource: str, count: int) -> str:
    """Format an amount: cores, binary units of bytes, or the plain number."""
    if resource == CPU:
        return f"{count / _MILLI:g}" if count % _MILLI else str(count // _MILLI)
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return f"{count}"
    value, unit = float(count), 0
    while abs(value) >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.1f}".removesuffix(".0") + _UNITS[unit]


def _offered_and_taken(snapshot: Snapshot, resource: str) -> tuple[Amounts, Amounts]:
    """The offered and the taken amount of a resource on each node, by live row."""
    rows, columns = snapshot.live_rows(), snapshot.resources
    index = columns.index(resource)
    if resource == PODS:
        return columns.allowed_pods[rows], columns.pod_count[rows]
    if index is None:
        none = np.zeros(len(rows), np.int64)
        return none, none
    return columns.allocatable[index, rows], columns.requested[index, rows]


def _bands(offered: Amounts, free: Amounts) -> list[Band]:
    share = np.divide(free, offered, out=np.zeros(len(free)), where=offered > 0)
    quarters = np.ceil(np.clip(share, 0.0, 1.0) * Band.MOST)
    return [_BAND_OF[int(band)] for band in np.where(offered > 0, quarters, Band.NONE).tolist()]
