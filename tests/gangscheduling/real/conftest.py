"""Fixtures of these tests: a control plane that serves scheduling.k8s.io, and `muster run` with its deployed rights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import log_in_as_deployed
from tests.e2e.muster_process import MusterProcess, Options, running
from tests.gangscheduling.real.native import NativeCluster
from tests.namespaces import create_namespace, remove_namespace

GATES = {
    "GenericWorkload": True,
    "WorkloadWithJob": True,
    "TopologyAwareWorkloadScheduling": True,
    "CompositePodGroup": True,
    "PodGroupPreemptionPolicy": True,
    "DRAWorkloadResourceClaims": True,
}


@pytest.fixture(scope="session")
def gated_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with the gates on, and the controllers of Jobs and of claims for devices."""
    folder = tmp_path_factory.mktemp("gated")
    with ControlPlane(folder, feature_gates=GATES, runtime_config={"api/all": True}) as plane:
        plane.start_controller_manager("job-controller", "podgroup-protection-controller", "resourceclaim-controller")
        yield plane


@pytest.fixture(scope="session")
def gated_api(gated_plane: ControlPlane) -> Iterator[Api]:
    """A client with the administrator's rights."""
    with gated_plane.api() as client:
        yield client


@pytest.fixture(scope="session")
def deployed(gated_plane: ControlPlane) -> Path:
    """The kubeconfig of the deployed ServiceAccount."""
    return log_in_as_deployed(gated_plane)


@pytest.fixture(scope="session")
def muster(deployed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """One `muster run` for all tests; nothing goes wrong in it."""
    log = tmp_path_factory.mktemp("muster") / "muster.log"
    with running(Options(kubeconfig=deployed, log=log, names=["native"])) as process:
        yield process
    assert process.errors == []


@pytest.fixture
def native(gated_plane: ControlPlane, gated_api: Api, muster: MusterProcess) -> Iterator[NativeCluster]:
    """The test's own namespace, and nodes of its own."""
    name = create_namespace(gated_api)
    cluster = NativeCluster(gated_plane, gated_api, name, muster.name)
    yield cluster
    cluster.remove_nodes()
    remove_namespace(gated_api, name)
