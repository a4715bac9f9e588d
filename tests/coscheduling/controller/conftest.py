"""The PodGroup controller on a real API server, as the process runs it."""

import asyncio
import os
import signal
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import kopf
import pytest

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting_pods import PodsAtPermit
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection, load_connection
from muster.operator.kube.events import EventRecorder
from muster.operator.kube.informer import Informer, Listed
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.admission import AdmissionOperator, AdmissionServing
from muster.operator.podgroups.status_controller import StatusController
from muster.operator.podgroups.worker import WorkerPorts
from muster.operator.process.clock import LoopClock
from muster.operator.process.informers import PODS
from muster.plugins.coscheduling.api import POD_GROUPS, PodGroup
from muster.plugins.coscheduling.args import CoschedulingArgs
from muster.plugins.coscheduling.book import PodGroups
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from muster.plugins.coscheduling.reporting import PodGroupReporter
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups

from .groups import report

DEFINITION = Path(__file__).parents[3] / "deploy" / "crds" / "scheduling.x-k8s.io_podgroups.yaml"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1"


@dataclass(frozen=True)
class Running:
    """A controller at work, and what it reads."""

    controller: StatusController
    groups: PodGroups


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


class Onlooker:
    """Feeds PodGroups as the plugin does, without deciding anything."""

    def __init__(self, groups: PodGroups) -> None:
        self._groups = groups

    def on_pod(self, old: Pod | None, new: Pod | None) -> None:
        """A pod that has not ended came, changed or went."""
        self._groups.follow_pod(PodInfo(old) if old else None, PodInfo(new) if new else None)

    def on_group(self, old: PodGroup | None, new: PodGroup | None) -> None:
        """A PodGroup came, changed or went."""
        report(self._groups, old, new)


class Watched:
    """An informer's handler over a function of old and new."""

    def __init__(self, changed: Callable[[Any, Any], None]) -> None:
        self._changed = changed

    def on_add(self, new: Any, /) -> None:
        """An object appeared."""
        self._changed(None, new)

    def on_update(self, old: Any, new: Any, /) -> None:
        """An object changed."""
        self._changed(old, new)

    def on_delete(self, last: Any, /) -> None:
        """An object is gone."""
        self._changed(last, None)


@asynccontextmanager
async def control(kubeconfig: Path, admission: AdmissionServing | None = None) -> AsyncIterator[Running]:
    """Run controller, informers, admission and event recorder on this API server."""
    connection, clock = load_connection(kubeconfig), LoopClock()
    groups = PodGroups(CoschedulingArgs(), clock, PodsAtPermit(Standstill()))
    onlooker, sockets = Onlooker(groups), open_sockets()
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        recorder = EventRecorder(client)
        kinds = Listed(POD_GROUPS.path, PodGroup)
        pods, pod_groups = (
            Informer(client, PODS, Watched(onlooker.on_pod)),
            Informer(client, kinds, Watched(onlooker.on_group)),
        )
        ports = WorkerPorts(client, recorder, clock, leading=lambda: True, synced=[pods.synced])
        controller = StatusController(
            groups, POD_GROUP_KIND, PodGroupReporter(groups, clock), ports, ended_handler=groups.follow_ended
        )
        validating = None
        if admission is not None:
            login = partial(log_in, connection)
            validating = AdmissionOperator(
                admission, [POD_GROUP_KIND], client, login, claim_signals=leave_signals_alone, sleep=hurried
            )
            validating.start()
        recorder.start()
        controller.start()
        watching = [asyncio.create_task(informer.run()) for informer in (pods, pod_groups)]
        try:
            yield Running(controller, groups)
        finally:
            if validating is not None:
                await validating.stop()
            await controller.stop()
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
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
    """Return when `wanted` holds. Raises TimeoutError when it does not in good time."""
    async with asyncio.timeout(20):
        while not wanted():  # noqa: ASYNC110  # the API server has no event to wait for
            await asyncio.sleep(0.05)


@pytest.fixture
async def running(
    control_plane: ControlPlane, admin_kubeconfig: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Running]:
    """The controller at work on the session's API server, which has the definition of PodGroups.

    It writes ten times as often as in production, so that tests need not wait for it.
    """
    monkeypatch.setattr("muster.operator.podgroups.status_controller.WRITE_PERIOD", 0.1)
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
