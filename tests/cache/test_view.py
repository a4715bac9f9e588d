"""Views of some rows, and the node objects they yield."""

import numpy as np
import pytest

from muster.framework.snapshot.snapshot import Snapshot
from muster.framework.snapshot.view import NodeInfo, NodeView
from tests.builders import make_node
from tests.cache.objects import node, pod


@pytest.fixture
def snapshot() -> Snapshot:
    """Four nodes of 1 to 4 cores."""
    snapshot = Snapshot()
    for cores, name in enumerate("abcd", start=1):
        snapshot.set_node(node(make_node(name, cpu=str(cores))))
    return snapshot


def view(snapshot: Snapshot, *rows: int) -> NodeView:
    return NodeView(snapshot, np.array(rows, np.intp))


def test_a_view_keeps_the_order_of_its_rows(snapshot: Snapshot) -> None:
    some = view(snapshot, 2, 0)
    assert some.names() == [info.name for info in some] == ["c", "a"]
    assert some.indices().tolist() == [2, 0]
    assert len(some) == 2


def test_a_view_without_rows_is_of_every_row_in_use(snapshot: Snapshot) -> None:
    everything = NodeView(snapshot, None)
    assert len(everything) == snapshot.height == 4
    assert everything.names() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("rows", [(2, 0), (1,), ()])
def test_a_column_is_cut_to_the_views_rows(snapshot: Snapshot, rows: tuple[int, ...]) -> None:
    cpu = snapshot.resources.allocatable[0]
    assert view(snapshot, *rows).of(cpu).tolist() == [cpu[row] for row in rows]


def test_a_column_is_cut_to_the_rows_in_use(snapshot: Snapshot) -> None:
    assert NodeView(snapshot, None).of(snapshot.resources.allocatable[0]).tolist() == [1000, 2000, 3000, 4000]


@pytest.mark.parametrize("rows", [(2, 0), (1,)])
def test_columns_of_several_resources_are_cut_along_their_last_axis(snapshot: Snapshot, rows: tuple[int, ...]) -> None:
    cut = view(snapshot, *rows).of(snapshot.resources.allocatable)
    assert cut.shape == (3, len(rows))
    assert cut[0].tolist() == [1000 * (row + 1) for row in rows]


def test_a_mask_selects_nodes_of_the_view(snapshot: Snapshot) -> None:
    some = view(snapshot, 3, 1, 0)
    assert some.mask_of({1, 2}).tolist() == [False, True, False]
    assert some.mask_of([]).tolist() == [False, False, False]
    assert NodeView(snapshot, None).mask_of([3]).tolist() == [False, False, False, True]


def test_a_node_info_has_the_values_of_the_columns(snapshot: Snapshot) -> None:
    waiting = pod("p")
    snapshot.add_pod(waiting, "b")
    info = NodeInfo(snapshot, 1)
    assert info.name == "b"
    assert info.node is snapshot.nodes[1]
    assert info.labels == {"kubernetes.io/hostname": "b"}
    assert info.pods == {waiting.uid: waiting}
    assert (info.allocatable("cpu"), info.requested("cpu")) == (2000, 100)


def test_an_unknown_resource_has_the_amount_zero_and_adds_no_column(snapshot: Snapshot) -> None:
    info = NodeInfo(snapshot, 0)
    assert info.allocatable("example.com/gpu") == info.requested("example.com/gpu") == 0
    assert snapshot.resources.allocatable.shape[0] == 3


def test_a_node_that_is_known_by_its_pods_alone_has_no_object(snapshot: Snapshot) -> None:
    snapshot.add_pod(pod("p"), "ghost")
    info = NodeInfo(snapshot, 4)
    assert (info.name, len(info.pods)) == ("ghost", 1)
    with pytest.raises(LookupError, match="ghost"):
        _ = info.node
