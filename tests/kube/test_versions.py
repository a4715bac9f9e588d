"""Kinds that are not stable yet, on servers that serve them in the version that Muster names, in another, or not."""

import asyncio

import msgspec
import pytest

from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import ApiError, NotFound, ServerError
from muster.operator.kube.informer import Informer, Listed, Timing
from muster.operator.kube.versions import body_at
from tests.kube.fake_api import Ending, FakeApi, Json, Raw, Stream, status_answer, until
from tests.kube.things import Journal, Thing, frame, page, thing

GROUP = "/apis/scheduling.k8s.io"
WRITTEN = f"{GROUP}/v1beta1"
ALL = f"{WRITTEN}/podgroups"
ONE = f"{WRITTEN}/namespaces/ns/podgroups/train"
MISSING = status_answer(404, "NotFound", 'podgroups.scheduling.k8s.io "train" not found')
PRIORITIES = Json({"resources": [{"name": "priorityclasses"}]})


def serve(fake: FakeApi, version: str, *plurals: str) -> None:
    """The kinds that discovery names in this version."""
    fake.on("GET", f"{GROUP}/{version}", Json({"resources": [{"name": plural} for plural in plurals]}))


def paths(fake: FakeApi) -> list[str]:
    return [f"{asked.method} {asked.path.removeprefix(GROUP)}" for asked in fake.asked]


async def test_a_kind_is_read_in_the_version_that_muster_names_while_the_server_serves_it(
    client: ApiClient, fake: FakeApi
) -> None:
    serve(fake, "v1", "priorityclasses", "podgroups")
    fake.on("GET", ALL, Json({})).on("GET", ONE, MISSING)
    await client.get(ALL)
    with pytest.raises(NotFound):
        await client.get(ONE)
    assert paths(fake) == ["GET /v1beta1/podgroups", f"GET {ONE.removeprefix(GROUP)}"]


async def test_a_kind_that_is_served_in_a_newer_version_alone_is_used_there(client: ApiClient, fake: FakeApi) -> None:
    serve(fake, "v1", "priorityclasses", "podgroups", "podgroups/status")
    at = ONE.replace("v1beta1", "v1")
    fake.on("PATCH", f"{at}/status", Json({})).on("GET", f"{GROUP}/v1/podgroups", Json({}))
    fake.on("WATCH", f"{GROUP}/v1/podgroups", Stream([b"{}\n"]))
    await client.patch(f"{ONE}/status", b'{"status":{}}', kind=PatchType.MERGE)
    await client.get(ALL, params={"limit": "1"})
    async with await client.stream(ALL, params={"watch": "true"}, silence=5) as chunks:
        assert await anext(chunks) == b"{}\n"
    assert paths(fake) == [
        "PATCH /v1beta1/namespaces/ns/podgroups/train/status",
        "GET /v1beta1",
        "GET /v1",
        "PATCH /v1/namespaces/ns/podgroups/train/status",
        "GET /v1/podgroups",
        "WATCH /v1/podgroups",
    ]
    assert [asked.query for asked in fake.asked[-2:]] == [{"limit": "1"}, {"watch": "true"}]


async def test_an_object_that_is_created_names_the_version_of_its_path(client: ApiClient, fake: FakeApi) -> None:
    serve(fake, "v1", "podgroups")
    fake.on("POST", f"{GROUP}/v1/namespaces/ns/podgroups", Json({}, 201))
    body = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "train"}}
    await client.post(f"{WRITTEN}/namespaces/ns/podgroups", msgspec.json.encode(body))
    assert fake.asked[-1].json == body | {"apiVersion": "scheduling.k8s.io/v1"}


@pytest.mark.parametrize("body", [None, b'{"spec":{"a":1}}', b"[1]"])
def test_a_body_that_names_no_version_stays_as_it_is(body: bytes | None) -> None:
    assert body_at(f"{GROUP}/v1/podgroups", body) == body


async def test_a_missing_object_is_missing_once_the_version_is_known(client: ApiClient, fake: FakeApi) -> None:
    serve(fake, "v1beta1", "podgroups")
    fake.on("GET", ONE, MISSING)
    for _ in range(2):
        with pytest.raises(NotFound, match='"train" not found'):
            await client.get(ONE)
    path = ONE.removeprefix(GROUP)
    assert paths(fake) == [f"GET {path}", "GET /v1beta1", f"GET {path}"]


async def test_a_group_of_groups_is_read_in_the_newest_version_that_has_it(client: ApiClient, fake: FakeApi) -> None:
    written = f"{GROUP}/v1alpha3/compositepodgroups"
    fake.on("GET", f"{GROUP}/v1", PRIORITIES)
    serve(fake, "v1beta1", "podgroups", "compositepodgroups")
    fake.on("GET", f"{GROUP}/v1beta1/compositepodgroups", Json({}))
    await client.get(written)
    serve(fake, "v1", "podgroups", "compositepodgroups")
    fake.on("GET", f"{GROUP}/v1beta1/compositepodgroups", MISSING)
    fake.on("GET", f"{GROUP}/v1/compositepodgroups", Json({}))
    await client.get(written)
    listed = [path for path in paths(fake) if path.endswith("compositepodgroups")]
    assert listed == [f"GET /{version}/compositepodgroups" for version in ("v1alpha3", "v1beta1", "v1beta1", "v1")]


@pytest.mark.parametrize("answer", [PRIORITIES, Raw(b"<html>"), status_answer(403, "Forbidden", "no discovery")])
async def test_a_kind_that_no_version_has_is_not_found(client: ApiClient, fake: FakeApi, answer: Json | Raw) -> None:
    fake.on("GET", f"{GROUP}/v1", answer)
    with pytest.raises(NotFound):
        await client.get(ALL)
    with pytest.raises(NotFound):
        await client.require(ALL)


async def test_a_kind_is_asked_for_by_discovery_alone(client: ApiClient, fake: FakeApi) -> None:
    serve(fake, "v1", "podgroups")
    fake.on("GET", "/apis/example.dev/v1", Json({}))
    await client.require(ALL)
    await client.require("/apis/example.dev/v1/things")
    with pytest.raises(NotFound):
        await client.require("/apis/other.dev/v1/things")
    assert paths(fake)[:2] == ["GET /v1beta1", "GET /v1"]


async def test_a_failure_of_discovery_is_reported_and_the_next_request_asks_again(
    client: ApiClient, fake: FakeApi
) -> None:
    fake.on("GET", WRITTEN, status_answer(500, "InternalError", "later"))
    fake.on("GET", ALL, MISSING, Json({}))
    with pytest.raises(ServerError):
        await client.get(ALL)
    assert (await client.get(ALL)).status == 200


async def test_an_informer_follows_a_kind_into_the_next_version(client: ApiClient, fake: FakeApi) -> None:
    ends = Stream([frame("ADDED", thing("b", 20))], Ending.END)
    fake.on("GET", ALL, Json(page([thing("a")], 10)), MISSING).on("WATCH", ALL, ends, MISSING)
    serve(fake, "v1", "podgroups")
    fake.on("GET", f"{GROUP}/v1/podgroups", Json(page([thing("b", 20)], 30)))
    fake.on("WATCH", f"{GROUP}/v1/podgroups", Stream([frame("ADDED", thing("c", 40))]))
    journal = Journal()

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    timing = Timing(sleep=at_once, random=lambda: 0.0)
    running = asyncio.create_task(Informer(client, Listed(ALL, Thing), journal, timing=timing, optional=True).run())
    await until(lambda: set(journal.view) == {"b", "c"})
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_other_kinds_of_the_group_keep_their_version(client: ApiClient, fake: FakeApi) -> None:
    serve(fake, "v1", "workloads")
    with pytest.raises(ApiError):
        await client.get(f"{WRITTEN}/workloads")
    assert paths(fake) == ["GET /v1beta1/workloads"]
