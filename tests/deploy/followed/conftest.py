"""A cluster for pages to be followed on: all of a control plane, four nodes, and kubelets that are played."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import make_node
from tests.controlplane.binaries import locate, locate_kubectl
from tests.controlplane.plane import ControlPlane
from tests.deploy.followed.kubelet import Kubelets
from tests.deploy.followed.page import Reader
from tests.deploy.helm import NAMESPACE, REPOSITORY, Helm
from tests.deploy.image import Image
from tests.e2e.eventually import eventually

NODES = ("node-1", "node-2", "node-3", "node-4")
_BIN = Path(sys.executable).parent
_CONTROLLERS = ("*", "-node-lifecycle-controller", "-taint-eviction-controller")


@pytest.fixture(scope="session")
def whole_cluster(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """kube-scheduler and the controllers run on it; the nodes have 4 cores and a GPU each."""
    with ControlPlane(tmp_path_factory.mktemp("whole")) as plane:
        plane.start_controller_manager(*_CONTROLLERS)
        plane.start_scheduler()
        with plane.api() as api:
            for name in NODES:
                api.post("/api/v1/nodes", make_node(name, cpu="4", memory="16Gi").resources({"nvidia.com/gpu": "1"}))
            eventually(lambda: api.get("/api/v1/namespaces/default/serviceaccounts/default"))
        with Kubelets(plane, lambda: image.muster, tmp_path_factory.mktemp("kubelets")):
            yield plane


@pytest.fixture(scope="session")
def whole_helm(whole_cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm on it."""
    return Helm(tmp_path_factory.mktemp("helm"), whole_cluster.kubeconfig())


@pytest.fixture
def reader(whole_cluster: ControlPlane, tmp_path: Path) -> Reader:
    """A reader in the repository's folder, with the programs that the pages name."""
    programs, desk = tmp_path / "bin", tmp_path / "desk"
    programs.mkdir()
    desk.mkdir()
    for name, path in {"kubectl": locate_kubectl(), "helm": locate("helm")}.items():
        (programs / name).symlink_to(path)
    for name in ("muster", "kubectl-muster"):
        (programs / name).symlink_to(_BIN / name)
    for name in ("charts", "deploy"):
        (desk / name).symlink_to(REPOSITORY / name)
    home = {"HOME": str(tmp_path), "KUBECONFIG": str(whole_cluster.kubeconfig())}
    return Reader(desk, {**home, "PATH": f"{programs}:{os.defpath}", "REPOSITORY": "muster", "TAG": "0.1.0"})


def clear(plane: ControlPlane) -> None:
    """Takes away what people made in their own namespace."""
    plane.kubectl("delete", "deployment,job,pod", "--all", "--now")
    plane.kubectl("delete", "podgroups.scheduling.x-k8s.io", "--all")


def uninstall(plane: ControlPlane, helm: Helm) -> None:
    """Takes the release away, and returns when its replicas have ended."""
    helm.uninstall()
    eventually(lambda: not plane.kubectl("-n", NAMESPACE, "get", "pods", "-o", "name"), within=90)
