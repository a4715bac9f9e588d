"""The work queue: keys that are due come once, in the order of their times, and patient ones after all others."""

from hypothesis import given
from hypothesis import strategies as st

from muster.operator.podgroups.work_queue import WorkQueue


def test_a_key_comes_when_it_is_due_and_once() -> None:
    queue = WorkQueue()
    queue.add("a", at=5)
    queue.add("a", at=7)
    assert queue.next_time() == 5
    assert queue.pop(4.9) is None
    assert queue.pop(5) == "a"
    assert queue.pop(9) is None
    assert queue.next_time() is None


def test_a_key_may_become_due_earlier() -> None:
    queue = WorkQueue()
    queue.add("a", at=7)
    queue.add("a", at=5)
    assert queue.pop(5) == "a"
    assert queue.pop(9) is None


def test_the_key_that_is_due_longest_comes_first() -> None:
    queue = WorkQueue()
    for key, at in (("c", 3), ("a", 1), ("b", 1)):
        queue.add(key, at=at)
    assert [queue.pop(9) for _ in range(3)] == ["a", "b", "c"]


def test_patient_keys_come_after_all_others_that_are_due() -> None:
    queue = WorkQueue()
    queue.add("patient", at=1, patient=True)
    queue.add("urgent", at=2)
    assert queue.next_time() == 1
    assert [queue.pop(2), queue.pop(2)] == ["urgent", "patient"]


def test_a_patient_key_that_becomes_urgent_comes_once() -> None:
    queue = WorkQueue()
    queue.add("a", at=1, patient=True)
    queue.add("a", at=2)
    queue.add("a", at=1, patient=True)
    assert len(queue) == 1
    queue.add("other", at=1, patient=True)
    assert [queue.pop(2), queue.pop(2), queue.pop(2)] == ["a", "other", None]


def test_a_discarded_key_does_not_come() -> None:
    queue = WorkQueue()
    queue.add("a", at=1)
    queue.add("b", at=2, patient=True)
    queue.discard("a")
    queue.discard("b")
    queue.discard("never added")
    assert (queue.next_time(), queue.pop(9), len(queue)) == (None, None, 0)


STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()) | st.sampled_from("abc") | st.integers(0, 9)
)


@given(STEPS)
def test_nothing_is_lost_and_nothing_comes_early_or_late(steps: list[tuple[str, int, bool] | str | int]) -> None:
    queue, due = WorkQueue(), dict[str, int]()
    for step in steps:
        match step:
            case (str(key), int(at), bool(patient)):
                queue.add(key, at=at, patient=patient)
                due[key] = min(at, due.get(key, at))
            case str(key):
                queue.discard(key)
                due.pop(key, None)
            case int(now):
                came = set()
                while (ready := queue.pop(now)) is not None:
                    came.add(ready)
                assert came == {key for key, at in due.items() if at <= now}
                due = {key: at for key, at in due.items() if at > now}
        assert len(queue) == len(due)
        assert queue.next_time() == min(due.values(), default=None)
