"""The pages over HTTP: their contents, their readers, and their forms."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import pytest
from aiohttp import ClientSession

from muster.framework.metrics import SchedulerMetrics
from muster.operator.metrics import blocks, registry_of
from muster.operator.serving import (
    AccessDecision,
    Authorizer,
    ListenError,
    PageSources,
    Server,
    Unknown,
    application,
    self_signed,
)
from muster.operator.serving.health import Checks


@dataclass
class Gate:
    """An authorizer that gives everyone the same decision and remembers who asked for what."""

    decision: AccessDecision
    asked: list[tuple[str | None, str]] = field(default_factory=list)

    async def authorize(self, token: str | None, path: str) -> AccessDecision:
        self.asked.append((token, path))
        return self.decision


def why(namespace: str, name: str) -> object:
    if (namespace, name) == ("shop", "web"):
        return {"message": "0/3 nodes are available: 3 Insufficient cpu."}
    return Unknown(f"pod {namespace}/{name} is not waiting to be scheduled")


def sources(*, readyz: Checks | None = None) -> PageSources:
    return PageSources(
        livez={},
        healthz={"leaderElection": lambda: "failed election to renew leadership on lease muster"},
        readyz=readyz or {"sched-handler-sync": lambda: None},
        metrics=lambda: blocks(registry_of(SchedulerMetrics())),
        resources=lambda: (b"# TYPE kube_pod_resource_limit gauge\n", b"# TYPE kube_pod_resource_request gauge\n"),
        config=lambda: {"profiles": [{"schedulerName": "muster"}]},
        why=why,
    )


@asynccontextmanager
async def serving(content: PageSources, authorizer: Authorizer | None = None) -> AsyncIterator[ClientSession]:
    server = Server(application(content, authorizer), host="127.0.0.1", port=0, tls=None)
    port = await server.start()
    try:
        async with ClientSession(f"http://127.0.0.1:{port}") as session:
            yield session
    finally:
        await server.stop()


@pytest.mark.parametrize("page", ["livez", "readyz"])
async def test_a_healthy_page_says_ok_in_plain_text(page: str) -> None:
    async with serving(sources()) as http, http.get(f"/{page}") as response:
        assert (response.status, await response.text(), response.content_type) == (200, "ok", "text/plain")


async def test_readyz_turns_when_its_check_does() -> None:
    problems: list[str | None] = ["handlers are not fully synchronized", None]
    async with serving(sources(readyz={"sched-handler-sync": lambda: problems[0]})) as http:
        async with http.get("/readyz") as response:
            assert response.status == 500
            assert await response.text() == (
                "[-]sched-handler-sync failed: handlers are not fully synchronized\nreadyz check failed\n"
            )
        problems.pop(0)
        async with http.get("/readyz?verbose") as response:
            assert response.status == 200
            assert await response.text() == "[+]sched-handler-sync ok\nreadyz check passed\n"


async def test_a_page_without_checks_of_its_own_answers_the_ping() -> None:
    async with serving(sources()) as http, http.get("/livez?verbose") as response:
        assert await response.text() == "[+]ping ok\nlivez check passed\n"


async def test_checks_are_left_out_on_request() -> None:
    async with serving(sources()) as http, http.get("/healthz?verbose&exclude=leaderElection") as response:
        assert response.status == 200
        assert await response.text() == "[+]leaderElection excluded: ok\nhealthz check passed\n"


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/readyz/sched-handler-sync", 200, "ok"),
        ("/livez/ping", 200, "ok"),
        ("/readyz/ping", 404, "404 page not found\n"),
        ("/readyz/nonsense", 404, "404 page not found\n"),
        (
            "/healthz/leaderElection",
            500,
            "internal server error: failed election to renew leadership on lease muster\n",
        ),
    ],
)
async def test_a_check_has_a_page_of_its_own(path: str, status: int, text: str) -> None:
    async with serving(sources()) as http, http.get(path) as response:
        assert (response.status, await response.text()) == (status, text)


async def test_metrics_are_served_in_the_text_format_whatever_the_client_prefers() -> None:
    wishes = {"Accept": "application/openmetrics-text;version=1.0.0"}
    async with serving(sources()) as http, http.get("/metrics", headers=wishes) as response:
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "\nscheduler_preemption_attempts_total 0.0\n" in await response.text()


async def test_metrics_are_compressed_on_request() -> None:
    async with serving(sources()) as http, http.get("/metrics", headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert "scheduler_preemption_attempts_total" in await response.text()


async def test_pod_resources_are_a_page_apart() -> None:
    async with serving(sources()) as http, http.get("/metrics/resources") as response:
        text = await response.text()
    assert text == "# TYPE kube_pod_resource_limit gauge\n# TYPE kube_pod_resource_request gauge\n"


async def test_the_loop_gets_a_turn_after_each_block_of_a_long_page() -> None:
    trace: list[str] = []

    def long_page() -> Iterator[bytes]:
        for i in range(3):
            asyncio.get_running_loop().call_soon(trace.append, f"turn {i}")
            trace.append(f"block {i}")
            yield b"x\n"

    content = sources()
    page = PageSources(
        livez={}, healthz={}, readyz={}, metrics=long_page, resources=tuple, config=content.config, why=content.why
    )
    async with serving(page) as http, http.get("/metrics") as response:
        await response.read()
    assert trace == ["block 0", "turn 0", "block 1", "turn 1", "block 2", "turn 2"]


async def test_configz_is_json() -> None:
    async with serving(sources()) as http, http.get("/configz") as response:
        assert await response.json() == {"profiles": [{"schedulerName": "muster"}]}


@pytest.mark.parametrize(
    ("query", "status", "answer"),
    [
        ("?pod=shop/web", 200, {"message": "0/3 nodes are available: 3 Insufficient cpu."}),
        ("?pod=shop/db", 404, {"reason": "pod shop/db is not waiting to be scheduled"}),
        ("?pod=web", 400, {"reason": "ask for a pod as ?pod=namespace/name"}),
        ("", 400, {"reason": "ask for a pod as ?pod=namespace/name"}),
    ],
)
async def test_why_explains_a_pod_or_says_why_it_cannot(query: str, status: int, answer: dict[str, str]) -> None:
    async with serving(sources()) as http, http.get(f"/debug/why{query}") as response:
        assert (response.status, await response.json()) == (status, answer)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/readyz/sched-handler-sync"])
async def test_health_pages_need_no_authorization(path: str) -> None:
    gate = Gate(AccessDecision(HTTPStatus.FORBIDDEN, "no"))
    async with serving(sources(), gate) as http, http.get(path) as response:
        assert response.status == 200
    assert gate.asked == []


@pytest.mark.parametrize("path", ["/metrics", "/metrics/resources", "/configz", "/debug/why", "/", "/nonsense"])
async def test_every_other_page_is_closed_before_it_is_looked_for(path: str) -> None:
    gate = Gate(AccessDecision(HTTPStatus.FORBIDDEN, f'forbidden: User "a" cannot get path "{path}"'))
    async with serving(sources(), gate) as http, http.get(path) as response:
        assert response.status == 403
        assert await response.json() == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f'forbidden: User "a" cannot get path "{path}"',
            "reason": "Forbidden",
            "details": {},
            "code": 403,
        }
    assert gate.asked == [(None, path)]


@pytest.mark.parametrize("path", ["/readyz/..%2Fmetrics", "//metrics", "/healthz%2F..%2Fmetrics", "/./metrics"])
async def test_no_spelling_of_a_path_gets_around_the_gate(path: str) -> None:
    gate = Gate(AccessDecision(HTTPStatus.UNAUTHORIZED, "Unauthorized"))
    server = Server(application(sources(), gate), host="127.0.0.1", port=0, tls=None)
    port = await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: muster\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    await server.stop()
    assert answer.split()[1] in (b"401", b"404")
    assert b"scheduler_" not in answer


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc.def", "abc.def"), ("bearer  abc", "abc"), ("Basic YTpi", None), ("Bearer ", None), ("abc", None)],
)
async def test_the_token_is_taken_from_a_bearer_header_only(header: str, token: str | None) -> None:
    gate = Gate(AccessDecision(HTTPStatus.OK))
    async with serving(sources(), gate) as http, http.get("/configz", headers={"Authorization": header}) as response:
        assert response.status == 200
    assert gate.asked == [(token, "/configz")]


async def test_pages_are_only_read() -> None:
    async with serving(sources()) as http:
        async with http.post("/configz") as response:
            assert response.status == 405
        async with http.head("/configz") as response:
            assert response.status == 405


async def test_a_port_that_is_taken_is_an_error_and_a_stopped_server_gives_it_back() -> None:
    first = Server(application(sources(), None), host="127.0.0.1", port=0, tls=None)
    port = await first.start()
    second = Server(application(sources(), None), host="127.0.0.1", port=port, tls=None)
    with pytest.raises(ListenError, match=rf"failed to listen on 127\.0\.0\.1:{port}: Address already in use"):
        await second.start()
    await first.stop()
    third = Server(application(sources(), None), host="127.0.0.1", port=port, tls=None)
    assert await third.start() == port
    await third.stop()


async def test_pages_are_served_over_tls() -> None:
    server = Server(application(sources(), None), host="127.0.0.1", port=0, tls=await self_signed(["localhost"]))
    port = await server.start()
    async with ClientSession() as http, http.get(f"https://127.0.0.1:{port}/livez", ssl=False) as response:
        assert (response.status, await response.text()) == (200, "ok")
    await server.stop()


async def test_the_process_says_what_it_is_and_how_it_was_started() -> None:
    content = replace(
        sources(), statusz=lambda: {"Binary version": "v1"}, flagz=lambda: {"v": "2", "config": "/c.yaml"}
    )
    async with serving(content) as http:
        async with http.get("/statusz") as response:
            first, *_, version, paths = (await response.text()).strip().splitlines()
        async with http.get("/flagz") as response:
            reported = (await response.text()).splitlines()[-2:]
    assert (first, version) == ("muster statusz", "Binary version: v1")
    assert paths == "Paths: /configz /debug/why /flagz /healthz /livez /metrics /metrics/resources /readyz"
    assert reported == ["config: /c.yaml", "v: 2"]


@pytest.mark.parametrize("page", ["statusz", "flagz"])
async def test_pages_about_the_process_are_not_for_everybody(page: str) -> None:
    gate = Gate(AccessDecision(HTTPStatus.FORBIDDEN, "no"))
    async with serving(sources(), gate) as http, http.get(f"/{page}") as response:
        assert response.status == HTTPStatus.FORBIDDEN


async def test_the_leader_says_why_a_pod_waits_and_a_standby_who_else_to_ask() -> None:
    async with serving(sources()) as http, http.get("/namespaces/shop/pods/web/why") as response:
        assert (await response.json())["message"] == "0/3 nodes are available: 3 Insufficient cpu."
    async with serving(sources()) as http, http.get("/namespaces/shop/pods/other/why") as response:
        assert response.status == HTTPStatus.NOT_FOUND
    standby = replace(sources(), leads=lambda: False)
    async with serving(standby) as http, http.get("/namespaces/shop/pods/web/why") as response:
        assert response.status == HTTPStatus.SERVICE_UNAVAILABLE
        assert (await response.json())["message"] == "this replica does not lead, ask again"
