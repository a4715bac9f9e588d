"""Which volumes of which CSI driver are on each node, and how many are allowed.

NodeVolumeLimits asks. A node is counted again when its pods or its object changed, or one of the storage objects that
were read for it; everything else is cached, so a pod does not cost more where many pods run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from muster.framework.contract import SnapshotReader, WatchedKind
from muster.framework.model.volume_migration import VolumeHandle
from muster.framework.model.volumes import CSINode, VolumeAttachment

from .counted import CountError, volumes_of
from .storage import Obj, Storage

T = TypeVar("T")
Counts = npt.NDArray[np.int64]
UNLIMITED = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class _Node:
    """The volumes and limits of one row.

    Attributes:
        has_csi_node: whether there is a CSINode with the node's name.
        drivers: the drivers that it names.
        limits: how many volumes there may be, by driver.
        volumes: those of the pods.
        attached: how many volumes there are by driver, with those that are attached for no pod.
        error: why the pods' volumes cannot be counted.
        looked_at: the objects that all this depends on, by kind and key.
    """

    has_csi_node: bool = False
    drivers: frozenset[str] = frozenset()
    limits: dict[str, int] = field(default_factory=dict)
    volumes: frozenset[VolumeHandle] = frozenset()
    attached: dict[str, int] = field(default_factory=dict)
    error: str = ""
    looked_at: frozenset[tuple[str, str]] = frozenset()


_NOTHING = _Node()


class AttachedVolumes:
    """Counts by driver and row. To be brought up to date by `refresh` before they are read.

    Attributes:
        with_csi_node: bool, shape (capacity,): rows whose node has a CSINode.
        limited: bool, shape (capacity,): rows with a limit for any driver.
        holders: by volume, the rows whose pods use it.
        running: by driver, the rows where it runs.
        errors: by row, why the volumes of its pods cannot be counted.
    """

    def __init__(self, snapshot: SnapshotReader, storage: Storage) -> None:
        self._snapshot = snapshot
        self._storage = _Noting(storage)
        self._attachments: dict[str, dict[str, VolumeAttachment]] = {}
        self._found: dict[int, _Node] = {}
        self._depending: dict[tuple[str, str], set[int]] = {}
        self._dirty: set[int] = set()
        self._position = -1
        self._limits: dict[str, Counts] = {}
        self._attached: dict[str, Counts] = {}
        self.with_csi_node = np.zeros(0, np.bool_)
        self.limited = np.zeros(0, np.bool_)
        self.holders: dict[VolumeHandle, set[int]] = {}
        self.running: dict[str, set[int]] = {}
        self.errors: dict[int, str] = {}

    def follow(self, resource: str, old: object | None, new: object | None) -> None:
        """A storage object came, changed or went."""
        for attachment in (old, new):
            if isinstance(attachment, VolumeAttachment):
                self._place(attachment, attached=attachment is new)
        for obj in (old, new):
            self._dirty |= self._depending.get((resource, _key(obj)), set())

    def refresh(self) -> None:
        """Count again what may have changed."""
        snapshot, journal = self._snapshot, self._snapshot.usage_journal
        changed = journal.since(self._position) if self._position >= 0 else None
        if len(self.limited) != len(snapshot.live):
            self._grow(len(snapshot.live))
        rows = range(snapshot.height) if changed is None else changed | self._dirty
        for row in rows:
            found = self._count(row) if snapshot.live[row] else _NOTHING
            before = self._found.get(row, _NOTHING)
            if found != before:
                self._exchange(row, before, found)
        self._position, self._dirty = journal.position, set()  # last, so that after an error no row stays uncounted

    def limits(self, driver: str) -> Counts:
        """int64, shape (capacity,): how many volumes of the driver there may be; UNLIMITED where none is declared."""
        return _column(self._limits, driver, len(self.limited), UNLIMITED)

    def attached(self, driver: str) -> Counts:
        """int64, shape (capacity,): how many there are, on rows that are limited."""
        return _column(self._attached, driver, len(self.limited), 0)

    def _place(self, attachment: VolumeAttachment, *, attached: bool) -> None:
        node, name = attachment.spec.node_name, attachment.metadata.name
        there = self._attachments.setdefault(node, {})
        there.pop(name, None)
        if attached:
            there[name] = attachment
        if not there:
            del self._attachments[node]
        row = self._snapshot.row_of(node)
        if row is not None:
            self._dirty.add(row)

    def _count(self, row: int) -> _Node:
        node_name, storage = self._snapshot.names[row], self._storage
        storage.looked_at = set()
        csi_node = storage.csi_node(node_name)
        if csi_node is None:
            return _Node(looked_at=frozenset(storage.looked_at))
        limits = {
            driver.name: driver.allocatable.count
            for driver in csi_node.spec.drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }
        volumes: frozenset[VolumeHandle] = frozenset()
        attached: dict[str, int] = {}
        error = ""
        if limits:
            try:
                volumes = self._of_pods(row, csi_node)
            except CountError as problem:
                error = str(problem)
            for handle in volumes | self._of_attachments(node_name):
                attached[handle.driver] = attached.get(handle.driver, 0) + 1
        drivers = frozenset(driver.name for driver in csi_node.spec.drivers)
        return _Node(True, drivers, limits, volumes, attached, error, frozenset(storage.looked_at))

    def _of_pods(self, row: int, csi_node: CSINode) -> frozenset[VolumeHandle]:
        pods = self._snapshot.volumes.pods_on(row)
        return frozenset().union(*(volumes_of(pod, csi_node, self._storage, new=False) for pod in pods))

    def _of_attachments(self, node_name: str) -> frozenset[VolumeHandle]:
        found = set()
        for attachment in self._attachments.get(node_name, {}).values():
            name = attachment.spec.source.persistent_volume_name
            volume = self._storage.volume(name) if attachment.spec.attacher and name is not None else None
            if volume is not None and volume.spec.csi is not None:
                found.add(VolumeHandle(attachment.spec.attacher, volume.spec.csi.volume_handle))
        return frozenset(found)

    def _exchange(self, row: int, before: _Node, found: _Node) -> None:
        if found is _NOTHING:
            del self._found[row]
        else:
            self._found[row] = found
        self.with_csi_node[row], self.limited[row] = found.has_csi_node, bool(found.limits)
        for driver in before.limits.keys() | found.limits.keys():
            self.limits(driver)[row] = found.limits.get(driver, UNLIMITED)
        for driver in before.attached.keys() | found.attached.keys():
            self.attached(driver)[row] = found.attached.get(driver, 0)
        _move(self._depending, row, before.looked_at, found.looked_at)
        _move(self.holders, row, before.volumes, found.volumes)
        _move(self.running, row, before.drivers, found.drivers)
        if found.error:
            self.errors[row] = found.error
        else:
            self.errors.pop(row, None)

    def _grow(self, capacity: int) -> None:
        added = capacity - len(self.limited)
        self.with_csi_node = np.concatenate([self.with_csi_node, np.zeros(added, np.bool_)])
        self.limited = np.concatenate([self.limited, np.zeros(added, np.bool_)])
        for columns, default in ((self._limits, UNLIMITED), (self._attached, 0)):
            for driver, column in columns.items():
                columns[driver] = np.concatenate([column, np.full(added, default, np.int64)])


class _Noting(Storage):
    """Notes what it was asked for."""

    __slots__ = ("looked_at",)

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage.handle)
        self.looked_at: set[tuple[str, str]] = set()

    def _get(self, kind: WatchedKind[Obj], key: str) -> Obj | None:
        self.looked_at.add((kind.resource, key))
        return super()._get(kind, key)


def _key(obj: object | None) -> str:
    meta = getattr(obj, "metadata", None)
    return "" if meta is None else str(meta.key)


def _column(columns: dict[str, Counts], driver: str, capacity: int, default: int) -> Counts:
    column = columns.get(driver)
    if column is None:
        column = columns[driver] = np.full(capacity, default, np.int64)
    return column


def _move(index: dict[T, set[int]], row: int, before: Iterable[T], now: Iterable[T]) -> None:
    """List `row` under `now` instead of `before`."""
    for key in before:
        rows = index[key]
        rows.discard(row)
        if not rows:
            del index[key]
    for key in now:
        index.setdefault(key, set()).add(row)
