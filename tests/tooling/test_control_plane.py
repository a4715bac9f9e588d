"""The control plane that tests stand on: it serves, keeps to RBAC, and leaves nothing behind."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import make_node, make_pod
from tests.controlplane.api import Api, ApiError
from tests.controlplane.binaries import KUBERNETES_VERSION
from tests.controlplane.plane import MUSTER, ControlPlane, KubectlError
from tests.controlplane.ports import free_port
from tests.controlplane.server import StartError

REPOSITORY = Path(__file__).parents[2]

# Starts a server that would run for hours, prints its process id and waits for its own end.
OWNER = """
import sys
from pathlib import Path
from tests.controlplane.guard import Guard
from tests.controlplane.server import Server

server = Server(["sleep", "10000"], log=Path(sys.argv[1]), guard=Guard())
print(server.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def own_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane whose rights no other test has changed."""
    plane = ControlPlane(
        tmp_path_factory.mktemp("own-plane"),
        feature_gates={"GenericWorkload": True},
        runtime_config={"scheduling.k8s.io/v1beta1": True},
    )
    with plane:
        yield plane


def test_the_api_server_of_the_session_is_ready_and_of_the_pinned_version(api: Api) -> None:
    assert api.get("/readyz") == "ok"
    assert api.get("/version")["gitVersion"] == f"v{KUBERNETES_VERSION}"


def test_a_user_has_no_rights_until_they_are_granted(own_plane: ControlPlane) -> None:
    with own_plane.api(MUSTER) as muster:
        with pytest.raises(ApiError, match='User "muster" cannot list resource "nodes"') as refusal:
            muster.get("/api/v1/nodes")
        assert refusal.value.code == 403

        own_plane.grant(MUSTER, "system:kube-scheduler")

        assert muster.get("/api/v1/nodes")["items"] == []
        with pytest.raises(ApiError, match='cannot create resource "nodes"'):
            muster.post("/api/v1/nodes", make_node("intruder"))


def test_rights_can_be_granted_twice(own_plane: ControlPlane) -> None:
    own_plane.grant(MUSTER, "system:volume-scheduler")
    own_plane.grant(MUSTER, "system:volume-scheduler")

    with own_plane.api(MUSTER) as muster:
        assert muster.get("/api/v1/persistentvolumes")["items"] == []


def test_feature_gates_and_api_versions_are_switched_on(own_plane: ControlPlane) -> None:
    with own_plane.api() as api:
        assert 'kubernetes_feature_enabled{name="GenericWorkload",stage="BETA"} 1' in api.get("/metrics")
        assert api.get("/apis/scheduling.k8s.io/v1beta1/podgroups")["items"] == []


def test_kubectl_reports_what_the_server_says(own_plane: ControlPlane) -> None:
    assert own_plane.kubectl("get", "--raw", "/readyz") == "ok"
    with pytest.raises(KubectlError, match='configmaps "none" not found'):
        own_plane.kubectl("get", "configmap", "none")


def test_the_real_scheduler_and_a_real_controller_run_on_it(own_plane: ControlPlane) -> None:
    own_plane.start_controller_manager("namespace-controller")
    with own_plane.start_scheduler({"profiles": [{"schedulerName": "reference"}]}) as scheduler, own_plane.api() as api:
        api.post("/api/v1/nodes", make_node("only"))
        api.post("/api/v1/namespaces", {"metadata": {"name": "short-lived"}})
        api.post("/api/v1/namespaces/default/pods", make_pod("first").scheduler("reference"))
        own_plane.kubectl("wait", "pod/first", "--for=condition=PodScheduled", "--timeout=60s")
        own_plane.kubectl("delete", "namespace", "short-lived", "--timeout=60s")

        assert api.get("/api/v1/namespaces/default/pods/first")["spec"]["nodeName"] == "only"
        assert "scheduler_schedule_attempts_total" in scheduler.get("/metrics")

    *others, server = own_plane.servers
    server.stop()
    assert own_plane.servers == tuple(others)


def test_a_stop_leaves_no_process_and_no_data(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path)
    plane.start()
    groups = [server.pid for server in plane.servers]
    assert len(groups) == 2
    with plane.api() as api:
        assert api.is_ready()

        plane.stop()

        assert not api.is_ready()
    for group in groups:
        with pytest.raises(ProcessLookupError):
            os.killpg(group, 0)
    assert plane.servers == ()
    assert not plane.files.etcd_data.exists()
    assert plane.files.log("kube-apiserver").stat().st_size > 0


def test_a_server_that_cannot_start_says_why_and_leaves_nothing_running(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path, api_server_arguments=["--no-such-flag"])

    with pytest.raises(StartError, match=r"kube-apiserver ended with exit code 1\n(?s:.*)unknown flag: --no-such-flag"):
        plane.start()

    assert plane.servers == ()


def test_a_free_port_is_not_given_twice_before_its_server_takes_it() -> None:
    ports = [free_port() for _ in range(500)]
    assert len({*ports}) == len(ports)


def test_a_server_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "sleep.log")]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        ended = os.pidfd_open(int(owner.stdout.readline()))
        owner.send_signal(signal.SIGKILL)

    poll = select.poll()
    poll.register(ended, select.POLLIN)
    assert poll.poll(30_000), "the server still runs"
    os.close(ended)
