"""A cluster that knows no PodGroups (yet): all but their pods are scheduled, and they are once it does."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import make_node, make_pod
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.conftest import AddNodes, unique_name
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.gangs import API, GangCluster
from tests.deployed import define_pod_groups
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess, Options, running


@pytest.fixture
def undefined(control_plane: ControlPlane, muster_kubeconfig: Path) -> Iterator[Path]:
    """The kubeconfig of a muster on a server without PodGroups; they are defined again afterwards."""
    control_plane.kubectl("delete", "crd", "podgroups.scheduling.x-k8s.io", "--ignore-not-found", "--wait")
    with control_plane.api() as api:
        eventually(lambda: API.rpartition("/")[0] not in str(api.get("/apis")))
    yield muster_kubeconfig
    define_pod_groups(control_plane)


@pytest.fixture
def process(undefined: Path, tmp_path: Path) -> Iterator[MusterProcess]:
    options = Options(kubeconfig=undefined, log=tmp_path / "muster.log", names=[unique_name()])
    with running(options, ready=False) as process:
        yield process


def test_a_missing_definition_is_logged_once_others_are_scheduled_and_gangs_are_when_it_comes(
    process: MusterProcess,
    control_plane: ControlPlane,
    make_gangs: Callable[[str], GangCluster],
    add_nodes: AddNodes,
) -> None:
    process.wait_until_ready()
    eventually(lambda: "podgroups" in process.log)
    status, text = process.page("/readyz?verbose")
    assert (status, "[+]sched-handler-sync ok" in text) == (200, True)
    gangs = make_gangs(process.name)
    add_nodes(make_node("one", cpu="8"))
    gangs.add(make_pod("web"), *make_members("train", 3))
    gangs.wait_until_bound("web")
    for number in range(3):
        eventually(lambda number=number: gangs.said(f"train-{number}"))  # type: ignore[misc]
        assert gangs.said(f"train-{number}") == ['waiting for pods\'s pod group "train" to appear in scheduling queue']

    define_pod_groups(control_plane)
    gangs.add_group("train", 3)
    gangs.wait_until_started("train", 3, within=90)
    reported = re.findall(r"podgroups.*does not serve this kind", process.log)
    assert 1 <= len(reported) <= 4
