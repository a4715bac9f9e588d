"""Anything that is written to a PodGroup or sent to a port is answered by a message that names it."""

import asyncio
import http.client
import json
import logging
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muster.framework.groups.healing import HEALING_POLICY, healing_fault, healing_policy
from muster.framework.groups.holds import HOLD, HOLD_ANNOTATIONS, hold_in
from muster.framework.groups.timing import MIN_RUN, MOST_SECONDS, TIMING_ANNOTATIONS, seconds_in, timing_faults
from muster.framework.model.pod import Pod
from muster.framework.model.run_seconds import RUN_SECONDS, run_seconds
from muster.framework.model.times import rfc3339
from muster.operator.podgroups.admission import refusals
from muster.operator.serving import Server, application
from muster.operator.web.safety import KEY
from muster.plugins.coscheduling import disruption
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from muster.plugins.coscheduling.topology import ANNOTATIONS, AnnotationError, topology_of
from muster.testing import make_pod
from tests.coscheduling.controller.test_webhook import ASKED, REVIEW
from tests.coscheduling.controller.test_webhook import serving as serving_reviews
from tests.security.test_fuzzed_input import MANY, changed, encoded
from tests.serving.test_pages import sources
from tests.web.served import SECRET, shown

GROUP = {
    "metadata": {
        "name": "train",
        "annotations": {
            **dict.fromkeys(ANNOTATIONS, "topology.kubernetes.io/zone"),
            disruption.MODE: "Pod",
            HEALING_POLICY: "Restart",
        },
    },
    "spec": {"minMember": 3, "minResources": {"cpu": "3"}, "scheduleTimeoutSeconds": 60},
}
NAMES = [*ANNOTATIONS, disruption.MODE, HEALING_POLICY, *sorted(HOLD_ANNOTATIONS), *sorted(TIMING_ANNOTATIONS)]
TEXTS = st.text(max_size=30) | st.sampled_from(["", "a,b", ",", "-1", "9" * 5000, "١٢", "example.com/", "Restart "])
PAGES = ["livez", "healthz", "readyz", "metrics", "metrics/resources", "configz", "flagz", "statusz", "livez/x"]
PAGES += ["debug/why", "namespaces/shop/pods/web/why"]
WEB = ["", "nodes", "nodes/x", "groups/a/b", "native-groups/a/b", "pods/a/b", "changes", "static/x"]
METHODS = ["GET", "GET", "GET", "HEAD", "POST", "DELETE", "get", "Ā"]
ENDS = ["", "", "", "/", "/..", "%00", "%ff", "//x", "/%2e%2e"]
ASKED_FOR = ["pod", "verbose", "exclude", "in", "label", "resource", "find", "x", ""]
VALUES = ["", "a/b", "/", "%", "%zz", "<script>", "nan", "9" * 300]
HEADERS = ["", "", "Authorization: Bearer \r\n", "Content-Length: -1\r\n", "Transfer-Encoding: x\r\n"]
HEADERS += ["Range: bytes=9-1\r\n", "Accept-Encoding: *;q=x\r\n", "Expect: x\r\n", "Cookie: =;\r\n", "X: \x00\r\n"]
LONGEST = 1 << 16


def topology_fault(annotations: dict[str, str]) -> str:
    try:
        topology_of(annotations)
    except AnnotationError as error:
        return str(error)
    return ""


@MANY
@given(st.dictionaries(st.sampled_from(NAMES), TEXTS))
def test_annotations_of_groups_are_read_or_named(annotations: dict[str, str]) -> None:
    faults = [topology_fault(annotations), disruption.fault(annotations), healing_fault(annotations)]
    faults += timing_faults(annotations)
    assert all(fault.startswith("metadata.annotations[muster-scheduler.io/") for fault in faults if fault)
    assert disruption.mode_of(annotations) in disruption.PodGroupDisruptionMode
    assert healing_policy(annotations)
    assert 0 <= (seconds_in(MIN_RUN, [annotations]) or 0) <= MOST_SECONDS
    assert (hold_in(annotations) is not None) == (HOLD in annotations)


@MANY
@given(TEXTS | st.integers(0, 10**14).map(str))
@example("9" * 12)
def test_a_run_time_is_read_or_none_and_ends_at_a_moment_that_can_be_written(text: str) -> None:
    pod = {**make_pod("p")}
    pod["metadata"] = {**pod["metadata"], "annotations": {RUN_SECONDS: text}}
    seconds = run_seconds(msgspec.convert(pod, Pod))
    assert seconds >= 0
    assert seconds == inf or rfc3339(time.time() + seconds)


@MANY
@given(changed(GROUP).filter(lambda group: isinstance(group, dict)), st.none() | changed(GROUP))
def test_faults_of_a_group_name_their_field(new: dict[str, Any], old: Any) -> None:
    for line in refusals(POD_GROUP_KIND, old if isinstance(old, dict) else None, new):
        assert line.startswith(("spec", "metadata"))
        assert ": " in line


async def test_reviews(caplog: pytest.LogCaptureFixture) -> None:
    """As kopf does it: what is no review is refused, and what is one is judged."""

    async def decide(review: Any, **_: Any) -> Any:
        asked = review["request"]
        faults = refusals(POD_GROUP_KIND, asked.get("oldObject"), asked.get("object") or {})
        return {"response": {"uid": asked["uid"], "allowed": not faults}}

    good = encoded(REVIEW | {"request": ASKED | {"object": GROUP}})
    bodies = changed(json.loads(good)).map(encoded) | st.binary(max_size=60)
    async with serving_reviews(decide) as (_, url):

        @MANY
        @given(bodies)
        def ask(body: bytes) -> None:
            assert post(url, body) in (HTTPStatus.OK, HTTPStatus.BAD_REQUEST)

        await asyncio.to_thread(ask)
        assert await asyncio.to_thread(post, url, good) == HTTPStatus.OK
    assert errors(caplog) == []


def post(url: str, body: bytes) -> int:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection(str(parts.hostname), parts.port, timeout=30, context=context)
    try:
        connection.request("POST", parts.path, body)
        return connection.getresponse().status
    finally:
        connection.close()


@st.composite
def requests(draw: st.DrawFn, pages: list[str], head: str) -> tuple[bytes, bool]:
    """A request to one of the pages with something else in it, and whether it ends: bytes in it may hide that."""
    path = "/" + draw(st.sampled_from(pages)) + draw(st.sampled_from(ENDS))
    value = draw(st.sampled_from(VALUES) | st.text("a/%&=?#é", max_size=9))
    query = f"{draw(st.sampled_from(ASKED_FOR))}={value}"
    line = f"{draw(st.sampled_from(METHODS))} {path}?{query} HTTP/1.1"
    whole = "\r\n".join([line, head, "Connection: close", draw(st.sampled_from(HEADERS)), ""]).encode()
    if draw(st.integers(0, 4)):
        return whole, True
    at = draw(st.integers(0, len(whole)))
    return whole[:at] + draw(st.binary(max_size=20)) + whole[at:], False


def answer_to(port: int, request: bytes, ends: bool = True) -> bytes:
    """The answer, or as much of it as has to be read; empty where the connection is closed without one.

    Nobody waits for the answer to a request that does not end.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        with suppress(OSError):
            connection.sendall(request)
            if not ends:
                connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while len(answer) < LONGEST and (chunk := connection.recv(LONGEST)):
                answer += chunk
    return answer


def status_of(answer: bytes) -> int:
    assert b"Traceback" not in answer
    return int(answer.split(maxsplit=2)[1]) if answer else 0


async def send_all_kinds(port: int, pages: list[str], head: str) -> None:
    """None of them is an error of the server's, and after all of them a page is answered as ever."""

    @MANY
    @given(requests(pages, head))
    def send(request: tuple[bytes, bool]) -> None:
        assert status_of(answer_to(port, *request)) < HTTPStatus.INTERNAL_SERVER_ERROR

    await asyncio.to_thread(send)
    plain = f"GET /{pages[0]} HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n".encode()
    assert status_of(await asyncio.to_thread(answer_to, port, plain)) == HTTPStatus.OK


async def test_the_port_of_a_process(caplog: pytest.LogCaptureFixture) -> None:
    content = replace(sources(), healthz={"leaderElection": lambda: None})
    server = Server(application(content, None), host="127.0.0.1", port=0, tls=None)
    port = await server.start()
    try:
        await send_all_kinds(port, PAGES, "Host: x")
    finally:
        await server.stop()
    assert errors(caplog) == []


async def test_the_pages_for_browsers(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    async with shown(tmp_path) as running:
        port = int(urlsplit(running.url).port or 0)
        enter = f"GET /?{KEY}={SECRET} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        entered = (await asyncio.to_thread(answer_to, port, enter)).decode()
        cookie = entered.partition("Set-Cookie: ")[2].partition(";")[0]
        await send_all_kinds(port, WEB, f"Host: localhost\r\nCookie: {cookie}")
    assert errors(caplog) == []


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged as an error, or with a traceback."""
    return [record.getMessage() for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
