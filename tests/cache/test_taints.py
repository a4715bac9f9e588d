"""Node taints as a column of interned sets."""

from muster.framework.cache.taints import TaintColumn
from muster.framework.model.node import Taint

SPOT = Taint(key="spot", effect="NoSchedule")
GPU = Taint(key="gpu", value="a", effect="NoExecute")


def test_nodes_with_the_same_taints_share_a_set() -> None:
    column = TaintColumn(4)
    column.set(0, (SPOT, GPU))
    column.set(2, (SPOT, GPU))
    column.set(3, (GPU,))
    assert [column.sets[number] for number in column.ids.tolist()] == [(SPOT, GPU), (), (SPOT, GPU), (GPU,)]
    assert len(column.sets) == 3


def test_a_node_that_loses_its_taints_has_the_empty_set() -> None:
    column = TaintColumn(1)
    column.set(0, (SPOT,))
    column.set(0, ())
    assert column.ids.tolist() == [0]


def test_a_measure_is_taken_once_a_set_and_looked_up_for_each_row() -> None:
    column = TaintColumn(3)
    column.set(0, (SPOT, GPU))
    column.set(1, (SPOT,))
    assert column.measure(len)[column.ids].tolist() == [2, 1, 0]


def test_growing_keeps_every_row() -> None:
    column = TaintColumn(1)
    column.set(0, (SPOT,))
    column.grow(3)
    column.set(2, (GPU,))
    assert [column.sets[number] for number in column.ids.tolist()] == [(SPOT,), (), (GPU,)]
