"""Fixtures of the tests that run the real process: Muster itself, and the cluster as one test sees it."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
import yaml

from tests.builders import PodDict, make_pod
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.e2e.installing import install_example_plugins
from tests.e2e.muster_process import MusterProcess, Options, running
from tests.played_storage import PlayedStorage
from tests.storage import make_class

_numbers = itertools.count(1)


class StartMuster(Protocol):
    """Starts a `muster run` that answers to these names, or to one that nobody else has; see `Options`."""

    def __call__(
        self,
        *names: str,
        config: Path | None = None,
        kubeconfig: Path | None = None,
        environment: Mapping[str, str] | None = None,
        ready: bool = True,
    ) -> MusterProcess: ...


def unique_name() -> str:
    """A schedulerName that no other process of this session answers to."""
    return f"muster-{next(_numbers)}"


@pytest.fixture(scope="module")
def muster(muster_kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """One `muster run` for all tests of a module, with a schedulerName of its own; nothing goes wrong in it."""
    name = unique_name()
    log = tmp_path_factory.mktemp("muster") / "muster.log"
    with running(Options(kubeconfig=muster_kubeconfig, log=log, names=[name])) as process:
        yield process
    assert process.errors == []


@pytest.fixture
def start_muster(muster_kubeconfig: Path, tmp_path: Path) -> Iterator[StartMuster]:
    """Call it to start a `muster run` for this test alone, and to wait until it is `ready`."""
    numbers = itertools.count()

    def start(
        *names: str,
        config: Path | None = None,
        kubeconfig: Path | None = None,
        environment: Mapping[str, str] | None = None,
        ready: bool = True,
    ) -> MusterProcess:
        options = Options(
            kubeconfig=kubeconfig or muster_kubeconfig,
            log=tmp_path / f"muster-{next(numbers)}.log",
            names=names or (unique_name(),),
            config=config,
            environment=environment,
        )
        return processes.enter_context(running(options, ready=ready))

    with ExitStack() as processes:
        yield start


@pytest.fixture
def cluster(control_plane: ControlPlane, api: Api, namespace: str) -> Cluster:
    """The test's own namespace with its pods."""
    return Cluster(control_plane, api, namespace)


class PriorityClasses(Protocol):
    """Makes a priority class that is there for this test, and returns its name."""

    def __call__(self, value: int, **fields: str) -> str: ...


@pytest.fixture
def make_priority(api: Api, namespace: str) -> Iterator[PriorityClasses]:
    """Call it with the value of a priority class and more fields of it. Admission hears of it a moment late."""
    classes, pods = "/apis/scheduling.k8s.io/v1/priorityclasses", f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
    with ExitStack() as made:

        def make(value: int, **fields: str) -> str:
            name = unique_name()
            api.post(classes, {"metadata": {"name": name}, "value": value, **fields})
            made.callback(api.delete, f"{classes}/{name}")
            spec = {"priorityClassName": name, "containers": [{"name": "any", "image": "any"}]}
            eventually(lambda: api.post(pods, {"metadata": {"name": name}, "spec": spec}))
            return name

        yield make


@pytest.fixture
def urgent(make_priority: PriorityClasses) -> str:
    """A priority class above that of ordinary pods."""
    return make_priority(1000)


@pytest.fixture(scope="session")
def with_example_plugins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process beside which the package of example plugins is installed."""
    return install_example_plugins(tmp_path_factory.mktemp("example-plugins"))


@pytest.fixture
def storage(api: Api, namespace: str) -> Iterator[PlayedStorage]:
    """The storage of the cluster, with a class whose volumes are made on demand, by the test."""
    played = PlayedStorage(api, namespace)
    played.create(make_class("made"))
    yield played
    played.remove()


def sized(name: str, cpu: str) -> PodDict:
    """A pod that asks for so much CPU."""
    return make_pod(name).requests(cpu=cpu)


class WriteConfig(Protocol):
    """Writes a KubeSchedulerConfiguration with one profile and returns its path."""

    def __call__(self, *plugins: str, name: str, **fields: object) -> Path: ...


@pytest.fixture
def write_config(tmp_path: Path) -> WriteConfig:
    """Call it with plugins to enable at all their points, the schedulerName and more fields of the configuration."""

    def write(*plugins: str, name: str, **fields: object) -> Path:
        enabled = {"multiPoint": {"enabled": [{"name": plugin} for plugin in plugins]}}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": name, "plugins": enabled}],
        }
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(config | fields))
        return path

    return write


def impatient_with_volumes(name: str) -> dict[str, object]:
    """A profile of kube-scheduler's plugins that waits a second for volumes to be bound."""
    args = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "VolumeBindingArgs", "bindTimeoutSeconds": 1}
    return {"schedulerName": name, "pluginConfig": [{"name": "VolumeBinding", "args": args}]}
