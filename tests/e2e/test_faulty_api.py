"""An API server that refuses, breaks off or talks nonsense costs time, never a pod: all are bound once it is well."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import make_node, make_pod
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import StartMuster, unique_name
from tests.e2e.eventually import eventually
from tests.e2e.faulty_api import BrokenOff, Fault, FaultyApi, Garbage, Refusal, is_binding, is_discovery, is_list
from tests.e2e.muster_process import MusterProcess, Options, running

AddNodes = Callable[..., None]

FAULTS: dict[str, Fault] = {
    "401": Refusal(401, "Unauthorized"),
    "403": Refusal(403, "forbidden by the test"),
    "429": Refusal(429, "too many requests", {"Retry-After": "1"}),
    "500": Refusal(500, "internal trouble"),
    "503": Refusal(503, "not just now"),
    "garbage": Garbage(),
    "a connection that breaks": BrokenOff(),
}
BINDING_FAULTS = {name: fault for name, fault in FAULTS.items() if not isinstance(fault, Garbage)}
STARTING_FAULTS = {name: FAULTS[name] for name in ("401", "403", "500", "garbage")}
each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())


@pytest.fixture(scope="module")
def faulty_api(control_plane: ControlPlane, muster_kubeconfig: Path) -> Iterator[FaultyApi]:
    """The API server with its moods."""
    with FaultyApi(control_plane, MUSTER) as api:
        yield api


@pytest.fixture(scope="module")
def patient(faulty_api: FaultyApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """Muster at that API server."""
    folder = tmp_path_factory.mktemp("patient")
    kubeconfig = faulty_api.kubeconfig(folder / "kubeconfig")
    with running(Options(kubeconfig=kubeconfig, log=folder / "muster.log", names=[unique_name()])) as process:
        yield process
    assert "Traceback" not in process.log


@each_fault
def test_pods_created_while_nothing_works_are_bound_afterwards_in_spite_of(
    fault: Fault, faulty_api: FaultyApi, patient: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    with faulty_api.trouble(fault):
        faulty_api.cut_watches()
        eventually(lambda: faulty_api.met >= 2)
        cluster.create(make_pod("web"), scheduler=patient.name)

    assert cluster.wait_until_bound("web") == ["one"]


@pytest.mark.parametrize("fault", BINDING_FAULTS.values(), ids=BINDING_FAULTS.keys())
def test_a_binding_that_fails_is_tried_again_after(
    fault: Fault, faulty_api: FaultyApi, patient: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    with faulty_api.trouble(fault, on=is_binding):
        cluster.create(make_pod("web"), scheduler=patient.name)
        eventually(lambda: faulty_api.met)

    assert cluster.wait_until_bound("web") == ["one"]
    assert len(eventually(lambda: cluster.events("web", "Scheduled"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b"\xff\xfe\n",
        b'{"type": "ADDED"}\n',
        b'{"type": "BOOKMARK", "object": 7}\n',
        b"[" * 10_000 + b"\n",
    ],
    ids=["no JSON", "no text", "an event about nothing", "a bookmark of nothing", "a bottomless list"],
)
def test_a_line_that_no_api_server_would_write_in_a_watch_leads_to_a_new_list(
    line: bytes, faulty_api: FaultyApi, patient: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    eventually(lambda: faulty_api.watching >= 2)

    faulty_api.say_in_watches(line)
    cluster.create(make_pod("web"), scheduler=patient.name)

    assert cluster.wait_until_bound("web") == ["one"]


@pytest.mark.parametrize("fault", STARTING_FAULTS.values(), ids=STARTING_FAULTS.keys())
def test_readyz_says_what_is_missing_and_muster_begins_when_it_gets_it_after(
    fault: Fault,
    faulty_api: FaultyApi,
    start_muster: StartMuster,
    cluster: Cluster,
    add_nodes: AddNodes,
    tmp_path: Path,
) -> None:
    add_nodes(make_node("one"))
    kubeconfig = faulty_api.kubeconfig(tmp_path / "kubeconfig")
    with faulty_api.trouble(fault, on=is_list):
        muster = start_muster(kubeconfig=kubeconfig, ready=False)
        cluster.create(make_pod("web"), scheduler=muster.name)
        eventually(lambda: faulty_api.met >= 3)
        eventually(lambda: "pods (" in muster.page("/readyz")[1])
        status, text = muster.page("/readyz")

    assert status == 500
    assert "[-]sched-handler-sync failed: handlers are not fully synchronized: nodes (" in text
    assert muster.page("/livez") == (200, "ok")
    # Each of many kinds is listed again after a pause of its own, of half a minute at the most.
    assert eventually(lambda: cluster.node_of("web"), within=90) == "one"
    assert muster.page("/readyz") == (200, "ok")


@pytest.mark.parametrize(
    "fault",
    [Refusal(503), Garbage(), Garbage(b"<html>Back soon</html>", "text/html"), BrokenOff()],
    ids=["503", "garbage", "a page of HTML", "a connection that breaks"],
)
def test_muster_asks_again_what_the_server_serves_after(
    fault: Fault,
    faulty_api: FaultyApi,
    start_muster: StartMuster,
    cluster: Cluster,
    add_nodes: AddNodes,
    tmp_path: Path,
) -> None:
    add_nodes(make_node("one"))
    with faulty_api.trouble(fault, on=is_discovery):
        muster = start_muster(kubeconfig=faulty_api.kubeconfig(tmp_path / "kubeconfig"), ready=False)
        eventually(lambda: faulty_api.met >= 4)  # of two paths
    muster.wait_until_ready()
    cluster.create(make_pod("web"), scheduler=muster.name)

    assert cluster.wait_until_bound("web") == ["one"]


def test_a_server_without_discovery_ends_the_process_with_a_clear_last_line(
    faulty_api: FaultyApi, start_muster: StartMuster, tmp_path: Path
) -> None:
    with faulty_api.trouble(Refusal(404, "nothing here"), on=is_discovery):
        muster = start_muster(kubeconfig=faulty_api.kubeconfig(tmp_path / "kubeconfig"), ready=False)

        assert muster.wait() == 1

    assert re.search(r"the operator cannot go on: http://127\.0\.0\.1:\d+: nothing here$", muster.log)
