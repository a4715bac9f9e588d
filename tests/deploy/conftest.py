"""Fixtures for the tests of what is deployed: Helm, and a control plane that writes down what the scheduler asks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deploy.audit import Audit
from tests.deploy.helm import Helm
from tests.deploy.image import Image


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm without a cluster."""
    return Helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """The audit log of `cluster`."""
    return Audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="session")
def cluster(audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane for releases: they own what is cluster-wide, so no other test may use it."""
    with ControlPlane(tmp_path_factory.mktemp("cluster"), api_server_arguments=audit.api_server_arguments) as plane:
        yield plane


@pytest.fixture(scope="session")
def admin(cluster: ControlPlane) -> Iterator[Api]:
    """A client of `cluster` that may do everything."""
    with cluster.api() as client:
        yield client


@pytest.fixture(scope="session")
def cluster_helm(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm on `cluster`."""
    return Helm(tmp_path_factory.mktemp("helm"), cluster.kubeconfig())


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Muster installed as in the image."""
    return Image(Path(tmp_path_factory.mktemp("image")))
