"""An API server that knows PodGroups, for tests in which the scheduler does what was simulated."""

from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups, log_in_as_deployed


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The API server; user `muster` may schedule on it."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        define_pod_groups(plane)
        log_in_as_deployed(plane)
        yield plane
