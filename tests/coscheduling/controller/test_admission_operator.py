"""The kopf operator that validates PodGroups: after any end it is begun again, and the process goes on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import kopf
import pytest

from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.admission import AdmissionOperator, AdmissionServing
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from tests.controlplane.ports import free_port
from tests.kube.fake_api import FakeApi, Json, status_answer, until

from .conftest import leave_signals_alone

LIST = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
CERTIFICATE = Path(__file__).parents[2] / "kube" / "data" / "certificate.pem"
EMPTY = Json({"kind": "PodGroupList", "metadata": {"resourceVersion": "99"}, "items": []})


def resource(name: str, kind: str, *, namespaced: bool) -> dict[str, Any]:
    verbs = ["get", "list", "watch", "patch"]
    return {"name": name, "singularName": kind.lower(), "kind": kind, "namespaced": namespaced, "verbs": verbs}


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    """A server on which kopf finds PodGroups and namespaces."""
    server = FakeApi()
    version = {"groupVersion": "scheduling.x-k8s.io/v1alpha1", "version": "v1alpha1"}
    group = {"name": "scheduling.x-k8s.io", "versions": [version], "preferredVersion": version}
    server.on("GET", "/api", Json({"versions": ["v1"]}))
    server.on("GET", "/api/v1", Json({"resources": [resource("namespaces", "Namespace", namespaced=False)]}))
    server.on("GET", "/apis", Json({"groups": [group]}))
    server.on(
        "GET",
        "/apis/scheduling.x-k8s.io/v1alpha1",
        Json({"resources": [resource("podgroups", "PodGroup", namespaced=True)]}),
    )
    server.on("GET", LIST, EMPTY)
    await server.start()
    yield server
    await server.stop()


class Stage:
    """Admission in a world where pauses take no time; `pauses` are those it made."""

    def __init__(self, api: FakeApi, client: ApiClient) -> None:
        self.pauses: list[float] = []
        self.claims = 0
        self._url = api.url
        self.port = free_port()
        serving = AdmissionServing(CERTIFICATE, CERTIFICATE.with_name("key.pem"), self.port, address="127.0.0.1")
        self.admission = AdmissionOperator(
            serving, [POD_GROUP_KIND], client, self._login, claim_signals=self._claim, sleep=self._pause
        )

    async def _login(self) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(server=self._url, aiohttp_session=aiohttp.ClientSession())

    def _claim(self) -> None:
        self.claims += 1
        leave_signals_alone()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
async def stage(api: FakeApi) -> AsyncIterator[Stage]:
    async with Transport(Connection(api.url, auth=StaticAuth())) as transport:
        made = Stage(api, ApiClient(transport))
        yield made
        await made.admission.stop()


async def test_the_admission_operator_begins_when_podgroups_are_served_and_watches_nothing(
    api: FakeApi, stage: Stage
) -> None:
    missing = status_answer(404, "NotFound", "the server could not find the requested resource")
    api.on("GET", LIST, missing, missing, missing, EMPTY)
    stage.admission.start()
    await until(lambda: stage.claims == 1)
    assert stage.pauses == [5.0] * 4
    assert {asked.method for asked in api.asked} == {"GET"}


async def test_a_port_that_is_taken_ends_nothing_but_kopf(
    api: FakeApi, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    other = asyncio.create_task(asyncio.Event().wait())
    taken = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", stage.port)
    stage.admission.start()
    await until(lambda: stage.claims >= 2)
    taken.close()
    assert not other.done()
    assert any("PodGroups are no longer validated" in message for message in caplog.messages)
    other.cancel()


async def test_the_admission_operator_may_be_stopped_before_kopf_has_begun(stage: Stage) -> None:
    stage.admission.start()
    await stage.admission.stop()
    assert stage.claims == 0


async def test_the_admission_operator_may_be_stopped_while_it_runs(api: FakeApi, stage: Stage) -> None:
    stage.admission.start()
    await until(lambda: stage.claims == 1)
    await stage.admission.stop()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task.get_name() for task in left if "kopf" in repr(task.get_coro())] == []


async def test_a_failure_to_begin_is_no_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    spawn, failures = kopf.spawn_tasks, [RuntimeError("no luck")]

    async def unlucky(**options: Any) -> Any:
        if failures:
            raise failures.pop()
        return await spawn(**options)

    monkeypatch.setattr(kopf, "spawn_tasks", unlucky)
    stage.admission.start()
    await until(lambda: stage.claims == 1)
    assert stage.pauses == [5.0]
