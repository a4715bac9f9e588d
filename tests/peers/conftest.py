"""Muster with the profiles that scheduler-plugins' tests give to their schedulers, and the stage of a situation."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.real.gangs import GangCluster
from tests.deployed import define_elastic_quotas, define_pod_groups
from tests.e2e.conftest import unique_name
from tests.e2e.muster_process import MusterProcess, Options, running
from tests.namespaces import create_namespace, remove_namespace
from tests.peers.situations import PRIORITIES
from tests.peers.stage import PeerStage

MakeStage = Callable[[str], PeerStage]

_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def gang_profile(**args: int) -> Mapping[str, Any]:
    """The profile of scheduler-plugins' tests of gangs, with these arguments of Coscheduling."""
    enabled = {"enabled": [{"name": "Coscheduling"}]}
    plugins = dict.fromkeys(("preFilter", "postFilter", "permit"), enabled)
    instead = enabled | {"disabled": [{"name": "*"}]}
    spec = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "CoschedulingArgs", **args}
    return {
        "plugins": {**plugins, "queueSort": instead},
        "pluginConfig": [{"name": "Coscheduling", "args": spec}],
    }


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane, muster_kubeconfig: Path) -> Path:
    """The scheduler's kubeconfig, when PodGroups and ElasticQuotas are served."""
    define_pod_groups(control_plane)
    define_elastic_quotas(control_plane)
    return muster_kubeconfig


class Schedulers:
    """Starts processes of `muster run`, each with one profile.

    Attributes:
        started: all processes.
    """

    def __init__(self, kubeconfig: Path, folder: Path, processes: ExitStack) -> None:
        self.started: list[MusterProcess] = []
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._processes = processes

    def start(self, name: str, profile: Mapping[str, Any]) -> MusterProcess:
        """A process with this profile under a schedulerName, when it schedules."""
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": name, **profile}],
        }
        path = self._folder / f"{name}-{len(self.started)}.yaml"
        path.write_text(yaml.safe_dump(config))
        options = Options(kubeconfig=self._kubeconfig, log=path.with_suffix(".log"), config=path)
        self.started.append(self._processes.enter_context(running(options)))
        return self.started[-1]


@pytest.fixture(scope="module")
def schedulers(served: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Schedulers]:
    """Starts processes, which end with the module; nothing goes wrong in them."""
    with ExitStack() as processes:
        schedulers = Schedulers(served, tmp_path_factory.mktemp("muster"), processes)
        yield schedulers
    assert [process.errors for process in schedulers.started] == [[]] * len(schedulers.started)


@pytest.fixture(scope="module")
def classes(api: Api) -> Iterator[Mapping[str, str]]:
    """Priority classes by the names that situations have for them."""
    with ExitStack() as made:
        names = {kind: f"{unique_name()}-{kind}" for kind in PRIORITIES}
        for kind, name in names.items():
            api.post(_CLASSES, {"metadata": {"name": name}, "value": PRIORITIES[kind]})
            made.callback(api.delete, f"{_CLASSES}/{name}")
        yield names


@pytest.fixture
def make_stage(control_plane: ControlPlane, api: Api, classes: Mapping[str, str]) -> Iterator[MakeStage]:
    """Call it with the schedulerName of the pods; all that is on the stage is removed after the test."""
    with ExitStack() as opened:

        def make(scheduler: str) -> PeerStage:
            def open_namespace() -> GangCluster:
                name = create_namespace(api)
                opened.callback(remove_namespace, api, name)
                return GangCluster(control_plane, api, name, scheduler)

            return PeerStage(open_namespace, classes)

        yield make
