"""The objects of other operators, applied with kubectl to a real API server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import make_node
from tests.coscheduling.conftest import AddNodes
from tests.coscheduling.ecosystems.manifests_reader import FOLDER, NAMES, manifests
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.muster_process import MusterProcess, Options, running


@pytest.fixture(scope="module", autouse=True)
def drop_in(served: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """A `muster run` that answers to its own name and to that of the scheduler it takes the place of."""
    log = tmp_path_factory.mktemp("muster") / "muster.log"
    names = ["muster", "scheduler-plugins-scheduler"]
    with running(Options(kubeconfig=served, log=log, names=names)) as process:
        yield process
    assert process.errors == []


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_is_applied_starts(
    name: str, make_gangs: Callable[[str], GangCluster], add_nodes: AddNodes
) -> None:
    add_nodes(*(make_node(f"gpu-{number}", cpu="8").resources({"nvidia.com/gpu": "1"}) for number in range(4)))
    gangs = make_gangs("muster")
    found = manifests(name)

    gangs.kubectl("apply", "-f", str(FOLDER / f"{name}.yaml"))

    if name == "training-operator":  # asks for more pods than the job has
        gangs.wait_until_said("mnist-master-0", "current pods number: 3, minMember of group: 4.")
        gangs.change_group(found.name, minMember=3)
    started = gangs.wait_until_started(found.name, len(found.pods))
    assert set(started) == {pod["metadata"]["name"] for pod in found.pods}
