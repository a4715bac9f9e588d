"""The PodGroup controller on a real API server, as the process runs it."""

import asyncio
import os
import signal
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import kopf
import pytest

from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection, load_connection
from muster.operator.kube.events import EventRecorder
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.admission import AdmissionServing
from muster.operator.podgroups.controller import PodGroupController
from muster.operator.podgroups.following import Following
from muster.operator.process.clock import LoopClock
from muster.plugins.coscheduling.board import Board
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups

DEFINITION = Path(__file__).parents[3] / "deploy" / "crds" / "scheduling.x-k8s.io_podgroups.yaml"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1"


@dataclass(frozen=True)
class Running:
    """A controller at work, and the board it reads."""

    controller: PodGroupController
    board: Board


async def log_in(connection: Connection) -> kopf.AiohttpSession:
    """A session for kopf with the connection's credentials."""
    assert connection.tls is not None
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=connection.tls.context), headers=connection.auth.current()
    )
    return kopf.AiohttpSession(server=connection.server, default_namespace="default", aiohttp_session=session)


def leave_signals_alone() -> None:
    """Take from kopf what it took for itself."""
    loop = asyncio.get_running_loop()
    loop.remove_signal_handler(signal.SIGINT)
    loop.remove_signal_handler(signal.SIGTERM)


async def hurried(_seconds: float) -> None:
    """A pause for those who do not want to wait."""
    await asyncio.sleep(0.05)


@asynccontextmanager
async def control(kubeconfig: Path, admission: AdmissionServing | None = None) -> AsyncIterator[Running]:
    """Run controller, kopf and event recorder on this API server."""
    connection, board = load_connection(kubeconfig), Board()
    sockets = open_sockets()
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        recorder = EventRecorder(client)
        controller = PodGroupController(client, board, recorder, LoopClock(), leading=lambda: True)
        following = Following(
            controller,
            client,
            lambda: log_in(connection),
            claim_signals=leave_signals_alone,
            admission=admission,
            sleep=hurried,
        )
        recorder.start()
        controller.start()
        following.start()
        try:
            yield Running(controller, board)
        finally:
            await following.stop()
            await controller.stop()
            await recorder.drain(within=5)
    # Connections with TLS are open a moment longer than those who used them, and must not outlive the loop.
    await eventually(lambda: open_sockets() <= sockets)


def open_sockets() -> int:
    """How many sockets this process has."""
    count = 0
    for descriptor in range(1024):
        with suppress(OSError):
            count += stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    return count


async def eventually(wanted: Callable[[], object]) -> None:
    """Return when `wanted` holds; fail with its last error or answer when it does not in good time."""
    async with asyncio.timeout(20):
        while not wanted():  # noqa: ASYNC110  # the API server has no event to wait for
            await asyncio.sleep(0.05)


@pytest.fixture
async def running(
    control_plane: ControlPlane, admin_kubeconfig: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Running]:
    """The controller at work on the session's API server, which has the definition of PodGroups.

    It writes ten times as often as in earnest, so that nobody waits for it.
    """
    monkeypatch.setattr("muster.operator.podgroups.controller.WRITE_PERIOD", 0.1)
    define_pod_groups(control_plane)
    async with control(admin_kubeconfig) as made:
        yield made


@pytest.fixture
def create_group(api: Api, namespace: str) -> Callable[..., None]:
    """Call it with a PodGroup's name and spec to create it in this test's namespace."""

    def create(name: str, **spec: Any) -> None:
        body = {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": spec,
        }
        api.post(f"{GROUPS}/namespaces/{namespace}/podgroups", body)

    return create
