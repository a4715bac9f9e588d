"""A small drain on the real API server, and what the commands make of their arguments."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from bench import scale
from bench.drain import main as drain
from bench.failures import StalledError
from bench.gangs import main as gangs
from bench.progress import Display
from bench.sides import CEILING, MUSTER, Side
from bench.trial import Backlog, measure
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.namespaces import remove_namespace

NODES = 3


@pytest.fixture
def plane(control_plane: ControlPlane, api: Api) -> Iterator[ControlPlane]:
    """The control plane of the session, which a benchmark leaves its objects on."""
    yield control_plane
    remove_namespace(api, scale.NAMESPACE)
    api.delete("/api/v1/nodes")


@pytest.mark.parametrize("side", [MUSTER, CEILING], ids=lambda side: side.name)
async def test_a_side_drains_a_backlog_and_is_measured(side: Side, plane: ControlPlane, display: Display) -> None:
    result = await measure(side, Backlog(list(scale.nodes(NODES)), list(scale.pods(20))), plane, display)
    assert (result.side, result.pods) == (side.name, 20)
    assert 0 < result.bound_seconds <= result.written_seconds
    assert result.cpu_seconds <= result.total_cpu_seconds
    assert result.peak_bytes > 10 << 20
    assert result.server_cpu_seconds.keys() == {"kube-apiserver", "etcd"}


async def test_a_side_that_ends_early_is_reported_with_its_log(plane: ControlPlane, display: Display) -> None:
    broken = Side("broken", lambda _: ["/bin/sh", "-c", "echo no more"])
    with pytest.raises(StalledError, match=r"broken bound 0 pods and wrote 0 Events(.|\n)*no more"):
        await measure(broken, Backlog(list(scale.nodes(NODES)), list(scale.pods(2))), plane, display)


def test_more_pods_than_fit_are_refused() -> None:
    for command, arguments in ((drain, ["--pods", "41"]), (gangs, ["--gangs", "3", "--size", "7"])):
        done = CliRunner().invoke(command, ["--nodes", "1", *arguments])
        assert done.exit_code == 2
        assert "1 nodes have no capacity for" in done.output


def test_a_side_that_does_not_exist_is_refused() -> None:
    done = CliRunner().invoke(drain, ["--order", "muster,mustard"])
    assert done.exit_code == 2
    assert "'mustard' is not one of kube-scheduler, muster, ceiling" in done.output
