"""Whatever happens to kopf, it is begun again, and the process and its other tasks go on."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import kopf
import pytest

from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.following import Following
from tests.kube.fake_api import Ending, FakeApi, Json, Stream, status_answer, until
from tests.kube.things import error_frame, frame

from .conftest import leave_signals_alone
from .groups import pod_group

LIST = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
HOLD = Stream()


def listed(*names: str) -> Json:
    """A list of PodGroups."""
    items = [pod_group(name) for name in names]
    for number, item in enumerate(items, start=10):
        item["metadata"] |= {"uid": f"uid-{number}", "resourceVersion": str(number)}
    return Json({"kind": "PodGroupList", "metadata": {"resourceVersion": "99"}, "items": items})


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
    server.on("GET", LIST, listed()).on("WATCH", LIST, HOLD)
    await server.start()
    yield server
    await server.stop()


class Journal:
    """Writes down what kopf tells."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def group_seen(self, body: Mapping[str, Any]) -> None:
        self.entries.append(f"+{body['metadata']['name']}")

    def group_gone(self, body: Mapping[str, Any]) -> None:
        self.entries.append(f"-{body['metadata']['name']}")

    def forget_groups(self) -> None:
        self.entries.append("again")


class Stage:
    """Following in a world where pauses take no time; `pauses` are those it made."""

    def __init__(self, api: FakeApi, client: ApiClient) -> None:
        self.journal = Journal()
        self.pauses: list[float] = []
        self.claims = 0
        self.logins = 0
        self._url = api.url
        self.following = Following(self.journal, client, self._login, claim_signals=self._claim, sleep=self._pause)

    async def _login(self) -> kopf.AiohttpSession:
        self.logins += 1
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
        await made.following.stop()


async def test_groups_are_told_as_they_come_and_go(api: FakeApi, stage: Stage) -> None:
    gone = pod_group("a")
    gone["metadata"] |= {"uid": "uid-10", "resourceVersion": "100"}
    api.on("GET", LIST, listed("a", "b")).on("WATCH", LIST, Stream([frame("DELETED", gone)]))
    stage.following.start()
    await until(lambda: len(stage.journal.entries) == 4)
    assert (stage.journal.entries[0], stage.journal.entries[-1]) == ("again", "-a")
    assert set(stage.journal.entries[1:3]) == {"+a", "+b"}
    assert stage.claims == 1


async def test_nothing_is_written_to_the_api(api: FakeApi, stage: Stage) -> None:
    api.on("GET", LIST, listed("a"))
    stage.following.start()
    await until(lambda: "+a" in stage.journal.entries)
    assert {asked.method for asked in api.asked} <= {"GET", "WATCH"}


@pytest.mark.parametrize(
    "end",
    [
        Stream([error_frame(500, "InternalError")]),
        Stream([b"no json at all\n"], Ending.END),
        status_answer(404, "NotFound", "the definition is gone"),
        status_answer(400, "BadRequest", "what is this"),
    ],
)
async def test_kopf_is_begun_again_whatever_ended_it(api: FakeApi, stage: Stage, end: Any) -> None:
    api.on("GET", LIST, listed("a"), listed("a"), listed("b")).on("WATCH", LIST, end, HOLD)
    stage.following.start()
    await until(lambda: "+b" in stage.journal.entries)
    assert stage.journal.entries == ["again", "+a", "again", "+b"]
    assert stage.claims == stage.logins == 2
    assert stage.pauses == [5.0]


async def test_other_tasks_survive_the_end_of_kopf(api: FakeApi, stage: Stage) -> None:
    other = asyncio.create_task(asyncio.Event().wait())
    api.on("WATCH", LIST, Stream([error_frame(500, "InternalError")]), HOLD)
    stage.following.start()
    await until(lambda: stage.claims == 2)
    assert not other.done()
    other.cancel()


async def test_a_missing_definition_is_said_once_and_waited_for(
    api: FakeApi, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "muster")
    missing = status_answer(404, "NotFound", "the server could not find the requested resource")
    api.on("GET", LIST, missing, missing, missing, listed("a"))
    stage.following.start()
    await until(lambda: "+a" in stage.journal.entries)
    assert [message for name, _, message in caplog.record_tuples if name.startswith("muster")] == [
        "PodGroups are not served: the CustomResourceDefinition podgroups.scheduling.x-k8s.io is missing. "
        "Pods of groups wait until it is there, all others are scheduled",
        "PodGroups are served now",
    ]
    assert stage.pauses == [5.0] * 4
    assert stage.claims == 1


async def test_a_missing_right_is_said_in_the_servers_words(
    api: FakeApi, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    api.on("GET", LIST, status_answer(403, "Forbidden", "podgroups is forbidden"), listed("a"))
    stage.following.start()
    await until(lambda: "+a" in stage.journal.entries)
    assert "PodGroups cannot be read: podgroups is forbidden" in caplog.messages


async def test_following_may_end_before_kopf_has_begun(stage: Stage) -> None:
    stage.following.start()
    await stage.following.stop()
    assert stage.claims == 0


async def test_following_may_end_at_any_step(api: FakeApi, stage: Stage) -> None:
    stage.following.start()
    await until(lambda: stage.claims == 1)
    await stage.following.stop()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task.get_name() for task in left if "kopf" in repr(task.get_coro())] == []


async def test_a_failure_to_begin_is_no_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    spawn, failures = kopf.spawn_tasks, [RuntimeError("no luck")]

    async def unlucky(**options: Any) -> Any:
        if failures:
            raise failures.pop()
        return await spawn(**options)

    monkeypatch.setattr(kopf, "spawn_tasks", unlucky)
    stage.following.start()
    await until(lambda: stage.claims == 1)
    assert stage.journal.entries == ["again", "again"]
