"""A gang among a stream of small pods on a real API server: kube-scheduler starves it, Muster reserves capacity for it.

Pods that run are ended one after another, and for each a new one comes, as from a queue of small jobs. The gang needs
both nodes whole, and never finds more than one place free.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.testing import configuration_of
from tests.builders import make_pod
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import Options, running
from tests.gangscheduling.real.native import NativeCluster
from tests.gangscheduling.world import make_members
from tests.namespaces import create_namespace, remove_namespace

OURS, THEIRS = "patient", "default-scheduler"
PLACES = 4
MANY_ROUNDS = 6 * PLACES


class Stream:
    """Two nodes with two places each, all taken by small pods, and a gang that needs them whole."""

    def __init__(self, cluster: NativeCluster) -> None:
        self._cluster = cluster
        self._made = 0
        self._running: list[str] = []
        cluster.add_nodes("one", "two", cpu="2")
        for _ in range(PLACES):
            self.run(self._comes())
        cluster.add_group("gang", 2)
        cluster.add(*make_members("gang", 2, cpu="2"))
        cluster.wait_until_said("gang", "False", "Unschedulable")

    def goes_on(self) -> str:
        """The pod that has run longest ends, and another comes."""
        self._cluster.delete(self._running.pop(0))
        return self._comes()

    def run(self, pod: str) -> None:
        """Wait until this one has got a node."""
        self._cluster.wait_until_bound(pod)
        self._running.append(pod)

    @property
    def gang_runs(self) -> bool:
        """Whether the gang has started."""
        return len(self._cluster.nodes("gang")) == 2

    def _comes(self) -> str:
        self._made += 1
        name = f"small-{self._made}"
        self._cluster.add(make_pod(name).requests(cpu="1"))
        return name


@pytest.fixture
def namespace(gated_api: Api) -> Iterator[str]:
    """The test's own."""
    name = create_namespace(gated_api)
    yield name
    remove_namespace(gated_api, name)


def test_kube_scheduler_lets_a_stream_of_small_pods_starve_a_gang(
    gated_plane: ControlPlane, gated_api: Api, namespace: str
) -> None:
    gated_plane.start_scheduler({"podMaxBackoffSeconds": 1})
    cluster = NativeCluster(gated_plane, gated_api, namespace, THEIRS)
    try:
        stream = Stream(cluster)
        for _ in range(MANY_ROUNDS):
            stream.run(stream.goes_on())
        assert not stream.gang_runs
    finally:
        cluster.remove_nodes()


def test_muster_reserves_capacity_for_the_gang_which_starts_when_the_running_pods_have_ended(
    gated_plane: ControlPlane, gated_api: Api, deployed: Path, namespace: str, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_bytes(configuration_of(["Coscheduling"], names=[OURS], args={"Reservation": {"afterSeconds": 1}}))
    options = Options(kubeconfig=deployed, log=tmp_path / "muster.log", config=config)
    cluster = NativeCluster(gated_plane, gated_api, namespace, OURS)
    try:
        with running(options):
            stream = Stream(cluster)
            [event] = eventually(lambda: cluster.events("gang-0", "CapacityReserved"))
            assert event["note"] == "Capacity for 2 pods is reserved on 2 nodes, as it comes free there."
            for _ in range(PLACES - 1):
                assert "had their capacity reserved" in cluster.wait_until_unschedulable(stream.goes_on())
            stream.goes_on()  # with the last place the gang may start before this one is decided
            eventually(lambda: stream.gang_runs)
            reported = cluster.wait_until_said("gang", "True", "Scheduled")
            assert reported["message"] == ""
    finally:
        cluster.remove_nodes()
