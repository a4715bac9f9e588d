"""The history of a day: samples, the file that they are kept in, and the page that draws them."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.framework.contract import GroupId
from muster.framework.groups.annotations import GroupMeta
from muster.framework.groups.holds import HOLD
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import parse_time
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.web.capacity import used_shares
from muster.operator.web.census import take_census
from muster.operator.web.change_log import ChangeKind, RecentChange, StateIndex
from muster.operator.web.cluster import ClusterState
from muster.operator.web.cluster_history import ClusterHistory
from muster.operator.web.history_file import MOST_CHANGES, HistoryError, HistoryFile, StoredHistory
from muster.operator.web.samples import DAY_SECONDS, DaySeries, QueueSample, sample_of
from muster.operator.web.templating import Templates
from muster.operator.web.views.changes import DAY, QUARTER, changes_page
from muster.operator.web.views.history import history_page
from muster.plugins.catalog import group_kinds
from muster.plugins.coscheduling.api import POD_GROUPS, PodGroup, PodGroupSpec
from tests.builders import PodDict, make_node, make_pod
from tests.web.served import member

KINDS = GroupKinds(group_kinds())
NOW = 1_800_000_000.0
CLUSTER = "https://here, all namespaces"
EMPTY = take_census(ClusterState((), (), KINDS, {}))


def pod(given: PodDict) -> Pod:
    return msgspec.convert(given, Pod)


def sample(ago: float, pods: int = 0, **more: Any) -> QueueSample:
    """A sample of so many seconds ago, with a quarter of the cpu used."""
    return QueueSample(NOW - ago, pods=pods, used={"cpu": 0.25}, **more)


def change(ago: float, subject: str = "default/a") -> RecentChange:
    return RecentChange(NOW - ago, ChangeKind.WAITS, subject, "waits for a node", GroupId("Coscheduling", "default/g"))


# Samples.


def test_a_sample_has_the_waits_of_groups_and_of_pods_without_one_but_not_of_gated_and_held_ones() -> None:
    born = ["2027-01-15T07:59:50Z", "2027-01-15T07:59:40Z", "2027-01-15T07:59:10Z", "2027-01-15T07:00:00Z"]
    groups = [
        PodGroup(GroupMeta(name=name, namespace="default", creation_timestamp=born[2]), PodGroupSpec(min_member=2))
        for name in ("train", "calm")
    ]
    groups[1].metadata.annotations[HOLD] = ""
    alone = [make_pod("late"), make_pod("later"), make_pod("gated").gate("example.com/wait")]
    for each, stamp in zip(alone, (born[0], born[1], born[3]), strict=True):
        each["metadata"]["creationTimestamp"] = stamp
    pods = [*alone, member("train", 0), member("calm", 0), make_pod("runs").node("n1")]
    census = take_census(ClusterState([], [pod(each) for each in pods], KINDS, {POD_GROUPS: groups}))
    found = sample_of(census, {"cpu": 0.5}, parse_time("2027-01-15T08:00:00Z"))
    assert (found.groups, found.pods, found.longest, found.median) == (1, 5, 50.0, 20.0)
    assert found.used == {"cpu": 0.5}
    assert sample_of(EMPTY, {}, NOW) == QueueSample(NOW)


def test_the_used_share_of_a_resource_is_that_of_all_nodes() -> None:
    snapshot = Snapshot()
    for name in ("one", "two"):
        snapshot.set_node(msgspec.convert(make_node(name, cpu="4"), Node))
    snapshot.add_pod(PodInfo(pod(make_pod("a").requests(cpu="2").node("one"))), "one")
    found = used_shares(snapshot)
    assert found["cpu"] == 0.25
    assert [*found][:2] == ["cpu", "memory"]
    assert used_shares(Snapshot()) == {}


def test_a_series_has_the_samples_of_the_last_day() -> None:
    series = DaySeries([sample(DAY_SECONDS + 20), sample(DAY_SECONDS), sample(10)])
    series.add(sample(0))
    assert [each.wall for each in series.samples()] == [NOW - DAY_SECONDS, NOW - 10, NOW]


# The file.


def test_a_file_gives_back_what_was_written_without_what_is_older_than_a_day(tmp_path: Path) -> None:
    path = tmp_path / "history"
    file = HistoryFile(path, CLUSTER)
    assert file.read(NOW) == StoredHistory([], [])
    samples = [sample(DAY_SECONDS + 10, 1), sample(20, 2, longest=3.5), sample(10, 3, median=1.5)]
    changes = [change(5, "default/new"), change(15), change(DAY_SECONDS + 10, "default/old")]
    file.write(samples, changes, NOW)
    file.write([sample(0, 4)], [], NOW)
    file.close()
    again = HistoryFile(path, CLUSTER)
    assert again.read(NOW) == StoredHistory([*samples[1:], sample(0, 4)], changes[:2])
    assert path.stat().st_mode & 0o777 == 0o600
    again.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM samples").fetchone() == (3,)
        assert database.execute("SELECT count(*) FROM changes").fetchone() == (2,)


def test_a_file_keeps_so_many_changes(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "history", CLUSTER)
    file.write([], [change(1, f"default/p{number}") for number in range(MOST_CHANGES)], NOW)
    file.write([], [change(0, "default/last")], NOW)
    found = file.read(NOW).changes
    assert (len(found), found[0].subject, found[-1].subject) == (MOST_CHANGES, "default/last", "default/p4998")
    file.close()


def _other_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE bookmarks (url TEXT)")


def _damaged(path: Path) -> None:
    HistoryFile(path, CLUSTER).close()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _strange(path: Path) -> None:
    HistoryFile(path, CLUSTER).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO samples VALUES (?, 1, 1, 0, 0, 'no JSON')", (NOW,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("my diary, which nobody may overwrite" * 99), "it is not an SQLite database"),
        (_other_program, "it is the database of another program, or of another version"),
        (_damaged, "it is damaged"),
        (_strange, "it is damaged"),
        (lambda path: path.mkdir(), "it cannot be opened"),
        (lambda path: HistoryFile(path, "https://there").close(), "it is the history of https://there"),
    ],
    ids=["text", "another program's", "cut", "strange content", "folder", "another cluster's"],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "history"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    refused = pytest.raises(HistoryError, match=re.escape(f"{path}: {message}"))
    with refused, closing(HistoryFile(path, CLUSTER)) as file:
        file.read(NOW)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_file_in_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "history"
    with pytest.raises(HistoryError, match=re.escape(f"{path}: no such file or directory")):
        HistoryFile(path, CLUSTER)


def test_a_file_that_another_process_uses_is_not_shared(tmp_path: Path) -> None:
    first = HistoryFile(tmp_path / "history", CLUSTER)
    with pytest.raises(HistoryError, match="another process uses it"):
        HistoryFile(tmp_path / "history", CLUSTER)
    first.close()
    HistoryFile(tmp_path / "history", CLUSTER).close()


# What is kept.


class Store:
    """A file that fails when it is told to."""

    def __init__(self) -> None:
        self.written: list[tuple[list[float], list[str]]] = []
        self.fault = ""

    def write(self, samples: Sequence[QueueSample], changes: Sequence[RecentChange], now: float) -> None:
        if self.fault:
            raise HistoryError(self.fault)
        self.written.append(([NOW - each.wall for each in samples], [each.subject for each in changes]))


def index(*pods: PodDict) -> StateIndex:
    return StateIndex({each["metadata"]["name"]: pod(each) for each in pods}, {}, {}, KINDS)


def look(history: ClusterHistory, *pods: PodDict) -> None:
    """The ticker sees these pods."""
    seen = index(*pods)
    found = history.changes.differences(seen, NOW)
    assert found is not None
    history.changes.record(seen, found)


async def test_each_sample_is_written_with_the_changes_since_the_last_write() -> None:
    store = Store()
    history = ClusterHistory(store, StoredHistory([sample(60)], [change(60, "default/old")]))
    look(history, make_pod("a"))
    await history.keep(sample(20))
    look(history, make_pod("a"), make_pod("b"))
    look(history, make_pod("a"), make_pod("b"), make_pod("c"))
    await history.keep(sample(10))
    await history.keep(sample(0))
    assert store.written == [([20.0], []), ([10.0], ["default/c", "default/b"]), ([0.0], [])]
    assert [NOW - each.wall for each in history.series.samples()] == [60, 20, 10, 0]
    assert [each.subject for each in history.changes.latest(NOW)] == ["default/c", "default/b", "default/old"]


async def test_a_failed_write_is_shown_and_repeated_with_the_next() -> None:
    store = Store()
    history = ClusterHistory(store, StoredHistory())
    look(history)
    store.fault = "/h: the disk is full"
    look(history, make_pod("a"))
    await history.keep(sample(20))
    assert history.write_error == "The history cannot be written: /h: the disk is full"
    await history.keep(sample(10))
    store.fault = ""
    await history.keep(sample(0))
    assert history.write_error == ""
    assert store.written == [([20.0, 10.0, 0.0], ["default/a"])]


async def test_samples_are_taken_again_and_again_also_after_one_that_failed() -> None:
    store, over = Store(), asyncio.Event()
    history = ClusterHistory(store, StoredHistory())
    samples = iter([sample(20), None, sample(10)])

    async def taken() -> QueueSample:
        found = next(samples, None)
        if found is None:
            if len(store.written) == 2:
                over.set()
            raise RuntimeError("the cluster is gone")
        return found

    running = asyncio.create_task(history.run(taken, every=0.0))
    await asyncio.wait_for(over.wait(), 30)
    running.cancel()
    assert [written for written, _ in store.written] == [[20.0], [10.0]]


# The page.


def paths(samples: Sequence[QueueSample]) -> dict[str, str]:
    """The lines of all charts, by name."""
    return {line.name: line.path for chart in history_page(samples, NOW).charts for line in chart.lines}


def test_a_line_is_drawn_from_the_highest_value_of_each_span_of_time() -> None:
    minute = [sample(ago, pods) for ago, pods in ((3600, 0), (1800, 2), (1799, 4), (1785, 1), (0, 0))]
    assert paths(minute)["pods"] == "M1 120h0M361 0L363 90M719 120h0"
    view = history_page(minute, NOW)
    assert view.span == "60m"
    queue = view.charts[1]
    assert (queue.title, queue.top) == ("Queue length", "4")
    assert [(line.name, line.latest, line.highest) for line in queue.lines] == [
        ("pods", "0", "4"),
        ("groups", "0", "0"),
    ]


def test_a_time_without_samples_is_a_gap() -> None:
    before, after = [sample(ago, 1) for ago in range(3600, 2400, -10)], [sample(ago, 1) for ago in range(1200, 0, -10)]
    assert history_page([*before, *after], NOW).gaps == 1
    assert paths([*before, *after])["pods"].count("M") == 2
    whole = [sample(ago, 1) for ago in range(3600, 0, -10)]
    assert history_page(whole, NOW).gaps == 0
    assert paths(whole)["pods"].count("M") == 1


def test_a_day_is_drawn_at_most_and_an_hour_at_least() -> None:
    assert history_page([sample(10)], NOW).span == "60m"
    day = [sample(DAY_SECONDS + 100, 9), *(sample(ago, 1) for ago in range(86400, 0, -10))]
    view = history_page(day, NOW)
    assert (view.span, view.charts[1].top) == ("24h", "1")
    assert [words for _, words in view.ticks] == ["24h ago", "18h ago", "12h ago", "6h ago"]
    assert all(len(line.path) < 10_000 for chart in view.charts for line in chart.lines)


def test_each_resource_has_a_line_of_its_own_in_hundredths_of_the_capacity() -> None:
    samples = [sample(20), QueueSample(NOW - 10, used={"cpu": 0.5, "example.com/gpu": 1.25})]
    chart = history_page(samples, NOW).charts[2]
    assert (chart.title, chart.top) == ("Used capacity", "125 %")
    assert [(line.name, line.latest, line.highest) for line in chart.lines] == [
        ("cpu", "50 %", "50 %"),
        ("example.com/gpu", "125 %", "125 %"),
    ]


async def test_the_page_draws_the_charts_and_says_how_often_recording_was_interrupted() -> None:
    samples = [sample(3000, 7, longest=90.0), sample(20, 2), sample(10, 2)]
    templates = Templates(history=True)
    drawn = await templates.render(
        "history", view=history_page(samples, NOW), page="History", base="/web", about="", version=0, missing=[]
    )
    assert '<a href="/web/history" aria-current="page">History</a>' in drawn
    assert "The last 60m, with 1 interruption." in drawn
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", drawn) == ["Waiting time", "Queue length", "Used capacity"]
    assert drawn.count("<svg") == 3 + 5
    assert 'aria-label="Queue length, up to 7"' in drawn
    assert "now 2, highest 7" in drawn
    assert "style=" not in drawn


async def test_the_page_of_a_history_that_begins_is_drawn() -> None:
    drawn = await Templates(history=True).render(
        "history", view=history_page([], NOW), page="History", base="", about="", version=0, missing=[]
    )
    assert "No samples yet." in drawn


async def test_pages_without_a_history_do_not_lead_to_one() -> None:
    view = changes_page([], EMPTY, DAY, kind="", now=NOW)
    drawn = await Templates().render("changes", view=view, page="", base="", about="", version=0, missing=[])
    assert "/history" not in drawn


def test_a_bar_says_how_many_changes_it_stands_for_and_when_they_were() -> None:
    seconds = (1, 61, 62)
    view = changes_page([change(ago) for ago in seconds], EMPTY, QUARTER, kind="", now=NOW)
    assert [bar.words for bar in view.bars[:2]] == ["1 change less than a minute ago", "2 changes 60s ago"]


async def test_the_changes_of_a_day_are_listed_up_to_a_number() -> None:
    view = changes_page([change(number) for number in range(600)], EMPTY, DAY, kind="", now=NOW)
    assert (len(view.rows), view.hidden, len(view.bars)) == (500, 100, 24)
    drawn = await Templates().render("changes", view=view, page="", base="", about="", version=0, missing=[])
    assert "In the last 24 hours" in drawn
    assert "100 more are not listed." in drawn
