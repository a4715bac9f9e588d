"""Members are assigned to parts in whole slices, slices that lack members first, and one smaller slice at the end."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract.topology import rank
from muster.framework.scheduler.domain_order import Counts
from muster.framework.scheduler.slices import assign, distribute, may_join
from tests.builders import make_pod
from tests.coscheduling.objects import typed_pod

PARTS = 4


def for_each_part(most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), min_size=PARTS, max_size=PARTS)


@given(
    st.integers(1, 30),
    st.integers(1, 6),
    for_each_part(20),
    for_each_part(9),
)
def test_no_part_gets_more_than_it_takes_and_at_most_one_slice_is_not_whole(
    members: int, size: int, capacity: list[int], held: list[int]
) -> None:
    found = assign(members, size, np.array(capacity), np.array(held))
    counts = Counter(found)

    assert len(found) <= members
    assert all(count <= capacity[part] for part, count in counts.items())
    if len(found) == members or all(n % size == 0 for n in held):
        open_slices = [part for part in range(PARTS) if (held[part] + counts[part]) % size]
        untouched = sum(1 for part in open_slices if not counts[part])
        assert len(open_slices) - untouched <= 1


@given(st.integers(1, 30), st.integers(1, 6), for_each_part(20))
def test_all_members_are_assigned_wherever_whole_slices_and_the_rest_fit(
    members: int, size: int, capacity: list[int]
) -> None:
    found = assign(members, size, np.array(capacity), np.zeros(PARTS, np.int64))
    slices, rest = divmod(members, size)
    slots = [there // size for there in capacity]
    fits = sum(slots) > slices or (
        sum(slots) == slices and (not rest or any(there % size >= rest for there in capacity))
    )
    if fits:
        assert len(found) == members
    if sum(slots) < slices:
        assert len(found) == sum(slots) * size


def test_a_slice_that_a_part_has_no_capacity_to_complete_does_not_keep_members_from_another_that_is_open() -> None:
    assert assign(4, 3, np.array([1, 1]), np.array([1, 2])) == [1, 0]
    assert assign(4, 3, np.array([1, 9]), np.array([1, 0])) == [0]


def test_slices_that_lack_the_fewest_members_are_filled_first() -> None:
    assert assign(2, 4, np.array([3, 3, 3]), np.array([1, 3, 7])) == [1, 2]


@given(
    st.integers(1, 12),
    st.integers(1, 5),
    for_each_part(6),
    for_each_part(12),
)
def test_members_that_get_no_part_can_still_complete_all_slices_but_one(
    members: int, size: int, capacity: list[int], placed: list[int]
) -> None:
    before = np.array(placed)
    found = assign(members, size, np.array(capacity), before)
    after = before + np.bincount(np.array(found, np.intp), minlength=PARTS)
    assert needed(after, size) - (members - len(found)) <= max(0, needed(before, size) - members)


@given(st.integers(1, 12), st.integers(2, 5), for_each_part(12))
def test_a_member_may_join_a_slice_unless_others_then_stay_incomplete(
    waiting: int, size: int, placed: list[int]
) -> None:
    before = np.array(placed)
    for part, may in enumerate(may_join(-before % size, waiting)):
        after = before.copy()
        after[part] += 1
        harms = needed(after, size) - (waiting - 1) > max(0, needed(before, size) - waiting)
        assert may == (before[part] % size > 0 and not harms)


def needed(placed: Counts, size: int) -> int:
    """How many members all open slices but one lack."""
    lacking = -placed % size
    return int(lacking.sum() - lacking.max())


@given(st.lists(st.integers(-1, PARTS - 1), min_size=1, max_size=12), st.lists(st.integers(0, PARTS - 1), max_size=12))
def test_nominated_members_get_their_own_parts_and_others_what_is_left_in_rank_order(
    own: list[int], assigned: list[int]
) -> None:
    assigned = assigned[: len(own)]
    found = distribute(assigned, own)

    assert Counter(part for part in found if part is not None) == Counter(assigned)
    kept = Counter(part for part, mine in zip(found, own, strict=True) if part == mine)
    assert all(kept[part] >= min(count, assigned.count(part)) for part, count in Counter(own).items())
    assert distribute(assigned, [-1] * len(own))[: len(assigned)] == assigned


def test_ranks_go_by_the_index_of_the_controller_and_else_by_the_numbers_in_the_name() -> None:
    names = ["w-10", "w-9", "w-2"]
    assert sorted(names, key=lambda name: rank(typed_pod(make_pod(name)))) == ["w-2", "w-9", "w-10"]
    label = "batch.kubernetes.io/job-completion-index"
    pods = [typed_pod(make_pod(name).labels({label: str(index)})) for index, name in ((1, "a"), (0, "z"))]
    assert [pod.name for pod in sorted(pods, key=rank)] == ["z", "a"]
