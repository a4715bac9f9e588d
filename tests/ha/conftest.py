"""Fixtures: an API server with an audit log and PodGroups, replicas on it, and the pods they are to schedule.

The fixtures named as in the folder above stand for this folder's own API server.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import make_node
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.ha import audit
from tests.ha.pods import PodWatch
from tests.ha.replica import Replica, Terms, create_account, create_role, log_in
from tests.ha.wall import Wall

StartReplica = Callable[..., Replica]


def start_pair(start_replica: StartReplica, terms: Terms, *, server: str = "") -> tuple[Replica, Replica]:
    """A leader, which reaches the API by `server` if that is given, and a standby; both know what there is."""
    leader = start_replica(terms, server=server)
    eventually(lambda: leader.leads)
    standby = start_replica(terms)
    standby.wait_until_ready()
    return leader, standby


@pytest.fixture(scope="package")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the API server writes what it was asked."""
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory, audit_log: Path) -> Iterator[ControlPlane]:
    """An API server of these tests' own, which knows PodGroups."""
    arguments = audit.arguments(audit_log.parent, audit_log)
    with ControlPlane(tmp_path_factory.mktemp("ha"), api_server_arguments=arguments) as plane:
        define_pod_groups(plane)
        with plane.api() as api:
            create_role(api)
        yield plane


@pytest.fixture(scope="package")
def api(control_plane: ControlPlane) -> Iterator[Api]:
    """A client with the administrator's rights."""
    with control_plane.api() as client:
        yield client


@pytest.fixture
def nodes(add_nodes: Callable[..., None]) -> None:
    """25 nodes that 1,000 pods of 100m CPU fill to the last one."""
    add_nodes(*(make_node(f"node-{number}") for number in range(25)))


@pytest.fixture
def cluster(control_plane: ControlPlane, api: Api, namespace: str) -> Cluster:
    """The test's own namespace with its pods."""
    return Cluster(control_plane, api, namespace)


@pytest.fixture
def watch(control_plane: ControlPlane, namespace: str) -> Iterator[PodWatch]:
    """What becomes of the pods of this test."""
    watch = PodWatch(control_plane, namespace)
    yield watch
    watch.close()


@pytest.fixture
def start_replica(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[StartReplica]:
    """Call it with `Terms` to start another replica for this test; `server` where it is not reached directly.

    Whatever still runs afterwards is killed.
    """
    replicas: list[Replica] = []
    names = (f"replica-{letter}" for letter in "abcdef")

    def start(terms: Terms, *, server: str = "") -> Replica:
        user = create_account(control_plane, namespace, next(names))
        kubeconfig = tmp_path / f"{user.rpartition(':')[2]}.kubeconfig"
        log_in(control_plane, user, kubeconfig, server=server)
        replicas.append(Replica(terms, user, kubeconfig=kubeconfig, folder=tmp_path))
        return replicas[-1]

    yield start
    for replica in replicas:
        replica.kill()


@pytest.fixture
def wall(control_plane: ControlPlane) -> Iterator[Wall]:
    """A way to the API server that can be closed."""
    wall = Wall(control_plane.url)
    yield wall
    wall.close()
