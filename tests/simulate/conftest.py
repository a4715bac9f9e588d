"""An API server that knows PodGroups, for tests in which the scheduler does what was simulated."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.plane import ControlPlane
from tests.deployed import log_in_as_deployed
from tests.e2e.eventually import eventually

CRD = Path(__file__).parents[2] / "deploy/crds/scheduling.x-k8s.io_podgroups.yaml"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The API server; user `muster` may schedule on it."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        with plane.api() as api:
            api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(CRD.read_text()))
            eventually(lambda: "items" in api.get("/apis/scheduling.x-k8s.io/v1alpha1/podgroups"))
        log_in_as_deployed(plane)
        yield plane
