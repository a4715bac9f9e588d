"""A process is killed while some of a gang's Bindings are on their way; the next process completes the gang.

`tests.coscheduling.scenarios.test_restarts` kills the scheduler after each number of Bindings, in virtual time.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.builders import make_node
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.coscheduling.conftest import AddNodes, StartMuster
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.eventually import eventually
from tests.e2e.faulty_api import FaultyApi, is_binding

SIZE, BOUND = 12, 6


class OnlySome:
    """Lets so many requests pass; the others wait and never reach the API."""

    def __init__(self, passes: int) -> None:
        self._passes = passes
        self._over = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse | None:
        self._passes -= 1
        if self._passes >= 0:
            return None
        await self._over.wait()
        return web.Response(status=503)

    def end(self) -> None:
        """Turn down those that wait."""
        self._over.set()


@pytest.fixture
def faulty_api(control_plane: ControlPlane, served: Path) -> Iterator[FaultyApi]:
    with FaultyApi(control_plane, MUSTER) as api:
        yield api


def test_a_gang_whose_scheduler_is_killed_between_its_bindings_is_completed_by_the_next(
    faulty_api: FaultyApi,
    start_muster: StartMuster,
    make_gangs: Callable[[str], GangCluster],
    add_nodes: AddNodes,
    tmp_path: Path,
) -> None:
    add_nodes(*(make_node(f"node-{number}", cpu="4") for number in range(3)))
    first = start_muster(kubeconfig=faulty_api.kubeconfig(tmp_path / "kubeconfig"))
    gangs = make_gangs(first.name)
    gangs.add_group("train", SIZE, timeout=30)
    only_some = OnlySome(BOUND)
    with faulty_api.trouble(only_some, on=is_binding):
        gangs.add(*make_members("train", SIZE))
        eventually(lambda: faulty_api.met == SIZE and len(gangs.nodes()) == BOUND)
        first.kill()
    only_some.end()
    assert len(gangs.nodes()) == BOUND

    start_muster(first.name)
    gangs.wait_until_started("train", SIZE, within=30)
