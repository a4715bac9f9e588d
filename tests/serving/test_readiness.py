"""A whole process on a simulated API whose scheduler decides nothing: /readyz says so, and /livez if its loop stands.

The process, with its pages, is as `muster run` builds it. Time is the simulation's, whose loop stands while pages are
read on another one.
"""

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import ClientSession

from muster.operator.process.endpoints import endpoints
from muster.operator.process.process import Process
from muster.operator.process.settings import muster_configuration
from muster.operator.serving import Server
from muster.sandbox.kinds import PODS
from muster.testing import make_pod
from muster.testing.simulation import standard
from muster.testing.simulation.stage import Stage

READY = 500


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A leader that has nothing to do yet."""
    stage = Stage("readiness", 1, standard())
    stage.go_on(10.0)
    yield stage
    stage.end()


def leader(stage: Stage) -> Process:
    [replica] = stage.replicas
    assert replica.leads
    assert replica.process is not None
    return replica.process


def decide_nothing(stage: Stage, seconds: float) -> None:
    """For so long pods are ready, and none is taken from the queue."""
    leader(stage).engine.scheduler.step = lambda: False  # type: ignore[method-assign]  # as a bug might have it
    for number in range(READY):
        stage.server.store.create(PODS, make_pod(f"pod-{number}"), namespace="default")
    stage.go_on(seconds)


def probe(stage: Stage, page: str) -> tuple[int, str]:
    """The status and the line of the check `scheduling`."""
    return asyncio.run(answer(leader(stage), page))


async def answer(process: Process, page: str) -> tuple[int, str]:
    server = Server(endpoints(process, muster_configuration(), None), host="127.0.0.1", port=0, tls=None)
    port = await server.start()
    try:
        async with (
            ClientSession(f"http://127.0.0.1:{port}") as session,
            session.get(f"/{page}?verbose") as response,
        ):
            lines = (await response.text()).splitlines()
            return response.status, next(line for line in lines if "scheduling" in line)
    finally:
        await server.stop()


def test_a_process_with_nothing_to_decide_is_ready(stage: Stage) -> None:
    stage.go_on(1000.0)
    for page in ("livez", "readyz"):
        assert probe(stage, page) == (200, "[+]scheduling ok")


def test_a_process_that_decides_none_of_its_ready_pods_is_not_ready(stage: Stage) -> None:
    decide_nothing(stage, 1000.0)
    status, line = probe(stage, "readyz")
    assert status == 500
    assert line.startswith("[-]scheduling failed: nothing has been decided for ")
    assert line.endswith(f" s while {READY} pods are ready and 0 are being bound")
    assert probe(stage, "livez") == (200, "[+]scheduling ok")
