"""Sixty gangs on a cluster with capacity for sixty per cent of them, while pods and nodes go: none starts in part.

`tests.coscheduling.chaos` has two hundred of them, in virtual time.
"""

import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.controlplane.api import Api
from tests.coscheduling.chaos.watch import GangWatch, Object, group_of, overcommitted, startable
from tests.coscheduling.conftest import AddNodes, unique_name
from tests.coscheduling.real.gangs import API, GangCluster
from tests.coscheduling.real.pod_watch import PodWatch
from tests.coscheduling.real.storm import GANGS, Storm
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess, Options, running

BIND_ROUND = 256
"""Bindings. 64 are under way at a time, those of a gang begin together, and deletions shift them a little."""

LOOK_EVERY = 250


@pytest.fixture(scope="module")
def muster(served: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """One `muster run` that logs no error."""
    log = tmp_path_factory.mktemp("muster") / "muster.log"
    with running(Options(kubeconfig=served, log=log, names=[unique_name()])) as process:
        yield process
    assert process.errors == []


def objects(api: Api, namespace: str) -> tuple[dict[str, Object], dict[str, Object], dict[str, Object]]:
    """Nodes by name, then pods and PodGroups by namespace and name."""

    def listed(path: str, prefix: str = "") -> dict[str, Object]:
        return {prefix + item["metadata"]["name"]: item for item in api.get(path)["items"]}

    return (
        listed("/api/v1/nodes"),
        listed(f"/api/v1/namespaces/{namespace}/pods", f"{namespace}/"),
        listed(f"{API}/namespaces/{namespace}/podgroups", f"{namespace}/"),
    )


def test_no_gang_of_sixty_is_ever_started_in_part(
    gangs: GangCluster, api: Api, add_nodes: AddNodes, muster: MusterProcess
) -> None:
    gang_watch = GangWatch(BIND_ROUND)
    watch = PodWatch(api, gangs.namespace, gang_watch)
    storm = Storm(gangs, Random(1942))
    for name, needed in storm.needed.items():
        gang_watch.group_changed(f"{gangs.namespace}/{name}", needed, float("-inf"))
    add_nodes(*storm.nodes)

    for number, happen in enumerate(storm.happenings()):
        happen()
        if number % LOOK_EVERY == 0:
            watch.read()

    def settled() -> bool:
        watch.read()
        return startable(*objects(api, gangs.namespace)) == []

    eventually(settled, within=120)
    nodes, pods, _ = objects(api, gangs.namespace)
    assert gang_watch.faults == []
    assert overcommitted(nodes, pods) == []
    started = {group_of(pod) for pod in pods.values() if "nodeName" in pod["spec"]}
    assert GANGS * 0.3 < len(started) < GANGS
    eventually(lambda: muster.metric('scheduler_cache_size{type="assumed_pods"}') == 0)
    muster.signal(signal.SIGUSR2)
    eventually(lambda: "the cache equals a recount" in muster.log)
