"""The extender of `extender_server`, started for a test and ended with it."""

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.controlplane.guard import Guard
from tests.controlplane.ports import free_port
from tests.e2e.eventually import eventually

SERVER = Path(__file__).with_name("extender_server.py")


class ExtenderProcess:
    """Runs from the moment it is made until it is stopped. `rules` may change what it answers at any time."""

    def __init__(self, folder: Path, *, tls: Sequence[Path] = ()) -> None:
        port = free_port()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/scheduler"
        self._rules, self._log = folder / f"rules-{port}.json", folder / f"asked-{port}.jsonl"
        self._log.touch()
        self.rules()
        files = [str(file) for file in tls]
        command = [sys.executable, "-S", "-E", str(SERVER), str(self._rules), str(port), str(self._log), *files]
        self._guard = Guard()
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self._guard.watch(self._process.pid)
        eventually(lambda: _listens(port))

    def rules(self, **rules: object) -> None:
        """Answer like this from now on."""
        fresh = self._rules.with_suffix(".new")
        fresh.write_text(json.dumps(rules))
        fresh.rename(self._rules)

    def asked(self, verb: str, pod: str = "") -> list[Any]:
        """The bodies of what it was asked, about a pod if it is named."""
        lines = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [body for said, body in lines if said == verb and pod in ("", _pod(body))]

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._guard.close()


def _pod(body: Any) -> str:
    name: str = body["PodName"] if "PodName" in body else body["Pod"]["metadata"]["name"]
    return name


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
