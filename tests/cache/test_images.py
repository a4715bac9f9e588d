"""Images on nodes, by name."""

import pytest

from muster.framework.model.node import ContainerImage
from muster.framework.snapshot.node_tables import ImageTable


def image(*names: str, size: int = 100) -> ContainerImage:
    return ContainerImage(names=names, size_bytes=size)


@pytest.fixture
def table() -> ImageTable:
    """Two rows with an image in common."""
    table = ImageTable()
    table.set(1, [image("web:1", "web@sha256:0", size=10), image("db:1", size=20)])
    table.set(2, [image("web:1", size=10)])
    return table


def test_holders_are_found_by_any_name_of_an_image(table: ImageTable) -> None:
    assert table.holders("web:1") == {1, 2}
    assert table.holders("web@sha256:0") == {1}
    assert table.holders("log:1") == set()


def test_an_image_that_a_node_drops_has_one_holder_less(table: ImageTable) -> None:
    table.set(1, [image("db:1", size=20)])
    assert table.holders("web:1") == {2}
    assert sorted(table.names()) == ["db:1", "web:1"]


def test_an_image_that_no_node_has_is_forgotten_with_its_size(table: ImageTable) -> None:
    table.set(1, [])
    table.set(2, [])
    assert list(table.names()) == []
    assert table.size("web:1") == 0


def test_the_first_holder_determines_the_size(table: ImageTable) -> None:
    table.set(3, [image("db:1", size=99)])
    assert table.size("db:1") == 20


def test_the_first_of_two_entries_with_the_same_name_determines_the_size() -> None:
    table = ImageTable()
    table.set(0, [image("web:1", size=10), image("web:1", size=30)])
    assert table.size("web:1") == 10


def test_the_version_changes_when_an_image_comes_or_goes(table: ImageTable) -> None:
    version = table.version
    table.set(2, [image("web:1", size=10)])
    assert table.version == version
    table.set(2, [])
    assert table.version != version


def test_an_image_without_names_has_no_holders() -> None:
    table = ImageTable()
    table.set(0, [ContainerImage(names=None, size_bytes=5)])
    assert list(table.names()) == []
