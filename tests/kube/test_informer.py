"""An informer follows a server that pages, expires, breaks off and talks nonsense."""

import asyncio
import logging
from itertools import pairwise

import pytest

from muster.operator.kube.informer import PAGE_SIZE, InformerPhase, Listed
from tests.growth import sizes

from .conftest import EXPIRED_INSIDE, HOLD, Following, Time
from .fake_api import Ending, FakeApi, Gate, Json, Raw, Stream, status_answer, until
from .things import PATH, Thing, bookmark, error_frame, frame, page, thing

LOGGER = "muster.operator.kube.informer"


async def test_the_list_is_reported_first_and_then_the_watch_goes_on_from_it(fake: FakeApi, follow: Following) -> None:
    fake.on("GET", PATH, Json(page([thing("a", 3), thing("b", 4)], 10)))
    fake.on("WATCH", PATH, Stream([frame("ADDED", thing("c", 11)), frame("DELETED", thing("a", 12))]))
    informer, journal = await follow()
    await journal.reads("+a@3", "+b@4", "+c@11", "-a@12")
    assert informer.synced.is_set()
    assert informer.status.phase is InformerPhase.WATCHING
    assert fake.asked_for("WATCH", PATH)[0].query["resourceVersion"] == "10"
    assert sorted(item.metadata.name for item in informer.list()) == ["b", "c"]
    assert informer.get("ns/b") is not None
    assert informer.get("ns/a") is None


async def test_an_informer_counts_as_synced_only_when_the_whole_list_is_reported(
    fake: FakeApi, follow: Following
) -> None:
    last_page = Gate(Json(page([thing("b")], 10)))
    fake.on("GET", PATH, Json(page([thing("a")], 10, "more")), last_page)
    fake.on("WATCH", PATH, HOLD)
    informer, journal = await follow()
    await until(lambda: last_page.waiting)
    await journal.reads("+a@1")
    assert not informer.synced.is_set()
    last_page.opened.set()
    await until(informer.synced.is_set)
    assert journal.entries == ["+a@1", "+b@1"]


async def test_selectors_go_with_every_page_and_with_the_watch(fake: FakeApi, follow: Following) -> None:
    fake.on("GET", PATH, Json(page([thing("a")], 10, "token/2")), Json(page([], 10)))
    fake.on("WATCH", PATH, HOLD)
    await follow(Listed(PATH, Thing, field_selector="spec.nodeName!=", label_selector="app in (a, b)"))
    await until(lambda: fake.asked_for("WATCH", PATH))
    first, second = fake.asked_for("GET", PATH)
    selectors = {"fieldSelector": "spec.nodeName!=", "labelSelector": "app in (a, b)"}
    assert first.query == {**selectors, "limit": str(PAGE_SIZE)}
    assert second.query == {**selectors, "limit": str(PAGE_SIZE), "continue": "token/2"}
    assert fake.asked_for("WATCH", PATH)[0].query == {
        **selectors,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
        "timeoutSeconds": "300",
    }


async def test_an_expired_continue_token_restarts_the_list_at_once(
    fake: FakeApi, follow: Following, time: Time
) -> None:
    fake.on(
        "GET",
        PATH,
        Json(page([thing("a")], 10, "old")),
        status_answer(410, "Expired", "the provided continue parameter is too old"),
        Json(page([thing("b")], 20)),
    )
    fake.on("WATCH", PATH, HOLD)
    _, journal = await follow()
    await journal.reads("+a@1", "+b@1", "-a@1")
    assert "continue" not in fake.asked_for("GET", PATH)[2].query
    assert time.slept == []


async def test_a_stream_cut_in_the_middle_of_a_line_resumes_without_loss(
    fake: FakeApi, follow: Following, time: Time
) -> None:
    change = frame("ADDED", thing("b", 12))
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on(
        "WATCH",
        PATH,
        Stream([frame("ADDED", thing("a", 11)), change[:20]], Ending.CUT),
        Stream([change]),
    )
    _, journal = await follow()
    await journal.reads("+a@11", "+b@12")
    assert [asked.query["resourceVersion"] for asked in fake.asked_for("WATCH", PATH)] == ["10", "11"]
    assert len(fake.asked_for("GET", PATH)) == 1


async def test_a_bookmark_moves_the_version_to_resume_at(fake: FakeApi, follow: Following) -> None:
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on("WATCH", PATH, Stream([bookmark(77)], Ending.END), HOLD)
    await follow()
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 2)
    assert fake.asked_for("WATCH", PATH)[1].query["resourceVersion"] == "77"


EXPIRED_OUTSIDE = status_answer(410, "Expired", "too old resource version: 10 (500)")


@pytest.mark.parametrize("expired", [EXPIRED_INSIDE, EXPIRED_OUTSIDE], ids=["in the stream", "as the answer"])
async def test_after_a_410_the_differences_to_a_new_list_are_reported(
    fake: FakeApi, follow: Following, time: Time, expired: Stream | Json
) -> None:
    fake.on(
        "GET",
        PATH,
        Json(page([thing("gone", 1), thing("same", 2), thing("changed", 3), thing("reborn", 4, uid="old")], 10)),
        Json(page([thing("same", 2), thing("changed", 13), thing("reborn", 14, uid="new"), thing("new", 15)], 20)),
    )
    fake.on("WATCH", PATH, expired, HOLD)
    _, journal = await follow()
    await journal.reads(
        "+gone@1", "+same@2", "+changed@3", "+reborn@4", "-gone@1", "~changed@13", "-reborn@4", "+reborn@14", "+new@15"
    )
    assert time.slept == []
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 2)
    assert fake.asked_for("WATCH", PATH)[1].query["resourceVersion"] == "20"


@pytest.mark.parametrize("expired", [EXPIRED_INSIDE, EXPIRED_OUTSIDE], ids=["in the stream", "as the answer"])
async def test_a_server_that_expires_every_version_is_asked_slower_and_slower(
    fake: FakeApi, follow: Following, time: Time, expired: Stream | Json
) -> None:
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on("WATCH", PATH, expired, expired, expired, expired, HOLD)
    informer, _ = await follow()
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 5)
    assert time.slept == [0.8, 1.6, 3.2]
    assert informer.synced.is_set()


@pytest.mark.parametrize(
    "nonsense", [b"<html>502</html>\n", b'{"type":"ADDED","object":{"metadata":{\n', b"\xff\xfe\n"]
)
async def test_garbage_in_a_stream_is_logged_and_nothing_is_lost(
    fake: FakeApi, follow: Following, time: Time, nonsense: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    fake.on("GET", PATH, Json(page([], 10)), Json(page([thing("a", 15)], 20)))
    fake.on("WATCH", PATH, Stream([nonsense, frame("ADDED", thing("a", 15))]), HOLD)
    _, journal = await follow()
    await journal.reads("+a@15")
    assert time.slept == [0.8]
    assert "not a watch event" in caplog.text
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 2)
    assert fake.asked_for("WATCH", PATH)[1].query["resourceVersion"] == "20"


async def test_a_list_that_is_garbage_is_asked_for_again(fake: FakeApi, follow: Following, time: Time) -> None:
    fake.on("GET", PATH, Raw(b"<html>welcome</html>"), Json(page([thing("a")], 20)))
    fake.on("WATCH", PATH, HOLD)
    _, journal = await follow()
    await journal.reads("+a@1")
    assert time.slept == [0.8]


async def test_an_error_event_leads_to_a_new_list(fake: FakeApi, follow: Following, time: Time) -> None:
    fake.on("GET", PATH, Json(page([], 10)), Json(page([thing("a")], 20)))
    fake.on("WATCH", PATH, Stream([error_frame(500, "InternalError")], Ending.END), HOLD)
    _, journal = await follow()
    await journal.reads("+a@1")
    assert time.slept == [0.8]


async def test_too_many_requests_inside_a_stream_only_resumes_it(fake: FakeApi, follow: Following, time: Time) -> None:
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on(
        "WATCH",
        PATH,
        Stream([error_frame(429, "TooManyRequests")], Ending.END),
        Stream([frame("ADDED", thing("a", 11))]),
    )
    _, journal = await follow()
    await journal.reads("+a@11")
    assert time.slept == [0.8]
    assert len(fake.asked_for("GET", PATH)) == 1


async def test_an_unreadable_object_is_named_and_the_others_go_on(
    fake: FakeApi, follow: Following, caplog: pytest.LogCaptureFixture
) -> None:
    odd = {**thing("odd", 12), "size": "huge"}
    fake.on("GET", PATH, Json(page([thing("odd", 2), {**thing("worse", 3), "size": "huge"}], 10)))
    fake.on("WATCH", PATH, Stream([frame("MODIFIED", odd), frame("MODIFIED", odd), frame("ADDED", thing("a", 13))]))
    _, journal = await follow()
    await journal.reads("+odd@2", "+a@13")
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        f"{PATH}: ns/worse is not readable, its change is left out: size: must be of type integer, not string",
        f"{PATH}: ns/odd is not readable, its change is left out: size: must be of type integer, not string",
    ]
    assert len(fake.asked_for("GET", PATH)) == 1


async def test_an_object_that_became_unreadable_is_kept_by_a_list_and_can_still_be_deleted(
    fake: FakeApi, follow: Following
) -> None:
    odd = {**thing("odd", 12), "size": "huge"}
    fake.on("GET", PATH, Json(page([thing("odd", 2)], 10)), Json(page([odd, thing("a", 13)], 20)))
    fake.on("WATCH", PATH, EXPIRED_INSIDE, Stream([frame("DELETED", odd)]))
    _, journal = await follow()
    await journal.reads("+odd@2", "+a@13", "-odd@2")


@pytest.mark.parametrize("readable", [True, False], ids=["readable at last", "unreadable to the end"])
async def test_nothing_is_kept_of_unreadable_objects_that_are_gone(
    fake: FakeApi, follow: Following, readable: bool
) -> None:
    odd = [{**thing(f"odd-{number}", 100 + number), "size": "huge"} for number in range(50)]
    gone = [thing(f"odd-{number}", 200 + number) if readable else each for number, each in enumerate(odd)]
    came_and_went = [frame(event, each) for event, some in (("ADDED", odd), ("DELETED", gone)) for each in some]
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on("WATCH", PATH, Stream([*came_and_went, frame("ADDED", thing("last", 300))]))
    informer, journal = await follow()
    await until(lambda: "+last@300" in journal.entries)
    assert sizes(informer)["._told_unreadable"] == 0


async def test_other_tasks_run_during_a_burst_of_changes(fake: FakeApi, follow: Following) -> None:
    burst = b"".join(frame("ADDED", thing(f"t{number}", 11 + number)) for number in range(1000))
    heard_at_turn: list[int] = []
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on("WATCH", PATH, Stream([burst]))
    _, journal = await follow()
    while len(journal.entries) < 1000:
        heard_at_turn.append(len(journal.entries))
        await asyncio.sleep(0)
    steps = [after - before for before, after in pairwise(heard_at_turn)]
    assert max(steps) <= 200


async def test_a_refresh_lists_although_the_watch_says_nothing(fake: FakeApi, follow: Following) -> None:
    fake.on("GET", PATH, Json(page([thing("a")], 10)), Json(page([thing("b", 15)], 20)))
    fake.on("WATCH", PATH, HOLD)
    informer, journal = await follow()
    await until(lambda: fake.asked_for("WATCH", PATH))
    await informer.refresh()
    assert journal.entries == ["+a@1", "-a@1", "+b@15"]
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 2)
    assert fake.asked_for("WATCH", PATH)[1].query["resourceVersion"] == "20"


async def test_a_first_list_that_starts_over_reports_its_pages_as_they_come(fake: FakeApi, follow: Following) -> None:
    lost, last = Gate(Json(page([], 10))), Gate(Json(page([thing("d")], 20)))
    first, anew = page([thing("a"), thing("b")], 10, "old"), page([thing("b"), thing("c")], 20, "new")
    fake.on("GET", PATH, Json(first), lost, Json(anew), last)
    fake.on("WATCH", PATH, HOLD)
    informer, journal = await follow()
    await until(lambda: lost.waiting)
    refreshed = asyncio.ensure_future(informer.refresh())
    await journal.reads("+a@1", "+b@1", "+c@1")
    await until(lambda: last.waiting)
    assert not refreshed.done()
    last.opened.set()
    await refreshed
    assert journal.entries == ["+a@1", "+b@1", "+c@1", "+d@1", "-a@1"]
    lost.opened.set()


async def test_a_list_that_began_before_is_no_refresh(fake: FakeApi, follow: Following) -> None:
    early = Gate(Json(page([thing("a")], 10)))
    fake.on("GET", PATH, early, Json(page([thing("b")], 20)))
    fake.on("WATCH", PATH, HOLD)
    informer, journal = await follow()
    await until(lambda: early.waiting)
    await informer.refresh()
    assert [entry[:2] for entry in journal.entries if entry[0] == "+"][-1] == "+b"
    assert informer.get("ns/a") is None
    early.opened.set()
