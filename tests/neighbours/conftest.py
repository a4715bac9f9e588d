"""Fixtures of the tests with neighbours: a control plane with controllers, `muster run`, and a namespace per test."""

from collections.abc import Iterator

import pytest

from muster.testing import configuration_of
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.controlplane.server import READY_WITHIN_SECONDS
from tests.deployed import define_elastic_quotas, define_pod_groups, grant_as_charted
from tests.e2e.muster_process import MusterProcess, Options, running
from tests.namespaces import create_namespace
from tests.neighbours.cluster import NeighbourCluster

CONTROLLERS = ("job-controller", "statefulset-controller", "garbage-collector-controller")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with the controllers that the neighbours leave their work to."""
    with ControlPlane(tmp_path_factory.mktemp("neighbours")) as plane:
        define_pod_groups(plane)
        define_elastic_quotas(plane)
        plane.start_controller_manager(*CONTROLLERS)
        yield plane


@pytest.fixture(scope="module")
def muster(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """One `muster run` with the rights of the chart, which answers to `muster`; nothing goes wrong in it."""
    folder = tmp_path_factory.mktemp("muster")
    values = {"podGroups": {"auto": "Labelled"}, "plugins": {"enabled": ["Coscheduling", "PreemptionTiming"]}}
    kubeconfig = grant_as_charted(plane, folder, values)
    config = folder / "config.yaml"
    config.write_bytes(configuration_of(["Coscheduling", "AutoPodGroups", "PreemptionTiming"]))
    options = Options(kubeconfig=kubeconfig, log=folder / "muster.log", config=config)
    with running(options, ready=False) as process:
        process.wait_until_ready(within=READY_WITHIN_SECONDS)
        yield process
    assert process.errors == []


@pytest.fixture(scope="module")
def api(plane: ControlPlane) -> Iterator[Api]:
    """A client that may do everything."""
    with plane.api() as client:
        yield client


@pytest.fixture
def cluster(plane: ControlPlane, api: Api, muster: MusterProcess) -> Iterator[NeighbourCluster]:
    """A namespace of this test alone, and nodes that go with it."""
    cluster = NeighbourCluster(plane, api, create_namespace(api), "muster")
    yield cluster
    cluster.remove_nodes()
