"""SnapshotReader: the snapshot as plugins see it, read-only (upstream: SharedLister).

Views and the handle give it to plugins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..model.node import Node
from ..model.pod_info import PodInfo
from .journal import Journal
from .labels import LabelColumns
from .namespaces import NamespaceUsage
from .node_tables import ImageTable, PortTable, TaintColumn
from .relations import PodRelations
from .resources import ResourceColumns
from .volumes import VolumeTable


class SnapshotReader(Protocol):
    """Nodes as rows of columns, with the pods counted on them. See `Snapshot` for what each column holds."""

    @property
    def height(self) -> int:
        """Rows ever used; columns are meaningful below it."""
        ...

    @property
    def node_count(self) -> int:
        """Known nodes."""
        ...

    @property
    def layout(self) -> int:
        """Changes when `height`, the columns' capacity or the set of known nodes changed."""
        ...

    @property
    def tentative(self) -> bool:
        """Whether the current trial has added or removed pods, so that not all counts are real."""
        ...

    @property
    def live(self) -> npt.NDArray[np.bool_]:
        """bool, shape (capacity,): whether a Node object is known for the row."""
        ...

    @property
    def unschedulable(self) -> npt.NDArray[np.bool_]:
        """bool, shape (capacity,): whether the node is cordoned."""
        ...

    @property
    def resources(self) -> ResourceColumns:
        """Amounts offered and claimed."""
        ...

    @property
    def labels(self) -> LabelColumns:
        """Labels of nodes, a column a key."""
        ...

    @property
    def taints(self) -> TaintColumn:
        """Taints of nodes, as numbers of sets of taints."""
        ...

    @property
    def images(self) -> ImageTable:
        """Images that nodes have."""
        ...

    @property
    def ports(self) -> PortTable:
        """Host ports that pods have claimed."""
        ...

    @property
    def relations(self) -> PodRelations:
        """The labels of pods, and the affinity terms that they carry."""
        ...

    @property
    def namespaces(self) -> NamespaceUsage:
        """The requests of each namespace's pods, on all nodes together; nothing before `usage` was called."""
        ...

    @property
    def volumes(self) -> VolumeTable:
        """Volumes that pods have on nodes."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The node name of each row."""
        ...

    @property
    def nodes(self) -> Sequence[Node | None]:
        """The node object of each row."""
        ...

    @property
    def pods(self) -> Sequence[Mapping[str, PodInfo]]:
        """The pods counted on each row, by UID, assumed ones included."""
        ...

    @property
    def priorities(self) -> Mapping[int, int]:
        """The number of pods of each priority, on all nodes."""
        ...

    @property
    def node_journal(self) -> Journal:
        """Rows whose node object changed."""
        ...

    @property
    def usage_journal(self) -> Journal:
        """Rows whose node object or pods changed."""
        ...

    def usage(self) -> NamespaceUsage:
        """`namespaces`, counted from now on. Must not be called first in a trial."""
        ...

    def row_of(self, node_name: str) -> int | None:
        """The row of a node that is known by its object or by a pod on it."""
        ...

    def live_row_of(self, node_name: str) -> int | None:
        """The row of a node whose object is known."""
        ...

    def live_rows(self) -> npt.NDArray[np.intp]:
        """Rows of known nodes, ascending: the node list. Not to be written to."""
        ...
