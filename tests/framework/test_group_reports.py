"""Reports of a group are remembered in its record, and forgotten with the object that they were about."""

from muster.framework.embedded.clock import VirtualClock
from muster.framework.groups import GroupMeta, GroupRecord, Report
from tests.teams.plugin import Team, TeamBook, TeamReason, TeamReporter, TeamSpec

KEY = "default/choir"


def team(uid: str) -> Team:
    return Team(GroupMeta(name="choir", namespace="default", uid=uid), TeamSpec(size=3))


def refused() -> tuple[TeamBook, GroupRecord[Team], Report]:
    """A team that does not fit, and the report that says so."""
    book = TeamBook(VirtualClock())
    book.follow_group(KEY, team("one"))
    book.announce(KEY, TeamReason.TOO_FEW_FIT, "2 of 3 fit")
    report = TeamReporter(book, VirtualClock()).report(KEY)
    assert report is not None
    return book, book.record(KEY), report


def test_an_announcement_is_reported_once_its_patch_is_accepted() -> None:
    _, record, report = refused()
    assert record.reported is None
    report.accepted(b"{}")
    assert record.reported is record.announced is not None


def test_a_patch_that_is_accepted_late_reports_nothing_of_the_team_that_took_the_name() -> None:
    book, record, report = refused()
    book.follow_group(KEY, team("two"))
    report.accepted(b"{}")
    assert (record.announced, record.reported) == (None, None)


def test_a_team_that_was_made_again_has_nothing_of_the_one_before() -> None:
    book, record, report = refused()
    report.accepted(b"{}")
    record.next_write, record.left_out_members = 7.0, True
    book.follow_group(KEY, team("two"))
    assert (record.announced, record.reported, record.next_write, record.left_out_members) == (None, None, 0.0, False)


def test_the_servers_answer_is_the_latest_version_until_the_informer_reports_the_object_again() -> None:
    based_on, answer, reported = team("one"), team("one"), team("one")
    record = GroupRecord(KEY, based_on, answered=(based_on, answer))
    assert record.latest is answer
    record.group = reported
    assert record.latest is reported
