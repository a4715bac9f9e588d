"""Fixtures of these tests: PodGroups that are served, `muster run` that may read them, and one test's own namespace."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.real.gangs import GangCluster
from tests.coscheduling.world import configuration
from tests.deployed import define_pod_groups
from tests.e2e.muster_process import MusterProcess, Options, running
from tests.namespaces import create_namespace, remove_namespace

_numbers = itertools.count(1)

AddNodes = Callable[..., None]


class StartMuster(Protocol):
    """Starts a `muster run` for one test."""

    def __call__(
        self,
        *names: str,
        args: Mapping[str, object] | None = None,
        plugins: tuple[str, ...] = (),
        kubeconfig: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> MusterProcess: ...


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
    """Call it to start a `muster run` for this test alone, with arguments of Coscheduling, and wait until it is ready.

    Other `plugins` run after Coscheduling; `environment` is where they are found.
    """
    numbers = itertools.count()

    def start(
        *names: str,
        args: Mapping[str, object] | None = None,
        plugins: tuple[str, ...] = (),
        kubeconfig: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> MusterProcess:
        number = next(numbers)
        config = None
        if args is not None or plugins:
            config = tmp_path / f"config-{number}.yaml"
            config.write_bytes(configuration(args or {}, more=plugins))
        options = Options(
            kubeconfig=kubeconfig or served,
            log=tmp_path / f"muster-{number}.log",
            names=names or (unique_name(),),
            config=config,
            environment=environment,
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


@pytest.fixture
def elsewhere(control_plane: ControlPlane, api: Api, muster: MusterProcess) -> Iterator[GangCluster]:
    """A second namespace, with pods for the module's process."""
    name = create_namespace(api)
    yield GangCluster(control_plane, api, name, muster.name)
    remove_namespace(api, name)
