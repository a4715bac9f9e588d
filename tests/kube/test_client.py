"""Requests reach the server as they should, failures come back as what the caller may do, writes are bounded."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator

import pytest
from multidict import CIMultiDict

from muster.operator.kube import errors
from muster.operator.kube.auth import Headers, StaticAuth
from muster.operator.kube.client import ApiClient, PatchType, written
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import CredentialsError, Unauthorized, Unreachable
from muster.operator.kube.limiter import TokenBucket
from muster.operator.kube.proxy import Proxy
from muster.operator.kube.transport import RequestOutcome, Transport

from .conftest import Time
from .fake_api import Ending, FakeApi, Gate, Json, Raw, Stream, status_answer, until

POD = "/api/v1/namespaces/ns/pods/p"
UNAUTHORIZED = status_answer(401, "Unauthorized", "Unauthorized")


class RenewableAuth:
    """Tokens `token-0`, `token-1`, … each renewal giving the next, up to `last`."""

    def __init__(self, last: int) -> None:
        self.renewals = 0
        self._last = last
        self._headers = self._make(0)

    def _make(self, number: int) -> Headers:
        return CIMultiDict({"Authorization": f"Bearer token-{number}"})

    def current(self) -> Headers:
        return self._headers

    async def renew(self, rejected: Headers | None) -> bool:
        if self._headers is rejected and self.renewals < self._last:
            self.renewals += 1
            self._headers = self._make(self.renewals)
        return self._headers is not rejected


@contextlib.asynccontextmanager
async def client_as(fake: FakeApi, auth: RenewableAuth) -> AsyncIterator[ApiClient]:
    async with Transport(Connection(fake.url, auth=auth)) as transport:
        yield ApiClient(transport)


async def test_a_reply_has_the_status_and_the_bytes(fake: FakeApi, client: ApiClient) -> None:
    fake.on("GET", POD, Raw(b'{"kind":"Pod"}'))
    assert await client.get(POD, params={"resourceVersion": "0"}) == (200, b'{"kind":"Pod"}')
    assert fake.asked[0].query == {"resourceVersion": "0"}
    assert fake.asked[0].headers["Accept"] == "application/json"
    assert "Accept-Encoding" not in fake.asked[0].headers


async def test_each_verb_sends_its_method_body_and_content_type(fake: FakeApi, client: ApiClient) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        fake.on(method, POD, Json({}, 201))
    await client.post(POD, b'{"a":1}')
    await client.put(POD, b'{"a":2}')
    await client.patch(POD, b'{"a":3}', kind=PatchType.MERGE)
    await client.patch(POD, b'{"a":4}', kind=PatchType.STRATEGIC)
    await client.patch(POD, b'{"a":5}', kind=PatchType.APPLY, params={"fieldManager": "muster", "force": "true"})
    await client.delete(POD, b'{"a":6}')
    await client.delete(POD)
    assert [(asked.method, asked.headers.get("Content-Type"), asked.body) for asked in fake.asked] == [
        ("POST", "application/json", b'{"a":1}'),
        ("PUT", "application/json", b'{"a":2}'),
        ("PATCH", "application/merge-patch+json", b'{"a":3}'),
        ("PATCH", "application/strategic-merge-patch+json", b'{"a":4}'),
        ("PATCH", "application/apply-patch+yaml", b'{"a":5}'),
        ("DELETE", "application/json", b'{"a":6}'),
        ("DELETE", None, b""),
    ]
    assert fake.asked[4].query == {"fieldManager": "muster", "force": "true"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Rejected),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (410, errors.Gone),
        (422, errors.Rejected),
        (429, errors.TooManyRequests),
        (500, errors.ServerError),
        (503, errors.ServerError),
    ],
)
async def test_a_status_becomes_the_error_that_says_what_to_do(
    fake: FakeApi, client: ApiClient, status: int, kind: type[errors.ApiError]
) -> None:
    fake.on("GET", POD, status_answer(status, "SomeReason", "as the server put it"))
    with pytest.raises(kind) as caught:
        await client.get(POD)
    error = caught.value
    assert (type(error), str(error), error.status, error.reason) == (kind, "as the server put it", status, "SomeReason")


async def test_retry_after_is_read_from_the_header_or_the_status(fake: FakeApi, client: ApiClient) -> None:
    with_header = status_answer(429, "TooManyRequests", "later", Retry_After="3")
    in_details = Json({"message": "later", "code": 429, "details": {"retryAfterSeconds": 5}}, 429)
    with_neither = status_answer(429, "TooManyRequests", "later")
    fake.on("GET", POD, with_header, in_details, with_neither)
    asked = []
    for _ in range(3):
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.get(POD)
        asked.append(caught.value.retry_after)
    assert asked == [3, 5, None]


async def test_an_answer_that_is_no_status_is_quoted(fake: FakeApi, client: ApiClient) -> None:
    fake.on("GET", POD, Raw(b"upstream connect error\n", 503), Raw(b"", 502))
    with pytest.raises(errors.ServerError, match=r"^the server answered 503: upstream connect error$"):
        await client.get(POD)
    with pytest.raises(errors.ServerError, match=r"^the server answered 502$"):
        await client.get(POD)


async def test_a_redirect_is_not_followed(fake: FakeApi, client: ApiClient) -> None:
    fake.on("GET", POD, Json({}, 302, {"Location": "/elsewhere"}))
    with pytest.raises(errors.Rejected):
        await client.get(POD)
    assert len(fake.asked) == 1


async def test_a_server_path_comes_before_the_request_path(fake: FakeApi) -> None:
    fake.on("GET", f"/k8s/clusters/c-1{POD}", Json({}))
    async with Transport(Connection(f"{fake.url}/k8s/clusters/c-1", auth=StaticAuth())) as transport:
        await ApiClient(transport).get(POD)
    assert fake.asked[0].path == f"/k8s/clusters/c-1{POD}"


async def test_a_401_renews_the_credentials_and_is_sent_again(fake: FakeApi) -> None:
    fake.on("POST", POD, UNAUTHORIZED, Json({}, 201))
    auth = RenewableAuth(last=1)
    async with client_as(fake, auth) as client:
        assert (await client.post(POD, b"{}")).status == 201
    assert [asked.headers["Authorization"] for asked in fake.asked] == ["Bearer token-0", "Bearer token-1"]
    assert [asked.body for asked in fake.asked] == [b"{}", b"{}"]


async def test_a_second_401_is_raised(fake: FakeApi) -> None:
    fake.on("GET", POD, UNAUTHORIZED)
    auth = RenewableAuth(last=9)
    async with client_as(fake, auth) as client:
        with pytest.raises(Unauthorized, match="Unauthorized"):
            await client.get(POD)
    assert auth.renewals == 1
    assert len(fake.asked) == 2


async def test_a_401_that_nothing_can_be_done_about_is_raised_at_once(fake: FakeApi) -> None:
    fake.on("GET", POD, UNAUTHORIZED)
    async with client_as(fake, RenewableAuth(last=0)) as client:
        with pytest.raises(Unauthorized):
            await client.get(POD)
    assert len(fake.asked) == 1


async def test_a_stream_renews_the_credentials_too(fake: FakeApi) -> None:
    fake.on("WATCH", POD, UNAUTHORIZED, Stream([b"line\n"], Ending.END))
    async with (
        client_as(fake, RenewableAuth(last=1)) as client,
        await client.stream(POD, params={"watch": "true"}, silence=5) as chunks,
    ):
        assert b"".join([chunk async for chunk in chunks]) == b"line\n"


async def test_credentials_that_cannot_be_had_are_an_unauthorized_request(fake: FakeApi) -> None:
    class Broken(RenewableAuth):
        async def renew(self, rejected: Headers | None) -> bool:
            raise CredentialsError("exec plugin 'x' was not found")

    fake.on("GET", POD, UNAUTHORIZED)
    async with client_as(fake, Broken(last=0)) as client:
        with pytest.raises(Unauthorized, match="exec plugin 'x' was not found"):
            await client.get(POD)


async def test_a_port_without_a_listener_is_a_refused_connection(fake: FakeApi, client: ApiClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    async with Transport(Connection(f"http://127.0.0.1:{port}", auth=StaticAuth())) as transport:
        with pytest.raises(errors.ConnectionRefused, match=f"connection to http://127.0.0.1:{port} refused"):
            await ApiClient(transport).get(POD)


async def test_an_answer_that_does_not_come_in_time_is_given_up(fake: FakeApi, transport: Transport) -> None:
    gate = Gate(Json({}))
    fake.on("GET", POD, gate)
    with pytest.raises(errors.TimedOut):
        await ApiClient(transport, timeout=0.05).get(POD)
    gate.opened.set()


async def test_a_connection_that_breaks_before_the_answer_is_unreachable(fake: FakeApi, client: ApiClient) -> None:
    fake.on("POST", POD, Stream([b"{"], Ending.CUT))
    with pytest.raises(Unreachable) as caught:
        await client.post(POD, b"{}")
    assert type(caught.value) is Unreachable


async def test_a_broken_stream_raises_after_what_came_through(fake: FakeApi, client: ApiClient) -> None:
    fake.on("WATCH", POD, Stream([b"one\n", b"tw"], Ending.CUT))
    got = b""
    with pytest.raises(Unreachable):  # noqa: PT012  # the error comes out of the iteration
        async with await client.stream(POD, params={"watch": "true"}, silence=5) as chunks:
            async for chunk in chunks:
                got += chunk
    assert b"one\ntw".startswith(got)


async def test_a_silent_stream_times_out(fake: FakeApi, client: ApiClient) -> None:
    fake.on("WATCH", POD, Stream([b"one\n"]))
    got = []
    with pytest.raises(errors.TimedOut):  # noqa: PT012  # the error comes out of the iteration
        async with await client.stream(POD, params={"watch": "true"}, silence=0.05) as chunks:
            async for chunk in chunks:
                got.append(chunk)  # noqa: PERF401  # it is read one by one until it raises
    assert got == [b"one\n"]


async def test_every_listener_hears_the_outcome_of_each_request(fake: FakeApi, transport: Transport) -> None:
    first, second = list[RequestOutcome](), list[RequestOutcome]()
    transport.subscribe(first.append)
    transport.subscribe(second.append)
    client = ApiClient(transport)
    fake.on("GET", POD, Json({}))
    fake.on("POST", POD, Stream([], Ending.CUT))
    await client.get(POD)
    with pytest.raises(Unreachable):
        await client.post(POD, b"{}")
    assert [(each.method, each.code) for each in first] == [("GET", "200"), ("POST", "<error>")]
    assert second == first


async def test_a_closed_client_says_so(transport: Transport, client: ApiClient) -> None:
    await transport.close()
    with pytest.raises(Unreachable, match="the client is closed"):
        await client.get(POD)


async def test_writes_beyond_the_bound_wait_and_are_counted(fake: FakeApi, transport: Transport) -> None:
    gate = Gate(Json({}, 201))
    fake.on("POST", POD, gate)
    client = ApiClient(transport, max_writes=2)
    writes = [asyncio.create_task(client.post(POD, b"%d" % number)) for number in range(5)]
    await until(lambda: gate.waiting == 2)
    assert (client.writes_in_flight, client.backlog) == (2, 3)
    writes[4].cancel()
    await asyncio.sleep(0)
    assert (client.writes_in_flight, client.backlog) == (2, 2)
    gate.opened.set()
    await asyncio.gather(*writes[:4])
    assert (client.writes_in_flight, client.backlog) == (0, 0)
    assert sorted(asked.body for asked in fake.asked) == [b"0", b"1", b"2", b"3"]


async def test_a_failed_write_lets_the_next_one_start(fake: FakeApi, transport: Transport) -> None:
    fake.on("POST", POD, status_answer(409, "Conflict", "no"))
    client = ApiClient(transport, max_writes=1)
    for _ in range(3):
        with pytest.raises(errors.Conflict):
            await client.post(POD, b"{}")
    assert client.writes_in_flight == 0


async def test_reads_are_not_held_up_by_writes(fake: FakeApi, transport: Transport) -> None:
    gate = Gate(Json({}, 201))
    fake.on("POST", POD, gate).on("GET", POD, Json({}))
    client = ApiClient(transport, max_writes=1)
    write = asyncio.create_task(client.post(POD, b"{}"))
    assert (await client.get(POD)).status == 200
    gate.opened.set()
    await write


async def test_every_request_obeys_the_limiter(fake: FakeApi, transport: Transport, time: Time) -> None:
    fake.on("GET", POD, Json({})).on("POST", POD, Json({})).on("WATCH", POD, Stream([], Ending.END))
    limiter = TokenBucket(qps=2, burst=1, clock=time.clock, sleep=time.sleep)
    client = ApiClient(transport, limiter=limiter)
    await client.get(POD)
    await client.post(POD, b"{}")
    async with await client.stream(POD, params={"watch": "true"}, silence=5):
        pass
    assert time.slept == [0.5, 0.5]


async def test_two_clients_on_one_transport_have_bounds_of_their_own(fake: FakeApi, transport: Transport) -> None:
    gate = Gate(Json({}, 201))
    fake.on("POST", POD, gate, Json({}, 201))
    one, other = ApiClient(transport, max_writes=1), ApiClient(transport, max_writes=1)
    held = asyncio.create_task(one.post(POD, b"{}"))
    await until(lambda: gate.waiting)
    async with asyncio.timeout(5):
        await other.post(POD, b"{}")
    gate.opened.set()
    await held


async def test_requests_go_through_the_proxy_with_its_credentials(fake: FakeApi) -> None:
    fake.on("GET", POD, Json({}))
    proxy = Proxy(fake.url, {"Proxy-Authorization": "Basic YTpi"})
    async with Transport(Connection("http://api.test", auth=StaticAuth(), proxy=proxy)) as transport:
        await ApiClient(transport).get(POD)
    assert fake.asked[0].headers["Host"] == "api.test"
    assert fake.asked[0].headers["Proxy-Authorization"] == "Basic YTpi"


async def test_bodies_are_sent_as_they_are(fake: FakeApi, client: ApiClient) -> None:
    fake.on("POST", POD, Json({}))
    body = json.dumps({"note": "ünïcode — ✓"}, ensure_ascii=False).encode()
    await client.post(POD, body)
    assert fake.asked[0].body == body


async def test_a_write_that_is_forbidden_while_it_waits_for_its_connection_is_not_sent(fake: FakeApi) -> None:
    fake.on("POST", POD, Json({}, 201))
    answers = iter((True, False))
    async with Transport(Connection(fake.url, auth=StaticAuth())) as transport:
        client = ApiClient(transport, may_write=lambda: next(answers))
        with pytest.raises(Unreachable):
            await client.post(POD, b"{}")
    assert fake.asked == []


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces/ns/pods/p/binding", "pods/binding"),
        ("/api/v1/namespaces/ns/pods/p", "pods"),
        ("/api/v1/nodes/n/status?fieldManager=m", "nodes/status"),
        ("/api/v1/namespaces/ns", "namespaces"),
        ("/apis/events.k8s.io/v1/namespaces/ns/events", "events"),
        ("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g/status", "podgroups/status"),
    ],
)
def test_a_path_names_the_resource_that_is_written(path: str, resource: str) -> None:
    assert written(path) == resource


async def test_each_write_that_goes_out_is_counted_and_no_read(fake: FakeApi) -> None:
    counted: list[tuple[str, str]] = []
    fake.on("GET", POD, Raw(b"{}"))
    fake.on("DELETE", POD, Raw(b"{}"))
    async with Transport(Connection(fake.url, auth=RenewableAuth(0))) as transport:
        client = ApiClient(transport, on_write=lambda verb, resource: counted.append((verb, resource)))
        await client.get(POD)
        await client.delete(POD)

    assert counted == [("DELETE", "pods")]
