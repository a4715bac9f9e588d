"""Node labels as columns of interned values."""

from muster.framework.snapshot.labels import ABSENT, LabelColumns


def values_of(columns: LabelColumns, key: str) -> list[str | None]:
    column = columns.column(key)
    return [column.values[number] if number != ABSENT else None for number in column.ids.tolist()]


def test_a_column_asked_for_late_knows_the_labels_set_before() -> None:
    columns = LabelColumns(3)
    columns.set(0, {"zone": "a", "disk": "ssd"})
    columns.set(2, {"zone": "b"})
    assert values_of(columns, "zone") == ["a", None, "b"]
    assert values_of(columns, "disk") == ["ssd", None, None]


def test_a_column_follows_the_labels_set_after() -> None:
    columns = LabelColumns(3)
    columns.column("zone")
    columns.set(0, {"zone": "a"})
    columns.set(1, {"zone": "a"})
    columns.set(0, {"disk": "ssd"})
    assert values_of(columns, "zone") == [None, "a", None]


def test_an_empty_value_is_not_the_same_as_no_label() -> None:
    columns = LabelColumns(2)
    columns.set(0, {"gpu": ""})
    assert values_of(columns, "gpu") == ["", None]


def test_equal_values_share_an_id() -> None:
    columns = LabelColumns(3)
    for row in range(3):
        columns.set(row, {"zone": "a"})
    column = columns.column("zone")
    assert set(column.ids.tolist()) == {column.id_of("a")}


def test_a_value_that_no_node_ever_had_has_an_id_that_no_row_has() -> None:
    columns = LabelColumns(2)
    columns.set(0, {"zone": "a"})
    column = columns.column("zone")
    assert column.id_of("b") not in column.ids.tolist()
    assert column.id_of("") not in column.ids.tolist()


def test_a_selector_is_decided_once_a_value() -> None:
    columns = LabelColumns(4)
    for row, labels in enumerate(({"zone": "a"}, {"zone": "b"}, {}, {"zone": "a"})):
        columns.set(row, labels)
    column = columns.column("zone")
    asked: list[str] = []

    def is_a(value: str) -> bool:
        asked.append(value)
        return value == "a"

    assert column.where(is_a, absent=False)[column.ids].tolist() == [True, False, False, True]
    assert asked.count("a") == 1
    assert column.where(is_a, absent=True)[column.ids].tolist() == [True, False, True, True]


def test_growing_keeps_every_label() -> None:
    columns = LabelColumns(1)
    columns.set(0, {"zone": "a", "disk": "ssd"})
    columns.column("zone")
    columns.grow(3)
    columns.set(2, {"zone": "b", "disk": "hdd"})
    assert values_of(columns, "zone") == ["a", None, "b"]
    assert values_of(columns, "disk") == ["ssd", None, "hdd"]


def test_asking_for_a_key_that_no_node_has_makes_no_column() -> None:
    columns = LabelColumns(1)
    columns.set(0, {"zone": "a", "disk": "ssd"})
    assert not columns.column("gpu").ids.any()
    assert list(columns.keys) == ["zone", "disk"]


def test_a_key_is_forgotten_with_the_last_node_that_has_it() -> None:
    columns = LabelColumns(100)
    for row in range(100):
        columns.set(row, {"zone": "a", f"own-{row}": "x"})
    for row in range(100):
        columns.set(row, {"zone": "b"} if row == 7 else {})
    assert list(columns.keys) == ["zone"]
    assert values_of(columns, "zone") == [None] * 7 + ["b"] + [None] * 92
    columns.set(7, {})
    assert not columns.keys


def test_a_key_answers_alike_whether_few_nodes_have_it_or_many() -> None:
    columns = LabelColumns(128)
    expected: list[str | None] = [None] * 128
    for row in [*range(0, 128, 3), *range(60)]:
        columns.set(row, {"rack": f"r{row % 5}"})
        expected[row] = f"r{row % 5}"
        assert values_of(columns, "rack") == expected
    for row in range(0, 128, 2):
        columns.set(row, {})
        expected[row] = None
    assert values_of(columns, "rack") == expected
    for row in range(1, 120):
        columns.set(row, {})
        expected[row] = None
        assert values_of(columns, "rack") == expected


def test_values_are_read_as_numbers_once_and_again_when_they_are_numbered_afresh() -> None:
    columns = LabelColumns(4)
    for row, value in enumerate(("4", "x", "-7", "9" * 63)):
        columns.set(row, {"size": value})
    for number in range(40):
        columns.set(3, {"size": str(number)})
        column = columns.column("size")
        numbers, valid = column.numbers()
        read = [int(numbers[i]) if valid[i] else None for i in column.ids.tolist()]
        assert read == [4, None, -7, number]
