"""The order in which domains are tried: none is left out that could take the group, and the best fit comes first."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.scheduler.domain_order import (
    SignatureDemand,
    capacity_of,
    closest,
    highest_first,
    in_slices,
    tightest_first,
)
from muster.framework.snapshot.partitions import NONE, Partitions
from muster.testing.cluster import Cluster
from tests.builders import make_node

DOMAINS = 4


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[int], list[SignatureDemand], int]:
    """Each row's domain, what members of up to three signatures could find on it, and how many members must fit."""
    height = draw(st.integers(1, 10))
    numbers = draw(st.lists(st.integers(NONE, DOMAINS - 1), min_size=height, max_size=height))
    capacities = st.lists(st.integers(0, 4), min_size=height, max_size=height)
    demands = draw(
        st.lists(
            st.builds(lambda n, c: SignatureDemand(n, np.array(c)), st.integers(1, 5), capacities),
            min_size=1,
            max_size=3,
        )
    )
    missing = draw(st.integers(1, sum(demand.count for demand in demands)))
    return numbers, demands, missing


def most(numbers: Sequence[int], demands: Sequence[SignatureDemand], domain: int) -> int:
    """How many members could be placed in the domain if those of one signature stood in the way of no others."""
    return sum(
        min(demand.count, sum(int(n) for n, at in zip(demand.capacities, numbers, strict=True) if at == domain))
        for demand in demands
    )


@given(situations())
def test_only_domains_with_capacity_are_tried_the_tightest_for_all_members_first(
    situation: tuple[list[int], list[SignatureDemand], int],
) -> None:
    numbers, demands, missing = situation
    members = sum(demand.count for demand in demands)
    capacity = capacity_of(np.array(numbers), DOMAINS, demands)
    order = tightest_first(capacity, missing, members)

    assert sorted(order) == [domain for domain in range(DOMAINS) if most(numbers, demands, domain) >= missing]
    for one, next_one in pairwise(order):
        all_fit, fit_next = (most(numbers, demands, domain) for domain in (one, next_one))
        assert all_fit >= fit_next
        if all_fit == fit_next:
            assert capacity.pods[one] <= capacity.pods[next_one]
    assert most(numbers, demands, closest(capacity)) == max(most(numbers, demands, domain) for domain in range(DOMAINS))


@given(situations(), st.lists(st.integers(0, 200), min_size=DOMAINS, max_size=DOMAINS))
def test_by_bounds_the_same_domains_are_tried_the_highest_first(
    situation: tuple[list[int], list[SignatureDemand], int], bounds: list[int]
) -> None:
    numbers, demands, missing = situation
    capacity = capacity_of(np.array(numbers), DOMAINS, demands)
    order = highest_first(capacity, missing, np.array(bounds), np.arange(DOMAINS))

    assert sorted(order) == sorted(tightest_first(capacity, missing, sum(demand.count for demand in demands)))
    assert [bounds[domain] for domain in order] == sorted((bounds[domain] for domain in order), reverse=True)


@given(situations(), st.integers(1, 3), st.data())
def test_the_capacity_for_slices_is_at_least_that_of_open_slices_and_complete_ones_and_a_remainder(
    situation: tuple[list[int], list[SignatureDemand], int], size: int, data: Any
) -> None:
    numbers, [demand, *_], _ = situation
    parts = [data.draw(st.integers(NONE, 2)) if at >= 0 else NONE for at in numbers]
    part_numbers = [NONE if part < 0 else at * 3 + part for at, part in zip(numbers, parts, strict=True)]
    running = np.array(data.draw(st.lists(st.integers(0, 4), min_size=DOMAINS * 3, max_size=DOMAINS * 3)))
    capacity = in_slices(np.array(numbers), DOMAINS, np.array(part_numbers), running, demands=[demand], size=size)

    for domain in range(DOMAINS):
        by_part = [
            sum(int(n) for n, at in zip(demand.capacities, part_numbers, strict=True) if at == domain * 3 + part)
            for part in range(3)
        ]
        lacking = [min(there, -int(running[domain * 3 + part]) % size) for part, there in enumerate(by_part)]
        by_part = [there - more for there, more in zip(by_part, lacking, strict=True)]
        whole = sum(there // size for there in by_part)
        slices, rest = divmod(max(demand.count - sum(lacking), 0), size)
        fits = min(sum(lacking), demand.count) + min(whole, slices) * size
        if whole >= slices:
            left = [there % size for there in by_part] + ([size] if whole > slices else [])
            fits += min(rest, max(left))
        assert capacity.members[domain] >= fits


def test_no_capacity_is_counted_beyond_the_number_of_members() -> None:
    huge = SignatureDemand(2, np.array([1 << 62, 1 << 62]))
    capacity = capacity_of(np.array([0, 0]), 1, [huge])
    assert capacity.members.tolist() == [2]
    assert capacity.pods[0] > 0


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["", "x", "y"])), max_size=8))
def test_nodes_are_in_one_domain_when_they_agree_on_all_labels_and_in_none_when_they_lack_one(
    labelled: list[tuple[str, str]],
) -> None:
    cluster = Cluster()
    for number, values in enumerate(labelled):
        labels = {key: value for key, value in zip(("zone", "rack"), values, strict=True) if value}
        cluster.add(make_node(f"n{number}").labels(labels))
    partition = Partitions(cluster.snapshot).of(("zone", "rack"))

    assert partition.values == sorted({values for values in labelled if all(values)})
    for row, values in enumerate(labelled):
        number = partition.numbers[row]
        assert (number == NONE) == (not all(values))
        if number != NONE:
            assert partition.values[number] == values
    assert [row.tolist() for row in partition.rows] == [
        [row for row, values in enumerate(labelled) if values == found] for found in partition.values
    ]


def test_a_partition_is_worked_out_again_only_when_a_node_has_changed() -> None:
    cluster = Cluster(make_node("a").labels({"rack": "r1"}))
    partitions = Partitions(cluster.snapshot)
    before = partitions.of(("rack",))
    assert partitions.of(("rack",)) is before

    cluster.add(make_node("b").labels({"rack": "r0"}))
    assert partitions.of(("rack",)).values == [("r0",), ("r1",)]
