"""Label columns under nodes that come and go."""

import numpy as np

from muster.framework.snapshot.labels import LabelColumns


def test_a_column_does_not_grow_with_every_hostname_that_ever_was() -> None:
    columns = LabelColumns(8)
    columns.column("hostname")
    for number in range(1000):
        columns.set(number % 4, {"hostname": f"node-{number}"})
    column = columns.column("hostname")
    assert len(column.values) <= 2 * 8 + 2
    assert [column.values[number] for number in column.ids[:4].tolist()] == [
        f"node-{number}" for number in range(996, 1000)
    ]
    assert np.array_equal(column.ids[:4] == column.id_of("node-998"), [False, False, True, False])
    assert column.id_of("node-3") == -1
    assert not column.ids[4:].any()


def test_numbering_afresh_keeps_every_row_that_has_a_value() -> None:
    columns = LabelColumns(4)
    for row in range(4):
        columns.set(row, {"zone": f"z{row}"})
    column = columns.column("zone")
    for number in range(40):
        columns.set(3, {"zone": f"other-{number}"})
    assert [column.values[number] for number in column.ids.tolist()] == ["z0", "z1", "z2", "other-39"]
