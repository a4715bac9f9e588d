"""Events say what happened, in the API's form, without ever holding anything up."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.pod import Pod, PodMeta
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.client import ApiClient
from muster.operator.kube.events import Ambient, EventRecorder, ProfileEvents, cut_note

from .conftest import Time
from .fake_api import Ending, FakeApi, Gate, Json, Stream, status_answer, until

PATH = "/apis/events.k8s.io/v1/namespaces/shop/events"
CREATED = Json({}, 201)
START = 1_800_000_000.25

Start = Callable[..., EventRecorder]


def make_pod(name: str = "web-0", *, namespace: str = "shop", version: str = "41") -> PodInfo:
    return PodInfo(Pod(PodMeta(name=name, namespace=namespace, uid=f"uid-{name}", resource_version=version)))


def report(events: ProfileEvents, pod: PodInfo, note: str = "no room") -> None:
    events.event(pod, type="Warning", reason="FailedScheduling", action="Scheduling", note=note)


@pytest.fixture
async def start(client: ApiClient, time: Time) -> AsyncIterator[Start]:
    """Starts a recorder in virtual time; it is drained after the test. Its sweeps never come by themselves."""
    time.now = START
    recorders: list[EventRecorder] = []

    async def sleep(seconds: float) -> None:
        if seconds == 360:
            await asyncio.Event().wait()
        await time.sleep(seconds)

    def start_one(**limits: int) -> EventRecorder:
        ambient = Ambient(wall_clock=time.nanos, sleep=sleep, random=lambda: 0.0, hostname="host-1")
        recorder = EventRecorder(client, ambient=ambient, **limits)
        recorder.start()
        recorders.append(recorder)
        return recorder

    yield start_one
    for recorder in recorders:
        await recorder.drain(within=5)


async def test_an_event_has_the_form_kube_scheduler_gives_it(fake: FakeApi, start: Start) -> None:
    fake.on("POST", PATH, CREATED)
    recorder = start()
    recorder.for_profile("muster").event(
        make_pod(), type="Normal", reason="Scheduled", action="Binding", note="Successfully assigned shop/web-0 to n1"
    )
    await recorder.drain(within=5)
    assert fake.asked[0].json == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"web-0.{round(START * 1e9):x}", "namespace": "shop"},
        "eventTime": "2027-01-15T08:00:00.250000Z",
        "reportingController": "muster",
        "reportingInstance": "muster-host-1",
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": "Successfully assigned shop/web-0 to n1",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-0",
            "uid": "uid-web-0",
            "resourceVersion": "41",
        },
    }


async def test_a_related_pod_is_named(fake: FakeApi, start: Start) -> None:
    fake.on("POST", PATH, CREATED)
    recorder = start()
    recorder.for_profile("muster").event(
        make_pod("victim"),
        type="Normal",
        reason="Preempted",
        action="Preempting",
        note="gone",
        related=make_pod("winner"),
    )
    await recorder.drain(within=5)
    assert fake.asked[0].json["related"]["name"] == "winner"


async def test_a_repeated_event_is_patched_into_a_series(fake: FakeApi, start: Start, time: Time) -> None:
    name = f"web-0.{round(START * 1e9):x}"
    fake.on("POST", PATH, CREATED).on("PATCH", f"{PATH}/{name}", Json({}))
    recorder = start(workers=1)
    events = recorder.for_profile("muster")
    report(events, make_pod())
    await until(lambda: fake.asked)
    time.now += 5
    report(events, make_pod())
    await recorder.drain(within=5)
    _, patch = fake.asked
    assert patch.headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert patch.json == {"series": {"count": 2, "lastObservedTime": "2027-01-15T08:00:05.250000Z"}}


async def test_a_new_reason_in_the_note_is_a_new_event(fake: FakeApi, start: Start) -> None:
    fake.on("POST", PATH, CREATED)
    recorder = start()
    report(recorder.for_profile("muster"), make_pod(), "no room")
    report(recorder.for_profile("muster"), make_pod(), "no gpu")
    await recorder.drain(within=5)
    assert sorted(asked.json["note"] for asked in fake.asked_for("POST", PATH)) == ["no gpu", "no room"]
    assert len({asked.json["metadata"]["name"] for asked in fake.asked}) == 2


async def test_a_series_whose_event_is_gone_is_written_whole(fake: FakeApi, start: Start) -> None:
    fake.on("POST", PATH, CREATED)
    recorder = start(workers=1)
    for _ in range(2):
        report(recorder.for_profile("muster"), make_pod())
    await recorder.drain(within=5)
    assert fake.asked_for("POST", PATH)[-1].json["series"]["count"] == 2


async def test_a_series_does_not_overtake_its_first_event(fake: FakeApi, start: Start) -> None:
    name = f"web-0.{round(START * 1e9):x}"
    gate = Gate(CREATED)
    fake.on("POST", PATH, gate).on("PATCH", f"{PATH}/{name}", Json({}))
    recorder = start()
    events = recorder.for_profile("muster")
    report(events, make_pod())
    await until(lambda: gate.waiting)
    report(events, make_pod())
    report(events, make_pod("web-1"))
    await until(lambda: gate.waiting == 2)
    assert {asked.method for asked in fake.asked} == {"POST"}
    gate.opened.set()
    await recorder.drain(within=5)
    assert [asked.json["series"]["count"] for asked in fake.asked_for("PATCH", f"{PATH}/{name}")] == [2]


async def test_a_server_that_does_not_answer_is_tried_twelve_times(
    fake: FakeApi, start: Start, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    fake.on("POST", PATH, Stream([b"{"], Ending.CUT))
    recorder = start()
    report(recorder.for_profile("muster"), make_pod())
    await recorder.drain(within=5)
    assert len(fake.asked) == 12
    assert time.slept == [10] * 11
    assert "was not written" in caplog.text


async def test_an_event_the_server_refuses_is_dropped_with_a_log(
    fake: FakeApi, start: Start, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    message = "namespace shop is being terminated"
    fake.on("POST", PATH, status_answer(403, "Forbidden", message))
    recorder = start()
    report(recorder.for_profile("muster"), make_pod())
    await recorder.drain(within=5)
    assert len(fake.asked) == 1
    assert time.slept == []
    assert message in caplog.text


async def test_a_busy_server_is_waited_for(fake: FakeApi, start: Start, time: Time) -> None:
    fake.on("POST", PATH, status_answer(429, "TooManyRequests", "busy", Retry_After="2"), CREATED)
    recorder = start()
    report(recorder.for_profile("muster"), make_pod())
    await recorder.drain(within=5)
    assert len(fake.asked) == 2
    assert time.slept == [2]


async def test_when_the_queue_is_full_the_newest_are_dropped_and_counted(
    fake: FakeApi, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(CREATED)
    fake.on("POST", PATH, gate)
    recorder = start(workers=1, capacity=2)
    events = recorder.for_profile("muster")
    report(events, make_pod("p0"))
    await until(lambda: gate.waiting)
    for number in range(1, 6):
        report(events, make_pod(f"p{number}"))
    assert (recorder.backlog, recorder.dropped) == (2, 3)
    assert caplog.text.count("some are dropped") == 2
    gate.opened.set()
    await recorder.drain(within=5)
    assert [asked.json["regarding"]["name"] for asked in fake.asked] == ["p0", "p1", "p2"]


async def test_draining_gives_up_in_time_and_says_what_is_lost(
    fake: FakeApi, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(CREATED)
    fake.on("POST", PATH, gate)
    recorder = start(workers=1)
    for number in range(3):
        report(recorder.for_profile("muster"), make_pod(f"p{number}"))
    await recorder.drain(within=0.05)
    assert "3 events were not written before the end" in caplog.text
    gate.opened.set()


async def test_sweeps_write_the_counts_of_series_that_ended(fake: FakeApi, client: ApiClient, time: Time) -> None:
    time.now = START
    name = f"web-0.{round(START * 1e9):x}"
    fake.on("POST", PATH, CREATED).on("PATCH", f"{PATH}/{name}", Json({}))
    turns = asyncio.Semaphore(0)

    async def sleep(seconds: float) -> None:
        await turns.acquire()
        time.now += seconds

    ambient = Ambient(wall_clock=time.nanos, sleep=sleep, random=lambda: 0.0, hostname="h")
    recorder = EventRecorder(client, ambient=ambient, workers=1)
    recorder.start()
    for _ in range(4):
        report(recorder.for_profile("muster"), make_pod())
    turns.release()
    await until(lambda: any(b'"count":4' in asked.body for asked in fake.asked_for("PATCH", f"{PATH}/{name}")))
    await recorder.drain(within=5)


async def test_a_cluster_wide_object_has_its_events_in_default(fake: FakeApi, start: Start) -> None:
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    fake.on("POST", path, CREATED)
    recorder = start()
    report(recorder.for_profile("muster"), make_pod("x", namespace=""))
    await recorder.drain(within=5)
    assert len(fake.asked_for("POST", path)) == 1


async def test_the_name_of_an_event_is_a_valid_name_for_any_pod(fake: FakeApi, start: Start) -> None:
    fake.on("POST", PATH, CREATED)
    recorder = start()
    report(recorder.for_profile("muster"), make_pod("a" * 235 + "." + "b" * 17))
    await recorder.drain(within=5)
    name = fake.asked[0].json["metadata"]["name"]
    assert len(name) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", name)


def test_a_note_that_fits_is_left_as_it_is() -> None:
    assert cut_note("é" * 512) == "é" * 512


def test_a_long_note_is_cut_to_1020_bytes_and_an_ellipsis() -> None:
    assert cut_note("x" * 1025) == "x" * 1020 + " ..."


@given(st.text(alphabet="aé✓😀", max_size=1100))
def test_a_cut_note_fits_and_is_whole_characters_of_the_beginning(note: str) -> None:
    got = cut_note(note)
    assert len(got.encode()) <= 1024
    if got != note:
        assert len(note.encode()) > 1024
        assert got.endswith(" ...")
        assert note.startswith(got[:-4])
        assert len(got.encode()) > 1020
