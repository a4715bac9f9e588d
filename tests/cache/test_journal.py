"""The journal of changed rows."""

from muster.framework.snapshot.journal import Journal


def test_changes_since_a_position_are_returned_once_a_row() -> None:
    journal = Journal()
    journal.record(1)
    position = journal.position
    for row in (2, 3, 2):
        journal.record(row)
    assert journal.since(position) == {2, 3}


def test_nothing_has_changed_since_the_end() -> None:
    journal = Journal()
    journal.record(1)
    assert journal.since(journal.position) == set()


def test_positions_stay_valid_when_old_entries_are_dropped() -> None:
    journal = Journal(limit=10)
    for row in range(10):
        journal.record(row)
    position = journal.position
    for row in range(100, 105):
        journal.record(row)
    assert journal.since(position) == set(range(100, 105))


def test_a_position_before_the_oldest_entry_means_that_everything_may_have_changed() -> None:
    journal = Journal(limit=10)
    for row in range(11):
        journal.record(row)
    assert journal.since(0) is None


def test_the_journal_never_grows_past_its_limit() -> None:
    journal = Journal(limit=10)
    oldest = 0
    for row in range(1000):
        journal.record(row)
        while journal.since(oldest) is None:
            oldest += 1
        assert journal.position - oldest <= 10
