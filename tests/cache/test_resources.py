"""Resource amounts as columns."""

import numpy as np
import pytest

from muster.framework.snapshot.resources import (
    MOST_RESOURCES,
    MOST_RESOURCES_OF_A_NODE,
    ResourceColumns,
    most_resources,
)
from tests.builders import make_pod
from tests.cache.objects import pod

MI = 2**20


GPU, FPGA = "example.com/gpu", "example.com/fpga"


def offers(columns: ResourceColumns, row: int) -> dict[str, int]:
    """What the row is known to offer, zeros included."""
    return {name: int(columns.allocatable[i, row]) for i, name in enumerate(columns.names) if columns.offered[i, row]}


def test_the_amounts_that_a_node_offers_are_kept_by_resource() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(2, {"cpu": 4000, "memory": 8 * MI, "pods": 110, GPU: 2})
    assert offers(columns, 2) == {"cpu": 4000, "memory": 8 * MI, GPU: 2}
    assert columns.allowed_pods.tolist() == [0, 0, 110, 0]
    assert columns.allocatable[columns.index(GPU)].tolist() == [0, 0, 2, 0]


def test_an_offer_of_zero_is_still_an_offer() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(0, {GPU: 0})
    assert offers(columns, 0) == {GPU: 0}


def test_a_new_offer_replaces_the_old_one_whole() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(0, {"cpu": 4000, "pods": 110, GPU: 2})
    columns.set_allocatable(0, {"memory": MI})
    assert offers(columns, 0) == {"memory": MI}
    assert not columns.allocatable[columns.names.index("cpu"), 0]
    assert columns.allowed_pods[0] == 0


def test_pods_are_counted_with_their_requests_and_with_defaults_for_scoring() -> None:
    columns = ResourceColumns(4)
    signature = pod(make_pod("p").requests({"cpu": "1", "example.com/gpu": "1"}).container("second")).signature
    columns.add(1, signature)
    columns.add(1, signature)
    assert columns.amount(columns.requested, "cpu", 1) == 2000
    assert columns.amount(columns.requested, "example.com/gpu", 1) == 2
    assert columns.nonzero[:, 1].tolist() == [2200, 800 * MI]
    assert columns.pod_count.tolist() == [0, 2, 0, 0]


def test_removing_a_pod_gives_back_exactly_what_adding_it_took() -> None:
    columns = ResourceColumns(4)
    columns.add(1, pod("stays").signature)
    before = (columns.requested.copy(), columns.nonzero.copy(), columns.pod_count.copy())
    signature = pod(make_pod("p").requests({"cpu": "1", "memory": "1500m", "example.com/gpu": "3"})).signature
    columns.add(1, signature)
    columns.remove(1, signature)
    after = (columns.requested, columns.nonzero, columns.pod_count)
    assert all(np.array_equal(was, now) for was, now in zip(before, after, strict=True))
    assert columns.amount(columns.requested, "example.com/gpu", 1) == 0


def test_a_resource_keeps_its_column_while_a_node_offers_it() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(3, {GPU: 5})
    gpu = columns.index(GPU)
    columns.set_allocatable(2, {FPGA: 1, GPU: 1})
    columns.set_allocatable(3, {})
    assert columns.index(GPU) == gpu
    assert columns.allocatable[gpu].tolist() == [0, 0, 1, 0]


def test_only_what_nodes_offer_has_a_column() -> None:
    columns = ResourceColumns(4)
    columns.add(1, pod(make_pod("p").requests({f"example.com/made-up-{n}": "2" for n in range(1000)})).signature)
    assert columns.names == ["cpu", "memory", "ephemeral-storage"]
    assert columns.amount(columns.requested, "example.com/made-up-7", 1) == 2
    assert columns.amount(columns.allocatable, "example.com/made-up-7", 1) == 0


def test_claims_are_counted_before_a_node_offers_the_resource_while_it_does_and_after() -> None:
    columns = ResourceColumns(4)
    signature = pod(make_pod("p").requests({GPU: "2"})).signature
    columns.add(1, signature)
    columns.set_allocatable(0, {GPU: 8})
    assert columns.requested[columns.index(GPU)].tolist() == [0, 2, 0, 0]
    columns.add(0, signature)
    columns.set_allocatable(0, {})
    assert columns.index(GPU) is None
    assert columns.unoffered() == {GPU: {0: 2, 1: 2}}
    columns.remove(0, signature)
    columns.remove(1, signature)
    assert columns.unoffered() == {}


def test_a_column_that_is_given_back_serves_the_next_resource_from_nothing() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(0, {GPU: 8})
    columns.add(0, pod(make_pod("p").requests({GPU: "2"})).signature)
    before = columns.layout
    columns.set_allocatable(0, {FPGA: 1})
    assert columns.layout != before
    assert columns.requested[columns.index(FPGA)].tolist() == [0, 0, 0, 0]
    assert columns.offered_in_all() == {"cpu": 0, "memory": 0, "ephemeral-storage": 0, FPGA: 1}


def test_nodes_whose_resources_change_names_for_ever_take_no_more_memory() -> None:
    columns = ResourceColumns(4)
    for number in range(1000):
        columns.set_allocatable(number % 4, {"cpu": 1, f"example.com/{number}": 1})
    assert len(columns.names) <= 2 * (3 + 4)


def test_no_node_offers_more_resources_than_it_may(caplog: pytest.LogCaptureFixture) -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(0, {f"example.com/{n:04d}": 1 for n in range(1000)} | {"cpu": 4000, "memory": MI})
    assert {"cpu", "memory", "example.com/0000"} <= offers(columns, 0).keys()
    assert len(offers(columns, 0)) <= MOST_RESOURCES_OF_A_NODE
    assert "A node offers too many resources" in caplog.text


@pytest.mark.parametrize(("rows", "most"), [(1, 1024), (8192, 1024), (16384, 512), (32768, 256), (131072, 256)])
def test_more_rows_leave_memory_for_fewer_resources(rows: int, most: int) -> None:
    assert most_resources(rows) == most


def test_all_nodes_together_offer_no_more_resources_than_there_are_columns(caplog: pytest.LogCaptureFixture) -> None:
    columns = ResourceColumns(1200)
    for row in range(1200):
        columns.set_allocatable(row, {"cpu": 4000, f"example.com/{row}": 1})
    assert len(columns.names) == MOST_RESOURCES
    assert offers(columns, 1000) == {"cpu": 4000, "example.com/1000": 1}
    assert offers(columns, 1199) == {"cpu": 4000}
    assert "Nodes offer too many resources" in caplog.text


def test_asking_for_an_amount_of_an_unknown_resource_makes_no_column() -> None:
    columns = ResourceColumns(4)
    assert columns.amount(columns.allocatable, "example.com/gpu", 0) == 0
    assert "example.com/gpu" not in columns.names


def test_growing_keeps_every_amount() -> None:
    columns = ResourceColumns(2)
    columns.set_allocatable(1, {"cpu": 4000, "pods": 7, "example.com/gpu": 2})
    columns.add(1, pod("p").signature)
    columns.grow(5)
    assert columns.allocatable.shape[1] == columns.requested.shape[1] == columns.offered.shape[1] == 5
    assert columns.nonzero.shape == (2, 5)
    assert columns.amount(columns.allocatable, "example.com/gpu", 1) == 2
    assert columns.amount(columns.requested, "cpu", 1) == 100
    assert columns.pod_count.tolist() == [0, 1, 0, 0, 0]
    assert columns.allowed_pods.tolist() == [0, 7, 0, 0, 0]


def test_the_largest_requests_fit_the_columns() -> None:
    columns = ResourceColumns(1)
    signature = pod(make_pod("p").requests(cpu="8Ei", memory="8Ei")).signature
    columns.add(0, signature)
    assert columns.requested[:2, 0].tolist() == [2**63 - 1, 2**63 - 1]
    columns.remove(0, signature)
    assert not columns.requested.any()
