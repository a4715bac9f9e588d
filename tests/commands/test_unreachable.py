"""Unreachable servers, and other programs at their address: commands and `muster run` report them in words."""

import contextlib
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
import yaml

from tests.commands.asking import MUSTER, ask
from tests.python_words import PYTHON

OF_PYTHON = re.compile(rf"{PYTHON.pattern}| object at 0x|ConnectionKey|_ssl\.c|Errno|Error\(")
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>"
_PATIENCE_SECONDS = 60.0
COMMANDS = {
    "why of a pod": ("why", "pod/web"),
    "why of a group": ("why", "pg/train"),
    "groups": ("groups",),
    "explain": ("explain", "web"),
}
SERVERS = {
    "closed": ("http", None, "connection to {} refused"),
    "silent": ("http", b"", "connection to {} broke: EOF"),
    "another protocol": ("http", b"SSH-2.0-OpenSSH_9.6\r\n", "connection to {} broke: malformed HTTP response"),
    "without TLS": ("https", PAGE, "TLS to {} failed: http: server gave HTTP response to HTTPS client"),
    "a page of HTML": ("http", PAGE, "is not one of a Kubernetes API server: "),
}
"""Name -> scheme, answer to each connection (None: there is no server), and what users read."""


@contextmanager
def answering(answer: bytes | None) -> Iterator[int]:
    """A port at which each connection gets the answer after its first bytes, and is closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _, port = listener.getsockname()
        if answer is None:
            listener.close()
            yield port
            return
        thread = threading.Thread(target=_answer, args=(listener, answer), daemon=True)
        thread.start()
        yield port
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(_PATIENCE_SECONDS)


def _answer(listener: socket.socket, answer: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(ConnectionError):
                connection.recv(1 << 16)
                connection.sendall(answer)


def kubeconfig_of(server: str, folder: Path) -> Path:
    path = folder / "kubeconfig"
    context = {"cluster": "it", "user": "me"}
    document = {
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "contexts": [{"name": "it", "context": context}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "current-context": "it",
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("server", SERVERS)
def test_a_command_says_in_a_line_why_the_server_cannot_be_asked(server: str, command: str, tmp_path: Path) -> None:
    scheme, answer, shown = SERVERS[server]
    with answering(answer) as port:
        address = f"{scheme}://127.0.0.1:{port}"
        asked = ask(*COMMANDS[command], "--kubeconfig", str(kubeconfig_of(address, tmp_path)))
    (error,) = [line for line in asked.stderr.splitlines() if not line.startswith("Warning: ")]
    assert asked.exit_code == 1
    assert shown.format(address) in error
    assert OF_PYTHON.search(error) is None


def test_a_host_that_has_no_address_is_named(tmp_path: Path) -> None:
    asked = ask("groups", "--kubeconfig", str(kubeconfig_of("https://cluster.invalid:6443", tmp_path)))
    assert asked.stderr == "Error: the host name of https://cluster.invalid:6443 does not resolve\n"


def test_run_waits_for_a_server_and_says_in_its_log_and_at_readyz_why(tmp_path: Path) -> None:
    with answering(PAGE) as port, running(f"https://127.0.0.1:{port}", tmp_path) as (muster, pages, log):
        shown = f"TLS to https://127.0.0.1:{port} failed: http: server gave HTTP response to HTTPS client"
        page = eventually(lambda: readyz(pages), f"nodes ({shown})")
        logged = eventually(log.read_text, "will retry: GET")
        muster.terminate()
        assert muster.wait(_PATIENCE_SECONDS) == 0
    assert f"/api/v1/nodes: {shown}" in logged
    assert f"will retry: GET https://127.0.0.1:{port}/api" in logged
    assert "-> http: server gave HTTP response to HTTPS client" in logged
    assert [line for line in (page + log.read_text()).splitlines() if OF_PYTHON.search(line)] == []


def test_run_waits_where_another_program_answers_and_says_in_its_log_which_and_what(tmp_path: Path) -> None:
    with answering(PAGE) as port, running(f"http://127.0.0.1:{port}", tmp_path) as (muster, _, log):
        logged = eventually(log.read_text, "will retry: GET")
        muster.terminate()
        assert muster.wait(_PATIENCE_SECONDS) == 0
    assert re.search(
        rf"will retry: GET http://127\.0\.0\.1:{port}/(api|apis) -> the answer to /\1 is not one of a Kubernetes API "
        "server: text/html: <html></html>",
        logged,
    )
    assert [line for line in log.read_text().splitlines() if OF_PYTHON.search(line)] == []


@contextmanager
def running(server: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """`muster run` against this server, the address of its pages, and its log."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        _, port = free.getsockname()
    log = folder / "log"
    options = ["--plain-http", "--bind-address=127.0.0.1", f"--secure-port={port}"]
    command = [str(MUSTER), "run", f"--kubeconfig={kubeconfig_of(server, folder)}", *options]
    with log.open("wb") as written, subprocess.Popen(command, stderr=written) as muster:
        try:
            yield muster, f"http://127.0.0.1:{port}", log
        finally:
            muster.kill()


def readyz(pages: str) -> str:
    """The page of a process that is not ready; "" while nothing is served."""
    try:
        with urlopen(f"{pages}/readyz", timeout=_PATIENCE_SECONDS) as ready:
            return str(ready.read())
    except HTTPError as error:
        return error.read().decode()
    except URLError:
        return ""


def eventually(look: Callable[[], str], wanted: str) -> str:
    """The text, once it contains what is wanted."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while wanted not in (found := look()):
        assert time.monotonic() < until, found
        time.sleep(0.05)
    return found
