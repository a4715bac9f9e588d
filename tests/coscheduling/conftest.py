"""Clusters for these tests: worlds in virtual time, and namespaces of a real API server with `muster run` beside it."""

import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.real.gangs import GangCluster
from tests.coscheduling.world import World
from tests.deployed import define_pod_groups
from tests.e2e.muster_process import MusterProcess, Options, running

MakeWorld = Callable[..., World]
AddNodes = Callable[..., None]

_numbers = itertools.count(1)


@pytest.fixture
def world_class() -> type[World]:
    """What these tests happen in."""
    return World


@pytest.fixture
async def make_world(world_class: type[World]) -> AsyncIterator[MakeWorld]:
    """Call it with the arguments of `World`."""
    worlds: list[World] = []

    def make(*args: object, **more: object) -> World:
        worlds.append(world_class(*args, **more))  # type: ignore[arg-type]  # whatever a test gives
        return worlds[-1]

    yield make
    for world in worlds:
        await world.kill()


@pytest.fixture
async def world(make_world: MakeWorld) -> World:
    """A world with the plugin's default arguments."""
    return make_world()


class StartMuster(Protocol):
    """Starts a `muster run` for one test."""

    def __call__(self, *names: str, kubeconfig: Path | None = None) -> MusterProcess: ...


def unique_name() -> str:
    """A schedulerName that no other process of these tests answers to."""
    return f"gangs-{next(_numbers)}"


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane, muster_kubeconfig: Path) -> Path:
    """The scheduler's kubeconfig, when PodGroups are served."""
    define_pod_groups(control_plane)
    return muster_kubeconfig


@pytest.fixture(scope="module")
def muster(served: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """One `muster run` for all tests of a module; nothing goes wrong in it."""
    log = tmp_path_factory.mktemp("muster") / "muster.log"
    with running(Options(kubeconfig=served, log=log, names=[unique_name()])) as process:
        yield process
    assert process.errors == []


@pytest.fixture
def start_muster(served: Path, tmp_path: Path) -> Iterator[StartMuster]:
    """Call it to start a `muster run` for this test alone, and wait until it is ready."""
    numbers = itertools.count()

    def start(*names: str, kubeconfig: Path | None = None) -> MusterProcess:
        options = Options(
            kubeconfig=kubeconfig or served,
            log=tmp_path / f"muster-{next(numbers)}.log",
            names=names or (unique_name(),),
        )
        return processes.enter_context(running(options))

    with ExitStack() as processes:
        yield start


@pytest.fixture
def gangs(control_plane: ControlPlane, api: Api, namespace: str, muster: MusterProcess) -> GangCluster:
    """The test's own namespace; its pods are for the module's process."""
    return GangCluster(control_plane, api, namespace, muster.name)


@pytest.fixture
def make_gangs(control_plane: ControlPlane, api: Api, namespace: str) -> Callable[[str], GangCluster]:
    """The test's own namespace, with pods for a scheduler of this name."""
    return lambda scheduler: GangCluster(control_plane, api, namespace, scheduler)
