"""Which entry is next."""

from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract.events import NODE_ADD
from tests.queue.harness import ERROR, Harness, pod, rejected_by


def test_priority_goes_first_then_who_came_earlier() -> None:
    harness = Harness()
    harness.add("early")
    harness.add("late")
    harness.add("urgent", priority=1)

    assert harness.drain() == [["urgent"], ["early"], ["late"]]


def test_nothing_is_ready_in_an_empty_queue() -> None:
    assert Harness().queue.pop() is None


def test_a_failed_pod_is_behind_pods_that_were_added_meanwhile() -> None:
    harness = Harness()
    harness.add("old")
    entry = harness.pop()
    harness.add("new")
    harness.fail(entry, ERROR)
    harness.at(2)

    assert harness.drain() == [["new"], ["old"]]


def test_a_changed_priority_reorders_an_active_pod_in_both_directions() -> None:
    harness = Harness()
    _, b = harness.add("a", "b")
    harness.queue.update(b, pod("b", priority=1))
    assert harness.pop_names() == ["b"]

    [c] = harness.add("c", priority=1)
    harness.queue.update(c, pod("c"))
    assert harness.drain() == [["a"], ["c"]]


def test_a_deleted_pod_is_never_popped() -> None:
    harness = Harness()
    a, _ = harness.add("a", "b")
    harness.queue.remove(a)
    harness.queue.remove(a)

    assert harness.drain() == [["b"]]


def test_a_group_goes_where_its_first_member_would() -> None:
    harness = Harness()
    harness.add("g1", group="g")
    harness.add("alone")
    harness.add("g2", group="g")

    assert harness.drain() == [["g1", "g2"], ["alone"]]


def test_a_group_moves_forward_when_a_more_urgent_member_joins() -> None:
    harness = Harness()
    harness.add("alone", priority=5)
    harness.add("g1", group="g")
    harness.add("g2", group="g", priority=9)

    assert harness.drain() == [["g1", "g2"], ["alone"]]


def test_a_group_moves_back_when_its_most_urgent_member_leaves() -> None:
    harness = Harness()
    harness.add("g1", group="g")
    [urgent] = harness.add("g2", group="g", priority=9)
    harness.add("alone", priority=5)
    harness.queue.remove(urgent)

    assert harness.drain() == [["alone"], ["g1"]]


def test_a_group_in_backoff_is_ordered_by_the_members_it_has_left() -> None:
    harness = Harness()
    harness.add("g1", group="g")
    [urgent] = harness.add("g2", group="g", priority=9)
    harness.add("alone", priority=5)
    group, alone = harness.pop(), harness.pop()
    harness.fail(group, rejected_by("P"))
    harness.fail(alone, rejected_by("P"))
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.remove(urgent)

    assert harness.drain() == [["alone"], ["g1"]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_entries_come_out_by_the_smallest_key_of_their_members(pods: list[tuple[int, int]]) -> None:
    harness = Harness()
    expected: dict[str, tuple[int, int]] = {}
    for number, (priority, group) in enumerate(pods):
        label = f"g{group}" if group else ""
        harness.add(f"pod-{number}", group=label, priority=priority)
        entry = label or f"pod-{number}"
        expected[entry] = min(expected.get(entry, (0, 10**6)), (-priority, number))

    popped = []
    while (entry_popped := harness.queue.pop()) is not None:
        popped.append(entry_popped.group or next(iter(entry_popped.pods.values())).info.name)
    assert popped == sorted(expected, key=lambda entry: expected[entry])
