"""Repeated events become one with a count, by client-go's times."""

from hypothesis import given
from hypothesis import strategies as st

from muster.operator.kube.references import ObjectReference
from muster.operator.kube.series import EventKey, SeriesTable, Sighting


def key(note: str = "no room", version: str = "1") -> EventKey:
    pod = ObjectReference(kind="Pod", namespace="ns", name="p", uid="u", resource_version=version)
    return EventKey("Warning", "FailedScheduling", "Scheduling", note, "muster", pod, None)


def reported(due: list[Sighting]) -> list[tuple[str, int]]:
    return [(sighting.name, sighting.count) for sighting in due]


def test_the_first_and_second_sighting_are_written_and_further_ones_counted() -> None:
    table = SeriesTable(10)
    assert reported(table.observe(key(), name="e1", now=0)) == [("e1", 1)]
    assert reported(table.observe(key(), name="e2", now=1)) == [("e1", 2)]
    assert table.observe(key(), name="e3", now=2) == []
    assert table.observe(key(), name="e4", now=3) == []


def test_another_note_or_another_version_of_the_pod_is_another_event() -> None:
    table = SeriesTable(10)
    table.observe(key(), name="e1", now=0)
    assert reported(table.observe(key(note="no gpu"), name="e2", now=1)) == [("e2", 1)]
    assert reported(table.observe(key(version="2"), name="e3", now=2)) == [("e3", 1)]
    assert reported(table.observe(key(), name="e4", now=3)) == [("e1", 2)]


def test_after_six_quiet_minutes_the_count_is_written_and_the_event_is_new_again() -> None:
    table = SeriesTable(10)
    for now in (0, 1, 2):
        table.observe(key(), name="e1", now=now)
    assert table.sweep(now=361) == []
    assert reported(table.sweep(now=362)) == [("e1", 3)]
    assert len(table) == 0
    assert reported(table.observe(key(), name="e2", now=363)) == [("e2", 1)]


def test_a_quiet_series_is_closed_by_its_next_event_too() -> None:
    table = SeriesTable(10)
    for now in (0, 1, 2):
        table.observe(key(), name="e1", now=now)
    assert reported(table.observe(key(), name="e2", now=400)) == [("e1", 3), ("e2", 1)]


def test_a_single_event_is_forgotten_without_a_write() -> None:
    table = SeriesTable(10)
    table.observe(key(), name="e1", now=0)
    assert table.sweep(now=360) == []
    assert len(table) == 0


def test_a_series_that_goes_on_is_written_every_half_hour() -> None:
    table = SeriesTable(10)
    written: list[tuple[int, int]] = []
    for minute in range(0, 95, 5):
        written += [(minute, s.count) for s in table.observe(key(), name="e1", now=minute * 60)]
        written += [(minute, s.count) for s in table.sweep(now=minute * 60)]
    assert written == [(0, 1), (5, 2), (35, 8), (65, 14)]


def test_beyond_its_capacity_the_longest_unseen_goes_with_its_count_written() -> None:
    table = SeriesTable(2)
    for now in (0, 1, 2):
        table.observe(key("a"), name="a", now=now)
    table.observe(key("b"), name="b", now=3)
    assert reported(table.observe(key("c"), name="c", now=4)) == [("c", 1), ("a", 3)]
    table.observe(key("b"), name="b2", now=5)
    assert reported(table.observe(key("d"), name="d", now=6)) == [("d", 1)]
    assert reported(table.observe(key("b"), name="b3", now=7)) == []


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.floats(0, 500)), max_size=60))
def test_no_sighting_is_ever_lost(sightings: list[tuple[str, float]]) -> None:
    table = SeriesTable(3)
    last_written: dict[str, int] = {}
    now = 0.0
    for number, (note, gap) in enumerate(sightings):
        now += gap
        due = table.observe(key(note), name=f"{note}{number}", now=now) + table.sweep(now=now)
        last_written |= {sighting.name: sighting.count for sighting in due}
        assert len(table) <= 3
    last_written |= {sighting.name: sighting.count for sighting in table.sweep(now=now + 361)}
    assert sum(last_written.values()) == len(sightings)
