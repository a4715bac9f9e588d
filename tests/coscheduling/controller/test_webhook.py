"""The server of reviews: its answer to other requests, after which it goes on."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import kopf
import msgspec
import pytest

from muster.operator.podgroups.webhook import LONGEST_REVIEW, ReviewServer
from tests.controlplane.ports import free_port
from tests.python_words import PYTHON

CERTIFICATE = Path(__file__).parents[2] / "kube" / "data" / "certificate.pem"
RESOURCE = {"group": "scheduling.x-k8s.io", "version": "v1alpha1", "resource": "podgroups"}
ASKED = {"uid": "1", "resource": RESOURCE, "operation": "CREATE", "userInfo": {"username": "eve"}, "object": {"a": 1}}
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": ASKED}


async def decide(request: Any, **_: Any) -> Any:
    """Lets all pass but what it does not know, as kopf's handlers do."""
    if request["request"]["resource"]["resource"] != "podgroups":
        raise kopf.PermanentError("The specified resource\nhas no handlers")
    return {"response": {"uid": request["request"]["uid"], "allowed": True}}


@asynccontextmanager
async def serving(decide: Any = decide) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A session that trusts any certificate, and the address for reviews, on which `decide` decides."""
    server = ReviewServer(
        CERTIFICATE,
        CERTIFICATE.with_name("key.pem"),
        port=free_port(),
        address="127.0.0.1",
        host=None,
        authority=None,
    )
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with aclosing(server(decide)) as configurations:
        configuration: Mapping[str, Any] = await anext(configurations)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
            yield session, f"{configuration['url']}/podgroups"


def but(**changes: Any) -> dict[str, Any]:
    return REVIEW | {"request": ASKED | changes}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[" * 100_000,
        *map(
            msgspec.json.encode,
            [
                {},
                [],
                1,
                "review",
                {"request": ASKED},
                REVIEW | {"kind": "Pod"},
                REVIEW | {"request": None},
                REVIEW | {"request": {}},
                but(resource="podgroups"),
                but(resource=RESOURCE | {"resource": "nodes"}),
                but(operation="LOOK"),
                but(userInfo=None),
                but(object=None),
                but(object=[]),
                but(oldObject="x"),
                but(uid=7),
            ],
        ),
    ],
)
async def test_a_body_that_is_no_review_is_answered_with_400_and_no_word_in_the_log(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with serving() as (session, url):
            async with session.post(url, data=body) as refused:
                reported = await refused.text()
            assert (refused.status, reported.count("\n"), PYTHON.search(reported)) == (400, 1, None)
            async with session.post(url, json=REVIEW) as answered:
                assert (await answered.json())["response"] == {"uid": "1", "allowed": True}
    assert caplog.text == ""


async def test_a_review_that_is_larger_than_two_objects_is_refused_before_it_is_read() -> None:
    async with serving() as (session, url), session.post(url, data=BytesIO(b" " * (LONGEST_REVIEW + 1))) as refused:
        assert refused.status == 413


async def test_reviews_are_answered_whatever_else_is_connected() -> None:
    async with serving() as (session, url):
        port = int(url.rpartition(":")[2].partition("/")[0])
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(50)]
        async with session.post(url, json=REVIEW) as answered:
            assert answered.status == 200
        for _, writer in idle:
            writer.close()
