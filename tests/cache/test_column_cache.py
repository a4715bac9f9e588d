"""Columns of values per row that are cached by pod signature."""

import gc
from weakref import ref

import numpy as np
import numpy.typing as npt
import pytest

from muster.framework.snapshot.column_cache import CachedColumns, ColumnCache, ColumnSource
from muster.framework.snapshot.journal import Changed, DependsOn
from muster.framework.snapshot.snapshot import Snapshot
from muster.framework.snapshot.view import NodeView
from tests.builders import make_node, make_pod
from tests.cache.objects import node, pod

_NODES = [f"n{number}" for number in range(8)]


class Counting:
    """Two sources, one of nodes and one of the pods on them, that note which rows they are asked about."""

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        for name in _NODES:
            self.snapshot.set_node(node(name))
        self.asked: list[tuple[str, list[int]]] = []
        self.epoch = 0
        self.meaning = object()
        self.broken = ""
        self.changed: Changed = None
        self.columns: CachedColumns[str, np.int64, object] = CachedColumns(
            [ColumnSource("cpu", "cpu", DependsOn.NODE, True), ColumnSource("pods", "pods", DependsOn.PODS_ON_NODE)],
            np.int64,
        )

    def refresh(self) -> list[tuple[str, list[int]]]:
        """What is asked when the columns are brought up to date."""
        self.asked = []
        self.changed = self.columns.refresh(self.snapshot, self._ask, lambda name: self.epoch)
        return self.asked

    def changed_rows(self) -> list[int] | None:
        """The rows that the last refresh said have changed; None for all."""
        return None if self.changed is None else self.changed.tolist()

    def _ask(self, name: str, view: NodeView) -> tuple[npt.NDArray[np.int64], object]:
        self.asked.append((name, view.indices().tolist()))
        if name == self.broken:
            raise ValueError(name)
        amounts = [each.allocatable("cpu") if name == "cpu" else len(each.pods) for each in view]
        return np.array(amounts, np.int64), self.meaning if name == "pods" else None


_ALL = list(range(len(_NODES)))


def test_each_source_is_asked_about_every_node_once_and_then_about_the_rows_that_its_journal_names() -> None:
    counting = Counting()
    assert counting.refresh() == [("cpu", _ALL), ("pods", _ALL)]
    assert counting.changed_rows() is None
    assert counting.refresh() == []
    assert counting.changed_rows() == []

    counting.snapshot.add_pod(pod("web"), "n3")
    assert counting.refresh() == [("pods", [3])]
    assert counting.changed_rows() == [3]
    counting.snapshot.set_node(node(make_node("n5", cpu="9")))
    assert counting.refresh() == [("cpu", [5]), ("pods", [5])]

    assert counting.columns.values["cpu"][5] == 9000
    assert counting.columns.values["pods"].tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    assert counting.columns.computed == ["cpu", "pods"]


def test_every_row_is_computed_anew_when_more_than_a_quarter_have_changed() -> None:
    counting = Counting()
    counting.refresh()
    for name in _NODES[:3]:
        counting.snapshot.add_pod(pod(f"on-{name}"), name)
    assert counting.refresh() == [("pods", _ALL)]


def test_another_epoch_has_only_its_source_asked_about_every_node() -> None:
    counting = Counting()
    counting.refresh()
    counting.epoch = 1
    assert counting.refresh() == [("cpu", _ALL)]
    assert counting.changed_rows() is None


def test_values_of_another_meaning_replace_the_whole_column() -> None:
    counting = Counting()
    counting.refresh()
    counting.meaning = object()
    counting.snapshot.add_pod(pod("web"), "n3")
    assert counting.refresh() == [("pods", [3]), ("pods", _ALL)]
    assert counting.columns.meanings["pods"] is counting.meaning


def test_no_source_is_asked_about_a_row_that_has_lost_its_node() -> None:
    counting = Counting()
    counting.refresh()
    counting.snapshot.remove_node("n2")
    assert counting.refresh() == []
    counting.epoch = 1
    assert counting.refresh() == [("cpu", [row for row in _ALL if row != 2])]


@pytest.mark.parametrize("epoch", [0, 1])
def test_rows_that_a_failed_refresh_left_out_are_asked_again_by_the_next_one(epoch: int) -> None:
    counting = Counting()
    counting.refresh()
    counting.snapshot.add_pod(pod("web"), "n3")
    counting.broken, counting.epoch = "pods", epoch
    with pytest.raises(ValueError, match="pods"):
        counting.refresh()
    counting.broken = ""
    assert counting.refresh() == [[("pods", [3])], [("cpu", _ALL), ("pods", _ALL)]][epoch]


def test_columns_are_kept_for_each_signature_and_set_of_plugins_and_dropped_with_the_signature() -> None:
    class Kept:
        def __init__(self, skipped: frozenset[str]) -> None:
            self.skipped = skipped

    cache: ColumnCache[Kept] = ColumnCache(4, Kept)
    web, other = pod(make_pod("web").requests(cpu="1234m")), pod(make_pod("other").requests(cpu="7"))
    kept = cache.of(web.signature, frozenset({"A"}))
    assert kept.skipped == {"A"}
    assert cache.of(other.signature) is not kept
    assert cache.of(web.signature) is not kept
    assert cache.of(web.signature, frozenset({"A"})) is kept

    gone = ref(kept)
    cache.of(other.signature)
    del web, kept
    gc.collect()
    assert gone() is None
