"""The snapshot: nodes as rows of columns, with the pods counted on them.

The cache writes it, views and plugins read it. There is one event loop and a scheduling cycle never awaits, so the
snapshot is not a copy: it is the cluster as known now. A node name gets a row when it is first reported (a pod may be
reported before its node), keeps it while the node or a pod on it is known, and the row is reused afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.node import Node
from ..model.pod_info import HostPort, PodInfo
from ..model.requests import amounts
from ..work import checkpoint, shielded
from .journal import Changes, Journal
from .labels import LabelColumns
from .namespaces import NamespaceUsage
from .node_tables import ImageTable, PortTable, TaintColumn
from .relations import PodRelations
from .resources import ResourceColumns
from .volumes import VolumeTable

_FIRST_CAPACITY = 64


class _Change(NamedTuple):
    """A pod that a trial put on a node or took off it. `ports` are the claims on its host ports before."""

    info: PodInfo
    node_name: str
    added: bool
    ports: Sequence[tuple[HostPort, int]]


class Snapshot:
    """Columns over rows, and what happened to them.

    Attributes:
        height: rows ever used; columns are meaningful below it.
        live: bool, shape (capacity,): whether a Node object is known for the row. Others are ghosts or free.
        node_count: number of live rows.
        layout: changes when `height`, the columns' capacity or the set of live rows changed.
        node_journal: rows whose node object changed.
        usage_journal: rows whose node object or pods changed.
        node_changes, usage_changes: the changes that these journals record.
        priorities: how many of the pods on all nodes have which priority.
        namespaces: what the pods of each namespace request, once `usage` was called.
    """

    def __init__(self) -> None:
        capacity = _FIRST_CAPACITY
        self.height = 0
        self.node_count = 0
        self.layout = 0
        self.live: npt.NDArray[np.bool_] = np.zeros(capacity, np.bool_)
        self.unschedulable: npt.NDArray[np.bool_] = np.zeros(capacity, np.bool_)
        self.resources = ResourceColumns(capacity)
        self.labels = LabelColumns(capacity)
        self.taints = TaintColumn(capacity)
        self.images = ImageTable()
        self.ports = PortTable()
        self.relations = PodRelations(capacity)
        self.volumes = VolumeTable()
        self.namespaces = NamespaceUsage()
        self.node_journal = Journal()
        self.usage_journal = Journal()
        self.node_changes = Changes(self, self.node_journal)
        self.usage_changes = Changes(self, self.usage_journal)
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.pods: list[dict[str, PodInfo]] = []
        self.priorities: Counter[int] = Counter()
        self._listed: npt.NDArray[np.intp] = np.zeros(0, np.intp)
        self._listed_at = -1
        self._listed_names: Sequence[str] = ()
        self._names_at = -1
        self._row_of: dict[str, int] = {}
        self._free: list[int] = []
        self._undo: list[_Change] | None = None
        self._before: dict[str, dict[str, PodInfo]] = {}
        """The pods of each node that the trials under way touched, as they were and in their order."""

    def row_of(self, node_name: str) -> int | None:
        """The row of a node that is known by its object or by a pod on it."""
        return self._row_of.get(node_name)

    def live_row_of(self, node_name: str) -> int | None:
        """The row of a node whose object is known."""
        row = self._row_of.get(node_name)
        return row if row is not None and self.live[row] else None

    def live_rows(self) -> npt.NDArray[np.intp]:
        """Rows of known nodes, ascending: the node list. Not to be written to."""
        if self._listed_at != self.layout:
            self._listed = np.flatnonzero(self.live[: self.height])
            self._listed.flags.writeable = False
            self._listed_at = self.layout
        return self._listed

    def names_of(self, rows: npt.NDArray[np.intp]) -> Sequence[str]:
        """The names of these rows. Not to be written to: those of the node list are kept."""
        if rows is not self.live_rows():
            return [self.names[row] for row in rows.tolist()]
        if self._names_at != self.layout:
            self._listed_names = [self.names[row] for row in rows.tolist()]
            self._names_at = self.layout
        return self._listed_names

    def set_node(self, node: Node) -> None:
        """Add the node, or replace what is known of it.

        Raises QuantityError when an allocatable amount cannot be parsed; nothing is changed then.
        """
        allocatable = amounts(node.status.allocatable)
        row = self._claim(node.metadata.name)
        if not self.live[row]:
            self.live[row] = True
            self.node_count += 1
            self.layout += 1
        self.nodes[row] = node
        self.unschedulable[row] = node.spec.unschedulable
        self.resources.set_allocatable(row, allocatable)
        self.labels.set(row, node.metadata.labels)
        self.taints.set(row, node.spec.taints)
        self.images.set(row, node.status.images)
        self._node_changed(row)

    def remove_node(self, name: str) -> None:
        """Forget the node's object. Pods on it stay counted until they are removed themselves."""
        row = self._row_of.get(name)
        if row is None or not self.live[row]:
            return
        self.live[row] = False
        self.node_count -= 1
        self.layout += 1
        self.nodes[row] = None
        self.unschedulable[row] = False
        self.resources.set_allocatable(row, {})
        self.labels.set(row, {})
        self.taints.set(row, ())
        self.images.set(row, ())
        self._node_changed(row)
        self._release_if_unused(row)

    def add_pod(self, info: PodInfo, node_name: str) -> None:
        """Count the pod on the node.

        Raises ValueError when a pod with this UID is counted there already.
        """
        row = self._claim(node_name)
        pods = self._pods_on(node_name, row)
        if info.uid in pods:
            raise ValueError(f"pod {info.key} is already counted on node {node_name}")
        pods[info.uid] = info
        self.priorities[info.priority] += 1
        self.resources.add(row, info.signature)
        self.relations.add(info, row)
        if info.pod.spec.volumes:
            self.volumes.add(row, info)
        if self.namespaces.counting:
            self.namespaces.change(info, 1, tentative=self._undo is not None)
        self.usage_journal.record(row)
        if self._undo is not None:
            self._undo.append(_Change(info, node_name, True, self._try_ports(row, info, claimed=True)))
        elif info.signature.host_ports:
            self.ports.add(row, info.signature.host_ports)

    def remove_pod(self, info: PodInfo, node_name: str) -> None:
        """Stop counting the pod on the node.

        Raises KeyError when it is not counted there.
        """
        row = self._row_of[node_name]
        pods = self._pods_on(node_name, row)
        counted = pods.pop(info.uid)
        self.priorities[counted.priority] -= 1
        if not self.priorities[counted.priority]:
            del self.priorities[counted.priority]
        self.resources.remove(row, counted.signature)
        self.relations.remove(counted, row)
        if counted.pod.spec.volumes:
            self.volumes.remove(row, counted)
        if self.namespaces.counting:
            self.namespaces.change(counted, -1, tentative=self._undo is not None)
        self.usage_journal.record(row)
        if self._undo is not None:
            self._undo.append(_Change(counted, node_name, False, self._try_ports(row, counted, claimed=False)))
        elif counted.signature.host_ports:
            self.ports.remove(row, counted.signature.host_ports)
        self._release_if_unused(row)

    def refresh_node(self, node: Node) -> None:
        """Keep `node` in place of the node's object, from which it differs in nothing that columns or plugins read.

        Raises KeyError when the node is not known.
        """
        self.nodes[self._row_of[node.metadata.name]] = node

    def refresh_pod(self, info: PodInfo, node_name: str) -> None:
        """Keep `info` in place of what is counted on the node under its UID: the same pod with the same signature.

        No count changes. The row counts as changed if labels, annotations or the deletion mark differ; a pod's status
        may change several times a second and is nothing that kept verdicts and scores may depend on.
        Raises KeyError when the pod is not counted there.
        """
        row = self._row_of[node_name]
        before = self.pods[row][info.uid]
        self.pods[row][info.uid] = info
        if self.namespaces.counting:
            self.namespaces.refresh(info)
        self.relations.relabel(before, info, row)
        if before.pod.spec.volumes:
            self.volumes.remove(row, before)
        if info.pod.spec.volumes:
            self.volumes.add(row, info)
        if _visible(before) != _visible(info):
            self.usage_journal.record(row)

    def usage(self) -> NamespaceUsage:
        """The requests of each namespace's pods. The first call begins to count; it must not be made in a trial."""
        if not self.namespaces.counting:
            if self._undo is not None:
                raise RuntimeError("counting by namespace cannot begin in a trial")
            self.namespaces.begin(pod for pods in self.pods for pod in pods.values())
        return self.namespaces

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Pods that are added and removed inside are put back at the end. Trials nest; nodes must not change inside."""
        outer, self._undo = self._undo, []
        try:
            yield
        finally:
            with shielded:
                self._take_back(tuple(self._undo))
            self._undo = outer
            if outer is None:
                self._restore_order()

    def _take_back(self, changes: Sequence[_Change]) -> None:
        """Undo these changes. On live nodes each pod moves at most once, however often it came and went."""
        before: dict[tuple[str, str], PodInfo | None] = {}
        now: dict[tuple[str, str], PodInfo | None] = {}
        ports: dict[tuple[str, HostPort], int] = {}
        for change in changes:
            if self.live_row_of(change.node_name) is not None:
                place = change.node_name, change.info.uid
                before.setdefault(place, None if change.added else change.info)
                now[place] = change.info if change.added else None
                for port, count in change.ports:
                    ports.setdefault((change.node_name, port), count)
            checkpoint()
        for change in reversed(changes):  # rows of other nodes come and go with their pods
            if self.live_row_of(change.node_name) is None:
                self._reverse(change)
            checkpoint()
        for (node_name, uid), pod in now.items():
            original = before[node_name, uid]
            if pod is not original:
                if pod is not None:
                    self.remove_pod(pod, node_name)
                if original is not None:
                    self.add_pod(original, node_name)
            checkpoint()
        for (node_name, port), count in ports.items():
            row = self._row_of[node_name]
            self.ports.restore(row, [(port, count)])
            self.usage_journal.record(row)

    def _reverse(self, change: _Change) -> None:
        row = self._row_of.get(change.node_name)
        (self.remove_pod if change.added else self.add_pod)(change.info, change.node_name)
        if change.ports:
            self.ports.restore(self._row_of[change.node_name] if row is None else row, change.ports)

    def _try_ports(self, row: int, info: PodInfo, *, claimed: bool) -> Sequence[tuple[HostPort, int]]:
        ports = info.signature.host_ports
        return self.ports.try_(row, ports, claimed=claimed) if ports else ()

    def _pods_on(self, node_name: str, row: int) -> dict[str, PodInfo]:
        """The pods counted there, to be changed; in a trial their order is kept first."""
        pods = self.pods[row]
        if self._undo is not None and node_name not in self._before:
            self._before[node_name] = dict(pods)
        return pods

    def _restore_order(self) -> None:
        """A pod that was taken off its node came back as the last there, and who is first decides between equals."""
        for node_name, before in self._before.items():
            if before:
                pods = self.pods[self._row_of[node_name]]
                pods.clear()
                pods.update(before)
        self._before.clear()

    @property
    def tentative(self) -> bool:
        """Whether the current trial has added or removed pods."""
        return bool(self._undo)

    def _claim(self, name: str) -> int:
        row = self._row_of.get(name)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = self.height
            if row == len(self.live):
                self._grow(2 * row)
            self.height += 1
            self.layout += 1
            self.names.append(name)
            self.nodes.append(None)
            self.pods.append({})
        self._row_of[name] = row
        return row

    def _release_if_unused(self, row: int) -> None:
        if not self.live[row] and not self.pods[row]:
            del self._row_of[self.names[row]]
            self._free.append(row)

    def _grow(self, capacity: int) -> None:
        new_rows = np.zeros(capacity - len(self.live), np.bool_)
        self.live = np.concatenate([self.live, new_rows])
        self.unschedulable = np.concatenate([self.unschedulable, new_rows])
        self.resources.grow(capacity)
        self.labels.grow(capacity)
        self.taints.grow(capacity)
        self.relations.grow(capacity)
        self.layout += 1

    def _node_changed(self, row: int) -> None:
        self.node_journal.record(row)
        self.usage_journal.record(row)


def _visible(info: PodInfo) -> tuple[object, ...]:
    return info.labels, info.pod.metadata.annotations, info.terminating
