"""`muster top` without a terminal: rows of a cluster, states after keys, lines of states, keys of bytes."""

from collections.abc import Sequence

import pytest

from muster.framework.contract import GroupId
from muster.framework.groups.holds import HOLD
from muster.operator.top.drawing import TopView, draw, page_of, rows_of
from muster.operator.top.keys import Key, KeyDecoder
from muster.operator.top.rows import WaitingState, summarize
from muster.operator.top.state import Extent, SortColumn, TopState, press, shown
from tests.builders import make_pod
from tests.web.served import member

from .worlds import cluster, group, mixed, said

SUMMARY = summarize(mixed())


def after(keys: Sequence[str], state: TopState | None = None, *, lines: int = 0, page: int = 5) -> TopState:
    """The state after these keys on the mixed cluster."""
    state = TopState() if state is None else state
    for key in keys:
        state = press(state, key, Extent(shown(SUMMARY.rows, state), lines, page))
    return state


def names(state: TopState) -> list[str]:
    return [row.name.removeprefix("default/") for row in shown(SUMMARY.rows, state)]


def screen(
    state: TopState, *, why: Sequence[str] = (), missing: Sequence[str] = (), width: int = 160, height: int = 16
) -> list[str]:
    view = TopView("here", SUMMARY, shown(SUMMARY.rows, state), state, why=why, missing=missing, now=1767225660.0)
    return [line.plain for line in draw(view, width=width, height=height)]


def test_waiting_groups_come_first_then_pods_then_other_groups_each_with_its_state() -> None:
    assert [(row.name, row.state, f"{row.placed}/{row.needed}") for row in SUMMARY.rows] == [
        ("default/train", WaitingState.UNSCHEDULABLE, "0/2"),
        ("default/broken", WaitingState.BACKOFF, "0/1"),
        ("default/fresh", WaitingState.ACTIVE, "0/1"),
        ("default/gated", WaitingState.GATED, "0/1"),
        ("default/kept", WaitingState.PERMIT, "0/1"),
        ("default/large", WaitingState.UNSCHEDULABLE, "0/1"),
        ("default/bare", WaitingState.EMPTY, "0/3"),
        ("default/done", WaitingState.PLACED, "1/1"),
    ]


def test_a_pod_whose_group_does_not_exist_has_a_row_of_its_own() -> None:
    found = summarize(cluster([], [said(member("ghost", 0), "Unschedulable", "no group")]))
    assert [(row.kind, row.name, row.message) for row in found.rows] == [("pod", "default/ghost-0", "no group")]


def test_a_group_has_the_state_of_its_most_telling_member() -> None:
    members = [member("train", 0), said(member("train", 1), "WaitingOnPermit"), member("train", 2).node("node-1")]
    assert [row.state for row in summarize(cluster([group("train", 3)], members)).rows] == [WaitingState.PERMIT]


def test_a_held_group_is_counted_as_held_and_comes_after_those_that_wait_and_says_why() -> None:
    calm = group("calm", 2)
    calm["metadata"]["annotations"] = {HOLD: "rack 4 moves"}
    members = [said(member("calm", 0), "SchedulingGated"), member("train", 0)]
    found = summarize(cluster([calm, group("train", 2)], [*members, make_pod("alone")]))
    assert [(row.place, row.name, row.state) for row in found.rows] == [
        (1, "default/train", WaitingState.ACTIVE),
        (0, "default/calm", WaitingState.HELD),
        (0, "default/alone", WaitingState.ACTIVE),
    ]
    assert found.rows[1].message == "Held: pod group default/calm is held: rack 4 moves"
    assert (found.waiting_groups, found.held_groups, found.pods[WaitingState.GATED]) == (1, 1, 1)
    counts = draw(TopView("here", found, found.rows, TopState()), width=160, height=16)[1].plain
    assert counts.startswith("active 2  backoff 0  unschedulable 0  gated 1  permit 0  | 1 group waits, 1 held, 0 pods")


def test_a_held_group_that_has_its_quorum_has_the_state_of_its_members() -> None:
    calm = group("calm", 1)
    calm["metadata"]["annotations"] = {HOLD: ""}
    found = summarize(cluster([calm], [member("calm", 0).node("node-1"), member("calm", 1)]))
    assert [(row.state, row.message) for row in found.rows] == [
        (WaitingState.ACTIVE, "Held: pod group default/calm is held")
    ]
    assert found.held_groups == 0


def test_the_status_line_counts_waiting_pods_by_state() -> None:
    title, counts, *_ = screen(TopState())
    assert title == "muster top  here"
    assert counts == ("active 1  backoff 1  unschedulable 3  gated 1  permit 1  | 1 group waits, 1 pod placed, 0 nodes")


def test_the_table_has_a_row_for_each_and_the_selected_one_is_reversed() -> None:
    lines = screen(after(["j"]))
    assert lines[2].split() == ["STATE", "PLACE", "KIND", "NAME", "PODS", "PRIORITY", "AGE", "MESSAGE"]
    assert lines[3].split()[:5] == ["unschedulable", "1", "group", "default/train", "0/2"]
    view = TopView("here", SUMMARY, shown(SUMMARY.rows, TopState()), after(["j"]))
    drawn = draw(view, width=160, height=16)
    assert [line.plain.split()[3] for line in drawn if any(span.style == "reverse" for span in line.spans)] == [
        "default/broken"
    ]
    assert [span.style for span in drawn[3].spans] == ["red"]


@pytest.mark.parametrize(
    ("keys", "at"),
    [
        (["j"], 1),
        ([Key.DOWN, Key.DOWN, Key.UP], 1),
        (["k"], 0),
        ([Key.END], 7),
        ([Key.END, "j"], 7),
        ([Key.PAGE_DOWN], 5),
        ([Key.PAGE_DOWN, Key.PAGE_UP], 0),
        ([Key.END, Key.HOME], 0),
    ],
)
def test_keys_move_the_cursor_within_the_table(keys: Sequence[str], at: int) -> None:
    assert after(keys).at == at


def test_the_cursor_follows_its_row_and_stays_where_the_row_was_when_that_is_gone() -> None:
    state = after(["j", "j"])
    assert state.cursor == "default/fresh"
    rows = list(reversed(SUMMARY.rows))
    assert press(state, "", Extent(rows, 0, 5)).at == 5
    left = [row for row in SUMMARY.rows if row.id != "default/fresh"]
    assert press(state, "", Extent(left, 0, 5)).cursor == "default/gated"


def test_the_filter_takes_letters_until_enter_and_escape_clears_it() -> None:
    typed = after(["/", *"permit!", Key.BACKSPACE])
    assert (typed.find, typed.typing, names(typed)) == ("permit", True, ["kept"])
    assert screen(typed)[-1] == "/permit_"
    kept = after([Key.ENTER], typed)
    assert (kept.find, kept.typing) == ("permit", False)
    assert screen(kept)[-1].endswith("sorted by queue  filter: permit")
    assert names(after([Key.ESCAPE], kept)) == names(TopState())
    assert after([*"/q"]) == TopState(find="q", typing=True, cursor=GroupId("Coscheduling", "default/train"))


def test_a_filter_that_nothing_matches_is_said_to() -> None:
    assert screen(after(["/", *"nothing"]))[3] == "No row matches the filter."


@pytest.mark.parametrize(
    ("column", "first"),
    [
        (SortColumn.QUEUE, "train"),
        (SortColumn.NAME, "bare"),
        (SortColumn.STATE, "kept"),
        (SortColumn.PRIORITY, "train"),
        (SortColumn.AGE, "done"),
    ],
)
def test_s_sorts_by_one_column_after_the_other(column: SortColumn, first: str) -> None:
    state = after(["s"] * [*SortColumn].index(column))
    assert state.sort is column
    assert names(state)[0] == first
    assert after(["s"] * len(SortColumn)).sort is SortColumn.QUEUE


def test_rows_of_high_priority_come_first_when_sorted_by_it() -> None:
    urgent = make_pod("urgent")
    urgent["spec"]["priority"] = 9
    rows = summarize(cluster([group("train", 1)], [member("train", 0), urgent])).rows
    assert [row.priority for row in shown(rows, TopState(sort=SortColumn.PRIORITY))] == [9, 0]


def test_enter_opens_why_of_the_selected_row_and_escape_goes_back() -> None:
    opened = after([Key.ENTER])
    assert opened.opened == GroupId("Coscheduling", "default/train")
    why = [f"line {number}" for number in range(20)]
    assert screen(opened, why=why, height=8)[2:7] == ["why default/train", *why[:4]]
    scrolled = after([Key.END], opened, lines=20, page=4)
    assert screen(scrolled, why=why, height=8)[3:7] == why[16:]
    back = after([Key.ESCAPE], scrolled)
    assert (back.opened, back.scroll, back.cursor) == (None, 0, opened.opened)


@pytest.mark.parametrize("keys", [["q"], [Key.INTERRUPT], ["/", Key.INTERRUPT], [Key.ENTER, "q"]])
def test_q_quits_except_in_the_filter_and_an_interrupt_everywhere(keys: Sequence[str]) -> None:
    assert after(keys).over


@pytest.mark.parametrize("height", [1, 3, 5, 40])
@pytest.mark.parametrize("width", [1, 80, 160])
@pytest.mark.parametrize("opened", [None, "default/kept"])
def test_the_lines_are_as_many_as_the_screen_has(height: int, width: int, opened: str | None) -> None:
    drawn = screen(TopState(opened=opened), why=["a"] * 50, missing=["pods cannot be read"], width=width, height=height)
    assert len(drawn) == height


def test_on_80_columns_the_counts_have_two_lines_and_each_row_has_its_message_below_it() -> None:
    drawn = screen(after(["j"]), width=80, height=12)
    assert [line.rstrip() for line in drawn[1:7]] == [
        "active 1  backoff 1  unschedulable 3  gated 1  permit 1",
        "1 group waits, 1 pod placed, 0 nodes",
        "STATE           NAME             PODS   AGE",
        "unschedulable   default/train    0/2    60s",
        "backoff         default/broken   0/1    <unknown>",
        "  no room",
    ]
    assert all(len(line) <= 80 for line in drawn)


def test_a_long_message_below_a_row_has_two_lines_and_an_ellipsis_where_more_is_left_out() -> None:
    summary = summarize(cluster([], [said(make_pod("large"), "Unschedulable", "word " * 100)]))
    drawn = [line.plain for line in draw(TopView("", summary, summary.rows, TopState()), width=80, height=12)]
    assert [len(line) > 70 for line in drawn[5:7]] == [True, True]
    assert drawn[6].endswith("word …")
    assert drawn[7] == ""


@pytest.mark.parametrize("height", [5, 7, 9, 12, 30])
@pytest.mark.parametrize("at", range(len(SUMMARY.rows)))
def test_the_selected_row_is_on_the_screen_and_a_page_down_skips_no_row(height: int, at: int) -> None:
    def seen(at: int) -> list[str]:
        view = TopView("", SUMMARY, SUMMARY.rows, TopState(at=at))
        lines = [line.plain for line in draw(view, width=80, height=height)]
        return [row.name for row in SUMMARY.rows if any(row.name in line for line in lines[4:-1])]

    names = [row.name for row in SUMMARY.rows]
    assert not seen(at) if height == 5 else names[at] in seen(at)
    if height > 5:
        below = min(at + rows_of(80, page_of(80, height, ())), len(names) - 1)
        assert {*names[at : below + 1]} <= {*seen(at), *seen(below)}


def test_objects_that_cannot_be_read_are_named_above_the_table() -> None:
    assert screen(TopState(), missing=["pods cannot be read: forbidden"])[2] == "pods cannot be read: forbidden"


def test_no_control_sequence_of_the_cluster_reaches_the_terminal() -> None:
    pod = said(make_pod("evil"), "Unschedulable", "\x1b]0;title\x07")
    summary = summarize(cluster([], [pod]))
    drawn = draw(TopView("here", summary, summary.rows, TopState()), width=200, height=8)
    assert not any("\x1b" in line.plain for line in drawn)
    assert "\\x1b]0;title\\x07" in drawn[3].plain
    assert screen(TopState(opened="default/evil"), why=["\x1b]0;title\x07"])[3] == "\\x1b]0;title\\x07"


@pytest.mark.parametrize(
    ("parts", "keys"),
    [
        ([b"jq/"], ["j", "q", "/"]),
        ([b"\x1b[A\x1b[B"], [Key.UP, Key.DOWN]),
        ([b"\x1bOA\x1bOB"], [Key.UP, Key.DOWN]),
        ([b"\x1b", b"[", b"A"], [Key.UP]),
        ([b"\x1b[5~\x1b[6~\x1b[1;2B"], [Key.PAGE_UP, Key.PAGE_DOWN, Key.DOWN]),
        ([b"\x1b[H\x1b[4~"], [Key.HOME, Key.END]),
        ([b"\r\x7f\x03"], [Key.ENTER, Key.BACKSPACE, Key.INTERRUPT]),
        ([b"\x1bj"], [Key.ESCAPE, "j"]),
        ([b"\x1b[15~j\x01"], ["j"]),
        (["ü".encode()[:1], "ü".encode()[1:]], ["ü"]),
    ],
)
def test_keys_are_decoded_even_if_their_bytes_come_in_parts(parts: Sequence[bytes], keys: Sequence[str]) -> None:
    decoder = KeyDecoder()
    assert [key for part in parts for key in decoder.feed(part)] == keys
    assert not decoder.unfinished


def test_an_escape_that_nothing_follows_is_the_escape_key() -> None:
    decoder = KeyDecoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.unfinished
    assert decoder.flush() == [Key.ESCAPE]
    assert not decoder.unfinished
