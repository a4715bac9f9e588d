"""Resource amounts as columns."""

import numpy as np

from muster.framework.snapshot.resources import ResourceColumns
from tests.builders import make_pod
from tests.cache.objects import pod

MI = 2**20


def test_what_a_node_offers_is_kept_by_resource() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(2, {"cpu": 4000, "memory": 8 * MI, "pods": 110, "example.com/gpu": 2})
    gpu = columns.index("example.com/gpu")
    assert columns.allocatable[:, 2].tolist() == [4000, 8 * MI, 0, 2]
    assert columns.offered[:, 2].tolist() == [True, True, False, True]
    assert columns.allowed_pods.tolist() == [0, 0, 110, 0]
    assert columns.allocatable[gpu].tolist() == [0, 0, 2, 0]


def test_an_offer_of_zero_is_still_an_offer() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(0, {"example.com/gpu": 0})
    assert columns.offered[columns.index("example.com/gpu"), 0]


def test_a_new_offer_replaces_the_old_one_whole() -> None:
    columns = ResourceColumns(4)
    columns.set_allocatable(0, {"cpu": 4000, "pods": 110, "example.com/gpu": 2})
    columns.set_allocatable(0, {"memory": MI})
    assert columns.allocatable[:, 0].tolist() == [0, MI, 0, 0]
    assert columns.offered[:, 0].tolist() == [False, True, False, False]
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
    after = (columns.requested[: len(before[0])], columns.nonzero, columns.pod_count)
    assert all(np.array_equal(was, now) for was, now in zip(before, after, strict=True))
    assert columns.amount(columns.requested, "example.com/gpu", 1) == 0


def test_a_resource_keeps_its_index_when_others_appear() -> None:
    columns = ResourceColumns(4)
    gpu = columns.index("example.com/gpu")
    columns.set_allocatable(3, {"example.com/gpu": 5})
    columns.index("example.com/fpga")
    assert columns.index("example.com/gpu") == gpu
    assert columns.allocatable[gpu].tolist() == [0, 0, 0, 5]


def test_asking_for_an_amount_of_an_unknown_resource_makes_no_column() -> None:
    columns = ResourceColumns(4)
    assert columns.amount(columns.allocatable, "example.com/gpu", 0) == 0
    assert "example.com/gpu" not in columns.names


def test_growing_keeps_every_amount() -> None:
    columns = ResourceColumns(2)
    columns.set_allocatable(1, {"cpu": 4000, "pods": 7, "example.com/gpu": 2})
    columns.add(1, pod("p").signature)
    columns.grow(5)
    assert columns.allocatable.shape == columns.requested.shape == columns.offered.shape == (4, 5)
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
