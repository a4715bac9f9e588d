"""The cluster of a scenario that is written once: in virtual time, then on a real API server."""

from collections.abc import AsyncIterator

import pytest

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.conftest import AddNodes
from tests.coscheduling.scenarios.backend import Backend, RealBackend, VirtualBackend
from tests.coscheduling.world import World
from tests.e2e.muster_process import MusterProcess


@pytest.fixture
async def virtual(world: World) -> AsyncIterator[Backend]:
    """A world with the plugin's default arguments; when the story ends, what the scheduler believes is true."""
    yield VirtualBackend(world)
    await world.settle()
    world.check()


@pytest.fixture
def real(control_plane: ControlPlane, api: Api, namespace: str, muster: MusterProcess, add_nodes: AddNodes) -> Backend:
    """The test's own namespace on the session's API server, and the module's process."""
    return RealBackend(control_plane, api, namespace, muster.name, add_nodes)


@pytest.fixture(params=["virtual", "real"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Either backend; only the one that is asked for is started."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Backend)
    return found
