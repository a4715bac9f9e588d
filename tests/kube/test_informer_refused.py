"""An informer that is refused, or hears nothing, asks again, slower and slower, and says so once."""

import logging

import pytest

from muster.operator.kube.errors import ApiError, Forbidden, ServerError, Unauthorized
from muster.operator.kube.informer import Listed

from .conftest import EXPIRED_INSIDE, HOLD, Following, Time
from .fake_api import Ending, FakeApi, Gate, Json, Raw, Stream, status_answer, until
from .things import PATH, Thing, bookmark, error_frame, frame, page, thing

LOGGER = "muster.operator.kube.informer"


REFUSALS = [
    (status_answer(401, "Unauthorized", "Unauthorized"), Unauthorized),
    (status_answer(403, "Forbidden", 'things is forbidden: User "muster" cannot list'), Forbidden),
    (status_answer(500, "InternalError", "etcdserver: leader changed"), ServerError),
]


@pytest.mark.parametrize(("refusal", "error"), REFUSALS)
async def test_a_refused_list_is_retried_for_ever_and_logged_once(
    fake: FakeApi,
    follow: Following,
    time: Time,
    refusal: Json,
    error: type[ApiError],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    last = Gate(refusal)
    fake.on("GET", PATH, refusal, refusal, refusal, refusal, refusal, refusal, last, Json(page([thing("a")], 10)))
    fake.on("WATCH", PATH, HOLD)
    informer, journal = await follow()
    await until(lambda: last.waiting)
    assert time.slept == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6]
    assert isinstance(informer.status.error, error)
    assert not informer.synced.is_set()
    message = str(informer.status.error)
    assert message == refusal.payload["message"]
    last.opened.set()
    await journal.reads("+a@1")
    await until(lambda: informer.status.error is None)
    assert time.slept[-1] == 30
    assert [record.message for record in caplog.records if record.name == LOGGER] == [
        f"{PATH}: {message}",
        f"{PATH}: synced, 1 objects",
        f"{PATH}: works now",
    ]


async def test_a_kind_that_the_cluster_comes_to_serve_works_now_and_after_a_failure_again(
    fake: FakeApi, follow: Following, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    absent = status_answer(404, "NotFound", "the server could not find the requested resource")
    refused = status_answer(403, "Forbidden", "cannot watch")
    fake.on("GET", PATH, absent, absent, Json(page([thing("a")], 10)))
    fake.on("WATCH", PATH, Stream([bookmark(11)], Ending.END), refused, HOLD)
    informer, journal = await follow()
    await journal.reads("+a@1")
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 3 and informer.status.error is None)
    said = [record.message for record in caplog.records if record.name == LOGGER]
    assert [line for line in said if line.endswith(("now", "again"))] == [
        f"{PATH}: works now",
        f"{PATH}: works again",
    ]


async def test_another_kind_of_failure_is_logged_again(
    fake: FakeApi, follow: Following, caplog: pytest.LogCaptureFixture
) -> None:
    forbidden = status_answer(403, "Forbidden", "no")
    broken = status_answer(500, "InternalError", "boom")
    fake.on("GET", PATH, forbidden, broken, broken, forbidden, Json(page([thing("a")], 10)))
    fake.on("WATCH", PATH, HOLD)
    _, journal = await follow()
    await journal.reads("+a@1")
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [f"{PATH}: no", f"{PATH}: boom", f"{PATH}: no"]


async def test_an_informer_waits_as_long_as_a_429_asks(fake: FakeApi, follow: Following, time: Time) -> None:
    busy = status_answer(429, "TooManyRequests", "try again", Retry_After="7")
    fake.on("GET", PATH, busy, Json(page([], 10)))
    fake.on("WATCH", PATH, busy, HOLD)
    await follow()
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 2)
    assert time.slept == [7, 7]


async def test_a_refused_watch_is_retried_without_a_new_list(fake: FakeApi, follow: Following, time: Time) -> None:
    refused = status_answer(403, "Forbidden", "cannot watch")
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on("WATCH", PATH, refused, refused, Stream([frame("ADDED", thing("a", 11))]))
    informer, journal = await follow()
    await journal.reads("+a@11")
    assert len(fake.asked_for("GET", PATH)) == 1
    assert time.slept == [0.8, 1.6]
    assert informer.status.error is None


@pytest.mark.parametrize("code", [400, 404, 504])
async def test_a_version_the_server_cannot_serve_leads_to_a_new_list(
    fake: FakeApi, follow: Following, code: int
) -> None:
    fake.on("GET", PATH, Json(page([], 10)), Json(page([thing("a")], 20)))
    fake.on("WATCH", PATH, status_answer(code, "Timeout", "Too large resource version: 10, current: 5"), HOLD)
    _, journal = await follow()
    await journal.reads("+a@1")


async def test_a_watch_that_ends_at_once_again_and_again_is_not_hammered(
    fake: FakeApi, follow: Following, time: Time
) -> None:
    fake.on("GET", PATH, Json(page([], 10)))
    ended = Stream([], Ending.END)
    fake.on("WATCH", PATH, ended, ended, ended, HOLD)
    await follow()
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 4)
    assert time.slept == [0.8, 1.6, 3.2]


async def test_a_watch_that_ends_after_events_is_resumed_at_once(fake: FakeApi, follow: Following, time: Time) -> None:
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on(
        "WATCH",
        PATH,
        Stream([frame("ADDED", thing("a", 11))], Ending.END),
        Stream([frame("ADDED", thing("b", 12))]),
    )
    _, journal = await follow()
    await journal.reads("+a@11", "+b@12")
    assert time.slept == []


async def test_a_silent_watch_is_opened_anew(fake: FakeApi, follow: Following) -> None:
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on("WATCH", PATH, Stream([bookmark(30)]), Stream([frame("ADDED", thing("a", 31))]))
    informer, journal = await follow(silence=0.05)
    await journal.reads("+a@31")
    assert fake.asked_for("WATCH", PATH)[1].query["resourceVersion"] == "30"
    assert informer.status.error is None


async def test_a_watch_that_is_silent_from_the_start_leads_to_a_new_list(fake: FakeApi, follow: Following) -> None:
    fake.on("GET", PATH, Json(page([thing("a", 9)], 900)), Json(page([thing("b", 2)], 10)))
    fake.on("WATCH", PATH, HOLD)
    informer, journal = await follow(silence=0.05)
    await journal.reads("+a@9", "-a@9", "+b@2")
    assert informer.status.error is None


async def test_a_kind_that_is_not_served_holds_nobody_up_and_is_followed_once_it_is(
    fake: FakeApi, follow: Following, time: Time
) -> None:
    served = Gate(Json(page([thing("a")], 10)))
    fake.on("GET", PATH, Raw(b"404 page not found\n", 404), served)
    fake.on("WATCH", PATH, HOLD)
    informer, journal = await follow()
    await until(lambda: served.waiting)
    assert informer.synced.is_set()
    assert time.slept == [0.8]
    served.opened.set()
    await journal.reads("+a@1")


async def test_a_core_kind_that_is_not_found_is_waited_for(fake: FakeApi, follow: Following) -> None:
    served = Gate(Json(page([], 10)))
    fake.on("GET", "/api/v1/things", Raw(b"404 page not found\n", 404), served)
    fake.on("WATCH", "/api/v1/things", HOLD)
    informer, _ = await follow(Listed("/api/v1/things", Thing))
    await until(lambda: served.waiting)
    assert not informer.synced.is_set()
    served.opened.set()
    await until(informer.synced.is_set)


async def test_objects_are_kept_while_their_kind_is_not_found(fake: FakeApi, follow: Following) -> None:
    back = Gate(Json(page([thing("a"), thing("b", 12)], 20)))
    fake.on("GET", PATH, Json(page([thing("a")], 10)), Raw(b"default backend - 404", 404), back)
    fake.on("WATCH", PATH, EXPIRED_INSIDE, HOLD)
    _, journal = await follow()
    await until(lambda: back.waiting)
    assert journal.entries == ["+a@1"]
    back.opened.set()
    await journal.reads("+a@1", "+b@12")


async def test_waits_go_on_growing_while_watches_open_but_fail_inside(
    fake: FakeApi, follow: Following, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Stream([error_frame(500, "InternalError")], Ending.END)
    fake.on("GET", PATH, Json(page([], 10)))
    fake.on("WATCH", PATH, broken, broken, broken, HOLD)
    await follow()
    await until(lambda: len(fake.asked_for("WATCH", PATH)) == 4)
    assert time.slept == [0.8, 1.6, 3.2]
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1
