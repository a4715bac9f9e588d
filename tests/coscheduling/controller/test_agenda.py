"""What is due comes once, in the order of its time, and the patient after all others."""

from hypothesis import given
from hypothesis import strategies as st

from muster.operator.podgroups.agenda import Agenda


def test_a_key_comes_when_it_is_due_and_once() -> None:
    agenda = Agenda()
    agenda.add("a", at=5)
    agenda.add("a", at=7)
    assert agenda.next_time() == 5
    assert agenda.pop(4.9) is None
    assert agenda.pop(5) == "a"
    assert agenda.pop(9) is None
    assert agenda.next_time() is None


def test_a_key_may_become_due_earlier() -> None:
    agenda = Agenda()
    agenda.add("a", at=7)
    agenda.add("a", at=5)
    assert agenda.pop(5) == "a"
    assert agenda.pop(9) is None


def test_what_is_due_longest_comes_first() -> None:
    agenda = Agenda()
    for key, at in (("c", 3), ("a", 1), ("b", 1)):
        agenda.add(key, at=at)
    assert [agenda.pop(9) for _ in range(3)] == ["a", "b", "c"]


def test_patient_keys_come_after_all_others_that_are_due() -> None:
    agenda = Agenda()
    agenda.add("patient", at=1, patient=True)
    agenda.add("urgent", at=2)
    assert agenda.next_time() == 1
    assert [agenda.pop(2), agenda.pop(2)] == ["urgent", "patient"]


def test_a_patient_key_that_becomes_urgent_comes_once() -> None:
    agenda = Agenda()
    agenda.add("a", at=1, patient=True)
    agenda.add("a", at=2)
    agenda.add("a", at=1, patient=True)
    assert len(agenda) == 1
    agenda.add("other", at=1, patient=True)
    assert [agenda.pop(2), agenda.pop(2), agenda.pop(2)] == ["a", "other", None]


def test_a_discarded_key_does_not_come() -> None:
    agenda = Agenda()
    agenda.add("a", at=1)
    agenda.add("b", at=2, patient=True)
    agenda.discard("a")
    agenda.discard("b")
    agenda.discard("never added")
    assert (agenda.next_time(), agenda.pop(9), len(agenda)) == (None, None, 0)


STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()) | st.sampled_from("abc") | st.integers(0, 9)
)


@given(STEPS)
def test_nothing_is_lost_and_nothing_comes_early_or_late(steps: list[tuple[str, int, bool] | str | int]) -> None:
    agenda, due = Agenda(), dict[str, int]()
    for step in steps:
        match step:
            case (str(key), int(at), bool(patient)):
                agenda.add(key, at=at, patient=patient)
                due[key] = min(at, due.get(key, at))
            case str(key):
                agenda.discard(key)
                due.pop(key, None)
            case int(now):
                came = set()
                while (ready := agenda.pop(now)) is not None:
                    came.add(ready)
                assert came == {key for key, at in due.items() if at <= now}
                due = {key: at for key, at in due.items() if at > now}
        assert len(agenda) == len(due)
        assert agenda.next_time() == min(due.values(), default=None)
