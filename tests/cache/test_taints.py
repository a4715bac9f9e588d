"""Node taints as a column of interned sets."""

from muster.framework.model.node import Taint
from muster.framework.snapshot.node_tables import TaintColumn

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


def test_sets_that_no_node_has_any_more_are_forgotten() -> None:
    column = TaintColumn(3)
    column.set(1, (GPU,))
    for second in range(1000):
        column.set(0, (SPOT, Taint(key="deletion-candidate", value=str(second), effect="PreferNoSchedule")))
        assert len(column.sets) <= 8
    last = (SPOT, Taint(key="deletion-candidate", value="999", effect="PreferNoSchedule"))
    assert [column.sets[number] for number in column.ids.tolist()] == [last, (GPU,), ()]


def test_numbers_mean_the_same_set_for_as_long_as_the_epoch_lasts() -> None:
    column = TaintColumn(2)
    meant: dict[tuple[int, int], object] = {}
    for second in range(100):
        column.set(second % 2, (Taint(key="candidate", value=str(second // 3), effect="PreferNoSchedule"),))
        for number, taints in enumerate(column.sets):
            assert meant.setdefault((column.epoch, number), taints) == taints
    assert column.epoch > 1


def test_the_empty_set_keeps_its_number_when_every_node_has_taints() -> None:
    column = TaintColumn(1)
    for second in range(10):
        column.set(0, (Taint(key="candidate", value=str(second)),))
        assert column.sets[0] == ()
    column.set(0, ())
    assert column.ids.tolist() == [0]


def test_growing_keeps_every_row() -> None:
    column = TaintColumn(1)
    column.set(0, (SPOT,))
    column.grow(3)
    column.set(2, (GPU,))
    assert [column.sets[number] for number in column.ids.tolist()] == [(SPOT,), (), (GPU,)]
