"""Free capacity of nodes: how much of a resource each has free, in bands, by the value of a label.

Pure functions over the snapshot's columns; the map of nodes and the bars of single nodes are drawn from them.
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
    """How much of a node is free. Order is that of the legend."""

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
    """A node with what it offers of one resource and what is free of that, as the scheduler counts."""

    name: str
    offered: int
    free: int
    pods: int
    band: Band


@dataclass(frozen=True, slots=True)
class Domain:
    """The nodes with one value of the label, by name; `value` is "" for those without the label."""

    value: str
    nodes: Sequence[NodeCapacity]

    @property
    def offered(self) -> int:
        """The capacity of all of them."""
        return sum(node.offered for node in self.nodes)

    @property
    def free(self) -> int:
        """On those that take pods."""
        return sum(max(node.free, 0) for node in self.nodes if node.band is not Band.CLOSED)

    @property
    def bands(self) -> Sequence[tuple[Band, int]]:
        """How many nodes are in each band, those bands that have some."""
        counted = Counter(node.band for node in self.nodes)
        return [(band, counted[band]) for band in Band if counted[band]]


@dataclass(frozen=True, slots=True)
class NodeAmounts:
    """The snapshot's amounts of one resource, copied out at once: the rest may be done in another thread.

    Attributes:
        nodes: the nodes; the other sequences and arrays go along with them.
        offered, free, pods: how much each offers of the resource, how much of that is free, how many pods it has.
        resources: what some node offers, the usual ones first.
    """

    nodes: Sequence[Node]
    offered: Amounts
    free: Amounts
    pods: Amounts
    resources: Sequence[str]

    @classmethod
    def of(cls, snapshot: Snapshot, resource: str) -> NodeAmounts:
        """The columns now. All nodes offer nothing of a resource that is not known."""
        rows = snapshot.live_rows()
        offered, taken = _offered_and_taken(snapshot, resource)
        nodes = [node for row in rows.tolist() if (node := snapshot.nodes[row]) is not None]
        return cls(nodes, offered, offered - taken, snapshot.resources.pod_count[rows], resources(snapshot))


def resources(snapshot: Snapshot) -> list[str]:
    """The resources that some node offers, the usual ones first."""
    offered = {name for name, total in snapshot.resources.offered_in_all().items() if total}
    return [*_USUAL, *sorted(offered.difference(_USUAL))]


def labels(nodes: Iterable[Node]) -> list[str]:
    """Labels that sort nodes into domains: more than one node to a value, and not too many values."""
    values: dict[str, set[str]] = {}
    holders: Counter[str] = Counter()
    for node in nodes:
        for name, value in node.metadata.labels.items():
            holders[name] += 1
            values.setdefault(name, set()).add(value)
    sorting = [
        name
        for name, found in values.items()
        if len(found) <= _MOST_VALUES and (len(found) < holders[name] or holders[name] == 1)
    ]
    return sorted(sorting, key=lambda name: (not name.startswith("topology."), name))[:_MOST_LABELS]


def capacities(columns: NodeAmounts) -> list[NodeCapacity]:
    """Every node, in the order of the columns."""
    bands = _bands(columns.offered, columns.free)
    amounts = columns.offered.tolist(), columns.free.tolist(), columns.pods.tolist()
    found = zip(columns.nodes, *amounts, bands, strict=True)
    return [
        NodeCapacity(node.metadata.name, offered, free, pods, Band.CLOSED if closed(node) else band)
        for node, offered, free, pods, band in found
    ]


def domains(columns: NodeAmounts, label: str) -> list[Domain]:
    """The nodes by the value of a label, those without it last; all in one for the label ""."""
    found: dict[str, list[NodeCapacity]] = {}
    for node, capacity in zip(columns.nodes, capacities(columns), strict=True):
        found.setdefault(node.metadata.labels.get(label, ""), []).append(capacity)
    ordered = sorted(found, key=lambda value: (not value, value))
    return [Domain(value, sorted(found[value], key=lambda capacity: capacity.name)) for value in ordered]


def used_shares(snapshot: Snapshot) -> dict[str, float]:
    """By resource, the share of what all nodes offer that the pods on them request; the usual resources come first."""
    found: dict[str, float] = {}
    for resource in resources(snapshot)[:_MOST_SHARES]:
        offered, taken = _offered_and_taken(snapshot, resource)
        total = int(offered.sum())
        if total:
            found[resource] = int(taken.sum()) / total
    return found


def taken_of(snapshot: Snapshot, row: int, resource: str) -> tuple[int, int]:
    """The amount that one node offers of a resource, and the amount that is taken."""
    columns = snapshot.resources
    if resource == PODS:
        return int(columns.allowed_pods[row]), int(columns.pod_count[row])
    return columns.amount(columns.allocatable, resource, row), columns.amount(columns.requested, resource, row)


def closed(node: Node) -> bool:
    """Whether the node accepts no further pod."""
    return node.spec.unschedulable or any(taint.key in _CLOSING_TAINTS for taint in node.spec.taints)


def amount(resource: str, count: int) -> str:
    """An amount as people write it: cores, binary units of bytes, else the number."""
    if resource == CPU:
        return f"{count / _MILLI:g}" if count % _MILLI else str(count // _MILLI)
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return f"{count}"
    value, unit = float(count), 0
    while abs(value) >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.1f}".removesuffix(".0") + _UNITS[unit]


def _offered_and_taken(snapshot: Snapshot, resource: str) -> tuple[Amounts, Amounts]:
    """The amounts of a resource that each node offers, and that are taken, by live row."""
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
