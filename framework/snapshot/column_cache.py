"""Columns of values per row, cached by pod signature: verdicts, scores and capacity.

Equal pods share a `PodSignature`, and few rows change between two equal pods, often only the row on which the first was
assumed. A column is therefore computed for every node once, and afterwards only for the rows that a journal of the
snapshot names, so that the second pod costs each source a question about one row. A column is computed anew for every
node when the epoch of its source changes, and it is dropped with its signature. `runtime.cached_results` and
`scheduler.group_capacity` consist of columns; `runtime.nominated_cache` uses the cache by signature alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import ref

import numpy as np
import numpy.typing as npt

from ..model.latest_signatures import LatestSignatures
from ..model.pod_info import PodSignature
from .journal import NO_ROWS, Changed, DependsOn
from .snapshot import Snapshot
from .view import NodeView

S = TypeVar("S")
M = TypeVar("M")
T = TypeVar("T")
Dtype = TypeVar("Dtype", bound=np.generic)


class ColumnSource(NamedTuple, Generic[S]):
    """The source of one column: `asked` is what answers, a plugin as a rule."""

    asked: S
    name: str
    depends_on: DependsOn
    has_epoch: bool = False


class CachedColumns(Generic[S, Dtype, M]):
    """The columns of one signature, one for each source whose values are kept.

    Sources are asked only about rows whose node exists; values of other rows mean nothing.

    Attributes:
        values: by source, shape (height,).
        meanings: by source, the meaning of its values. When it changes, the source is asked about every node.
        computed: names of the sources that were asked by the last refresh.
    """

    __slots__ = (
        "_dtype",
        "_epochs",
        "_has_epochs",
        "_height",
        "_node_position",
        "_sources",
        "_usage_position",
        "computed",
        "meanings",
        "values",
    )

    def __init__(self, sources: Iterable[ColumnSource[S]], dtype: type[Dtype]) -> None:
        self._sources = [each for each in sources if each.depends_on.kept]
        self._has_epochs = any([each.has_epoch for each in self._sources])
        self._epochs: dict[str, Hashable] = {}
        self._dtype = dtype
        self._height = self._node_position = self._usage_position = -1
        self.values: dict[str, npt.NDArray[Dtype]] = {}
        self.meanings: dict[str, M] = {}
        self.computed: Sequence[str] = ()

    def refresh(
        self,
        snapshot: Snapshot,
        ask: Callable[[S, NodeView], tuple[npt.NDArray[Any], M]],
        epoch_of: Callable[[S], Hashable] = lambda asked: None,
    ) -> Changed:
        """Bring all columns up to date. Returns the rows whose values may have changed.

        What is raised ends it; the next refresh then begins where this one did.
        """
        nodes: Changed = NO_ROWS
        usage: Changed = NO_ROWS  # includes `nodes`
        if snapshot.height != self._height:
            nodes = usage = None
        elif snapshot.usage_journal.position != self._usage_position:
            nodes = snapshot.node_changes.since(self._node_position)
            usage = snapshot.usage_changes.since(self._usage_position)
        elif not self._has_epochs:
            self.computed = ()
            return NO_ROWS
        changed, computed = usage, []
        view_of_usage = _view(snapshot, usage)
        view_of_nodes = view_of_usage if nodes is usage else _view(snapshot, nodes)
        for asked, name, depends_on, has_epoch in self._sources:
            rows, view = (nodes, view_of_nodes) if depends_on is DependsOn.NODE else (usage, view_of_usage)
            if has_epoch and (epoch := epoch_of(asked)) != self._epochs.get(name):
                rows, view = self._forget(snapshot)
                self._epochs[name] = epoch
            if view is None:
                continue
            values, meaning = ask(asked, view)
            if rows is not None and meaning is not self.meanings[name]:
                rows, view = self._forget(snapshot)
                values, meaning = ask(asked, view)
            if rows is None:
                changed = None
                self.values[name] = np.zeros(snapshot.height, self._dtype)
                self.meanings[name] = meaning
            self.values[name][view.within] = values
            computed.append(name)
        self.computed = computed
        self._height = snapshot.height
        self._node_position, self._usage_position = snapshot.node_journal.position, snapshot.usage_journal.position
        return changed

    def _forget(self, snapshot: Snapshot) -> tuple[None, NodeView]:
        """A source is asked about every node; if the refresh ends early, the next one asks all of them."""
        self._height = -1
        return None, everywhere(snapshot)


def everywhere(snapshot: Snapshot) -> NodeView:
    """A view of every node; one that copies nothing as long as no row is free."""
    return NodeView(snapshot, None if snapshot.node_count == snapshot.height else snapshot.live_rows())


def _view(snapshot: Snapshot, changed: Changed) -> NodeView | None:
    """A view of the rows; None for no row."""
    if changed is None:
        return everywhere(snapshot)
    return NodeView(snapshot, changed) if len(changed) else None


class ColumnCache(Generic[T]):
    """The cache for pods of the signatures used last; it is dropped with its signature."""

    def __init__(self, most: int, make: Callable[[frozenset[str]], T]) -> None:
        """`make` gets the names of the plugins to leave out."""
        self._make = make
        self._by_signature: LatestSignatures[dict[frozenset[str], T]] = LatestSignatures(most)
        self._last: Callable[[], PodSignature | None] = lambda: None
        self._of_last: dict[frozenset[str], T] = {}

    def of(self, signature: PodSignature, skipped: frozenset[str] = frozenset()) -> T:
        """The cached columns for pods of this signature, without the plugins that are `skipped`."""
        if self._last() is not signature:  # equal pods come one after another
            known = self._by_signature.get(signature)
            self._of_last = self._by_signature.put(signature, {}) if known is None else known
            self._last = ref(signature)
        found = self._of_last.get(skipped)
        if found is None:
            found = self._of_last[skipped] = self._make(skipped)
        return found
