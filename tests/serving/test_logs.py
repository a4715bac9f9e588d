"""Lines of the log: their form, who is heard at which verbosity, and what never gets into them."""

import asyncio
import errno
import io
import json
import logging
import socket
from datetime import datetime

import pytest
import uvloop

from muster.operator.logs import (
    JsonFormatter,
    Style,
    TextFormatter,
    configure,
    handle_loop_error,
    ignore_kopfs_end,
    level,
    redact,
)

# uvloop goes on after what a signal's handler raises, so a test that hangs is ended with its process.
pytestmark = pytest.mark.timeout(method="thread")

LOG = logging.getLogger("muster.operator.binder")
MOMENT = datetime(2026, 11, 21, 9, 40, 1, 123456).timestamp()


def record(message: str = "Bound pod", severity: int = logging.INFO, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("muster.operator.binder", severity, "/src/binder.py", 42, message, (), None)
    made.created = MOMENT
    made.process = 123
    vars(made).update(extra)
    return made


def text(made: logging.LogRecord) -> str:
    return TextFormatter().format(made)


def logged(style: Style = "text", verbosity: int = 0) -> io.StringIO:
    stream = io.StringIO()
    configure(verbosity=verbosity, style=style, stream=stream)
    return stream


def test_a_line_has_the_header_of_klog_and_its_pairs() -> None:
    line = text(record(pairs={"pod": "shop/web", "attempts": 2, "gang": False, "node": None}))
    assert line == (
        'I1121 09:40:01.123456     123 binder.py:42] "Bound pod" pod="shop/web" attempts=2 gang=false node=null'
    )


@pytest.mark.parametrize(
    ("severity", "letter"),
    [(logging.CRITICAL, "E"), (logging.ERROR, "E"), (logging.WARNING, "W"), (logging.INFO, "I"), (level(10), "I")],
)
def test_the_first_letter_is_the_severity(severity: int, letter: str) -> None:
    assert text(record(severity=severity))[0] == letter


def test_quotes_and_line_breaks_in_values_stay_on_the_line() -> None:
    assert text(record(pairs={"message": 'a "b"\nc'})).endswith(r'message="a \"b\"\nc"')


def test_errors_and_other_objects_are_written_as_their_text() -> None:
    assert text(record(pairs={"err": ValueError("no node")})).endswith('err="no node"')


def test_a_line_of_a_library_is_left_as_it_is() -> None:
    assert text(record("Initial authentication has finished.")).endswith("] Initial authentication has finished.")


def test_a_line_of_kopf_says_which_object_it_is_about() -> None:
    reference = {"kind": "PodGroup", "namespace": "shop", "name": "train", "uid": "u"}
    assert text(record("Handled", k8s_ref=reference)).endswith('"Handled" kind="PodGroup" object="shop/train"')


def test_a_json_line_is_one_object() -> None:
    line = JsonFormatter().format(record(severity=level(2), pairs={"pod": "shop/web", "msg": "not this"}))
    assert json.loads(line) == {
        "ts": round(MOMENT * 1000, 3),
        "level": "info",
        "logger": "muster.operator.binder",
        "caller": "binder.py:42",
        "msg": "Bound pod",
        "v": 2,
        "pod": "shop/web",
    }


def test_a_json_error_has_no_verbosity_and_carries_its_traceback() -> None:
    stream = logged("json")
    try:
        raise ValueError("no node")
    except ValueError:
        LOG.exception("Binding failed", extra={"pairs": {"pod": "shop/web"}})
    line = json.loads(stream.getvalue())
    assert (line["level"], line["pod"], "v" in line) == ("error", "shop/web", False)
    assert line["stacktrace"].startswith("Traceback")
    assert line["stacktrace"].endswith("ValueError: no node")


@pytest.mark.parametrize(
    ("name", "verbosity", "traced"),
    [
        ("kopf._core.reactor.observation", 0, False),
        ("kopf._core.reactor.observation", 4, True),
        ("kopf.objects", 0, True),
        ("muster.operator.process.tasks", 0, True),
    ],
)
def test_the_place_where_kopf_itself_failed_is_logged_from_verbosity_four_on(
    name: str, verbosity: int, traced: bool
) -> None:
    stream = logged(verbosity=verbosity)
    try:
        raise ValueError("garbage")
    except ValueError as error:
        logging.getLogger(name).exception(f"It has failed: {error}")
    assert "It has failed: garbage" in stream.getvalue()
    assert ("Traceback" in stream.getvalue()) == traced


@pytest.mark.parametrize("verbosity", range(11))
def test_a_line_shows_from_its_verbosity_on(verbosity: int) -> None:
    stream = logged("json", verbosity)
    for v in range(11):
        LOG.log(level(v), "line")
    assert [json.loads(line)["v"] for line in stream.getvalue().splitlines()] == list(range(verbosity + 1))


@pytest.mark.parametrize(
    ("verbosity", "heard"),
    [(0, ["warning"]), (3, ["warning"]), (4, ["info", "warning"]), (8, ["debug", "info", "warning"])],
)
def test_libraries_are_quiet_at_normal_verbosity(verbosity: int, heard: list[str]) -> None:
    stream = logged(verbosity=verbosity)
    library = logging.getLogger("kopf.objects")
    library.debug("debug")
    library.info("info")
    library.warning("warning")
    assert [line.rpartition(" ")[2] for line in stream.getvalue().splitlines()] == heard


def test_kopfs_lines_about_its_own_end_are_not_logged() -> None:
    stream = logged()
    ignore_kopfs_end()
    logging.getLogger("kopf._core.reactor.observation").error("Request attempt #1/9 failed")
    logging.getLogger("kopf.activities.cleanup").error("Activity failed")
    assert "attempt" not in stream.getvalue()
    assert "Activity failed" in stream.getvalue()


def test_access_logs_are_off_at_every_verbosity() -> None:
    stream = logged(verbosity=10)
    logging.getLogger("aiohttp.access").info("GET /metrics")
    assert stream.getvalue() == ""


def test_configuring_twice_does_not_log_twice() -> None:
    first, second = logged(), logged()
    LOG.info("once")
    assert (first.getvalue(), second.getvalue().count("once")) == ("", 1)


JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtdXN0ZXIifQ.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Authorization: Bearer abcdef1234567890", "Authorization: <redacted>"),
        ("sent bearer abcdef1234567890 along", "sent bearer <redacted> along"),
        (f"got {JWT} back", "got <redacted> back"),
        ("{'Authorization': 'Basic dXNlcjpw', 'a': 1}", "{'Authorization': '<redacted>', 'a': 1}"),
        ('password="two words" user="eve"', 'password="<redacted>" user="eve"'),
        (r'token="with \" quote" a=1', 'token="<redacted>" a=1'),
        ('{"id_token":"abc","n":1}', '{"id_token":"<redacted>","n":1}'),
        (r'{"msg":"{\"password\":\"x y\"}"}', r'{"msg":"{\"password\":\"<redacted>\"}"}'),
        ("GET /api?access_token=abc&watch=1", "GET /api?access_token=<redacted>&watch=1"),
        ("client-key-data: LS0tLS1CRUdJTg==", "client-key-data: <redacted>"),
        ("https://eve:secret@host:6443/api", "https://eve:<redacted>@host:6443/api"),
    ],
)
def test_secrets_are_taken_out(said: str, kept: str) -> None:
    assert redact(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "0/3 nodes are available: 3 Insufficient cpu.",
        "https://127.0.0.1:6443/api/v1/pods?watch=1",
        '{"tokens":3,"maxToken":5}',
        "TokenReview failed: connection refused",
        'pod="shop/token-service" node="n1"',
    ],
)
def test_a_text_without_a_secret_stays(said: str) -> None:
    assert redact(said) == said


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_secret_gets_through_in_message_pair_or_traceback(style: Style) -> None:
    stream = logged(style, verbosity=4)
    try:
        raise ConnectionError(f"401 with Authorization: Bearer {JWT}")
    except ConnectionError as error:
        pairs = {"err": error, "password": "hunter2", "header": f"Bearer {JWT}"}
        LOG.exception(f"Request failed, token={JWT}", extra={"pairs": pairs})
    assert "hunter2" not in stream.getvalue()
    assert "c2lnbmF0dXJl" not in stream.getvalue()
    assert stream.getvalue().count("<redacted>") >= 4


def test_redacted_json_is_still_json() -> None:
    stream = logged("json")
    pairs = {"token": "abc", "headers": {"Authorization": "Bearer abc"}}
    LOG.info('sent {"token": "abc def"} and password=x', extra={"pairs": pairs})
    line = json.loads(stream.getvalue())
    assert line["msg"] == 'sent {"token": "<redacted>"} and password=<redacted>'
    assert (line["token"], line["headers"]) == ("<redacted>", {"Authorization": "<redacted>"})


def test_something_left_to_be_sent_on_a_connection_that_broke_is_no_error() -> None:
    stream = logged("text", verbosity=2)

    async def reported() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(handle_loop_error)
        ours, theirs = socket.socketpair()
        transport, _ = await loop.connect_accepted_socket(asyncio.Protocol, ours)
        transport.abort()
        theirs.close()
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError) as refused:
            transport.write(b"x")
        for error in (refused.value, RuntimeError("a bug")):
            loop.call_exception_handler({"message": "Fatal error on SSL protocol", "exception": error})

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(reported())
    assert stream.getvalue().count("Fatal error on SSL protocol") == 1
    assert "RuntimeError: a bug" in stream.getvalue()


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_request_of_kopf_that_failed_is_logged_in_words(style: Style) -> None:
    out = logged(style)
    try:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)")
    except OSError as error:
        logging.getLogger("kopf._cogs.clients.api").error(f"will retry: GET https://x/api -> {error!r}")
    assert "will retry: GET https://x/api -> connection refused" in out.getvalue()
    assert "Error(" not in out.getvalue()
