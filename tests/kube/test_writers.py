"""Conditions that people read: the newest wins, failures are logged, and nothing is said once a pod is bound."""

import asyncio
import logging

import msgspec
import pytest

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.standstill import Standstill
from muster.operator.kube.bindings import BindingWriter
from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import NotFound
from muster.operator.kube.pod_status import StatusWriter
from muster.operator.kube.retry import Retrier
from muster.operator.process.clock import LoopClock
from muster.operator.process.conditions import PodConditionWriter
from muster.operator.process.writers import ApiBinder
from tests.builders import make_pod

from .fake_api import FakeApi, Gate, Json, status_answer, until

POD = "/api/v1/namespaces/default/pods/web"
SLOW_DOWN = status_answer(429, "TooManyRequests", "slow down", Retry_After="30")
BOUND = Json({"kind": "Status", "status": "Success"}, 201)


@pytest.fixture
def pod() -> PodInfo:
    return PodInfo(msgspec.convert({**make_pod("web")}, Pod))


@pytest.fixture
def conditions(client: ApiClient) -> PodConditionWriter:
    return PodConditionWriter(StatusWriter(client, Retrier()), LoopClock(), Standstill())


@pytest.fixture
def binder(client: ApiClient, conditions: PodConditionWriter) -> ApiBinder:
    return ApiBinder(BindingWriter(client, Retrier()), conditions)


def say(conditions: PodConditionWriter, pod: PodInfo, message: str = "0/1 nodes are available.") -> None:
    conditions.unscheduled(pod, reason="Unschedulable", message=message, nominated_node=None)


def order(fake: FakeApi) -> list[str]:
    return [f"{asked.method} {asked.path.rpartition('/')[2]}" for asked in fake.asked]


async def test_a_condition_that_waits_to_be_tried_again_is_dropped_by_the_binding(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter, binder: ApiBinder
) -> None:
    fake.on("PATCH", f"{POD}/status", SLOW_DOWN, Json({})).on("POST", f"{POD}/binding", BOUND)
    say(conditions, pod)
    await until(lambda: fake.asked)
    assert await binder.bind(pod, "node-1") is None
    assert not conditions
    assert order(fake) == ["PATCH status", "POST binding"]


async def test_a_binding_goes_out_after_the_answer_to_a_condition_that_is_on_its_way(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter, binder: ApiBinder
) -> None:
    gate = Gate(Json({}))
    fake.on("PATCH", f"{POD}/status", gate).on("POST", f"{POD}/binding", BOUND)
    say(conditions, pod)
    await until(lambda: gate.waiting)
    say(conditions, pod, "another reason")
    binding = asyncio.create_task(binder.bind(pod, "node-1"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert order(fake) == ["PATCH status"]
    gate.opened.set()
    assert await binding is None
    assert order(fake) == ["PATCH status", "POST binding"]


async def test_a_condition_that_was_not_sent_yet_is_dropped_by_the_binding(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter, binder: ApiBinder
) -> None:
    fake.on("POST", f"{POD}/binding", BOUND)
    say(conditions, pod)
    assert await binder.bind(pod, "node-1") is None
    assert order(fake) == ["POST binding"]


async def test_a_binding_that_fails_may_be_reported(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter, binder: ApiBinder
) -> None:
    fake.on("PATCH", f"{POD}/status", SLOW_DOWN, Json({}))
    fake.on("POST", f"{POD}/binding", status_answer(403, "Forbidden", "no"))
    say(conditions, pod)
    await until(lambda: fake.asked)
    status = await binder.bind(pod, "node-1")
    assert status is not None
    say(conditions, pod, status.message)
    await until(lambda: not conditions)
    assert order(fake) == ["PATCH status", "POST binding", "PATCH status"]
    assert fake.asked[-1].json["status"]["conditions"][0]["message"] == "no"


@pytest.mark.parametrize(
    ("code", "reason", "level"),
    [(403, "Forbidden", logging.WARNING), (404, "NotFound", logging.DEBUG), (409, "Conflict", logging.DEBUG)],
)
async def test_a_condition_that_could_not_be_written_is_logged(
    fake: FakeApi,
    pod: PodInfo,
    conditions: PodConditionWriter,
    caplog: pytest.LogCaptureFixture,
    code: int,
    reason: str,
    level: int,
) -> None:
    caplog.set_level(logging.DEBUG, "muster")
    fake.on("PATCH", f"{POD}/status", status_answer(code, reason, "pods/status is not yours"))
    say(conditions, pod)
    await until(lambda: not conditions)
    [record] = [each for each in caplog.records if each.name.endswith("conditions")]
    assert record.levelno == level
    assert record.getMessage().endswith("condition of pod default/web was not written: pods/status is not yours")


async def test_a_condition_that_a_binding_has_overtaken_is_no_warning(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter, binder: ApiBinder, caplog: pytest.LogCaptureFixture
) -> None:
    fake.on("PATCH", f"{POD}/status", SLOW_DOWN).on("POST", f"{POD}/binding", BOUND)
    say(conditions, pod)
    await until(lambda: fake.asked)
    assert await binder.bind(pod, "node-1") is None
    assert not caplog.records


async def test_a_nomination_is_taken_back_before_the_watch_has_shown_it(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter
) -> None:
    fake.on("PATCH", f"{POD}/status", Json({}), Json({}))
    conditions.nominated(pod, "one")
    assert await conditions.drain(within=5) == 0
    conditions.nominated(pod, "")
    assert await conditions.drain(within=5) == 0
    written = [asked.json["status"] for asked in fake.asked]
    assert written == [{"nominatedNodeName": "one"}, {"nominatedNodeName": None}]


async def test_a_nomination_and_the_condition_after_it_are_one_write(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter
) -> None:
    fake.on("PATCH", f"{POD}/status", Json({}))
    conditions.nominated(pod, "one")
    say(conditions, pod)
    assert await conditions.drain(within=5) == 0
    [asked] = fake.asked
    status = asked.json["status"]
    assert (status["nominatedNodeName"], status["conditions"][0]["status"]) == ("one", "False")


async def test_a_binding_does_not_wait_behind_the_conditions_of_thousands(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter, binder: ApiBinder
) -> None:
    gate = Gate(Json({}))
    others = [PodInfo(msgspec.convert({**make_pod(f"other-{number}")}, Pod)) for number in range(3000)]
    for other in others:
        fake.on("PATCH", f"/api/v1/namespaces/default/pods/{other.name}/status", gate)
        say(conditions, other)
    fake.on("POST", f"{POD}/binding", BOUND)
    await until(lambda: gate.waiting)
    assert await binder.bind(pod, "node-1") is None
    assert len(conditions) == 3000

    gate.opened.set()
    assert await conditions.drain(within=60) == 0
    assert sorted(asked.path.split("/")[-2] for asked in fake.asked if asked.method == "PATCH") == sorted(
        other.name for other in others
    )


async def test_events_that_are_not_written_before_the_end_are_counted(
    fake: FakeApi, pod: PodInfo, conditions: PodConditionWriter
) -> None:
    fake.on("PATCH", f"{POD}/status", Gate(Json({})))
    say(conditions, pod)
    await until(lambda: fake.asked)
    assert await conditions.drain(within=0) == 1
    assert not conditions


async def test_a_binding_of_a_pod_that_is_gone_fails_with_the_api_servers_error(
    fake: FakeApi, pod: PodInfo, binder: ApiBinder
) -> None:
    fake.on("POST", f"{POD}/binding", status_answer(404, "NotFound", 'pods "web" not found'))
    status = await binder.bind(pod, "node-1")
    assert status is not None
    assert status.message == 'pods "web" not found'
    assert isinstance(status.error, NotFound)
    assert status.error.status == 404
