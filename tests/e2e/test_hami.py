"""HAMi's extender over HTTP and a real API server: the page's configuration, pod and gang, with Muster as a process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.applied import on_the_page
from tests.builders import make_node
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import unique_name
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import Options, running
from tests.e2e.served_hami import ServedHami, served_hami
from tests.hami.names import LOCK, NODE, PHASE, Card, annotations, shares_of
from tests.hami.world import gpu_node

PAGE = "gpus.md"
TRIO = ("trio-0", "trio-1", "trio-2")
CARDS = {"node-a": "GPU-a", "node-b": "GPU-b"}
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups"


@pytest.fixture
def hami(control_plane: ControlPlane, add_nodes: Callable[..., None], namespace: str) -> Iterator[ServedHami]:
    """HAMi with two nodes that have a GPU each, and one that has none, where PodGroups are served.

    It ends before the `namespace`, so that its device plugins never write to pods that are gone.
    """
    define_pod_groups(control_plane)
    add_nodes(*(gpu_node(node, Card(card)) for node, card in CARDS.items()), make_node("node-c"))
    with served_hami(control_plane) as served:
        yield served


@pytest.fixture
def scheduler(hami: ServedHami, admin_kubeconfig: Path, tmp_path: Path) -> Iterator[str]:
    """The name of a Muster with the page's configuration, but for the address."""
    [configuration] = on_the_page(PAGE, "kind: KubeSchedulerConfiguration")
    [extender] = configuration["extenders"]
    for field in ("enableHTTPS", "tlsConfig"):
        del extender[field]
    extender["urlPrefix"] = hami.url
    name = configuration["profiles"][0]["schedulerName"] = unique_name()
    configuration["leaderElection"] = {"leaderElect": False}
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(configuration))
    with running(Options(kubeconfig=admin_kubeconfig, log=tmp_path / "muster.log", config=config)):
        yield name


def create(cluster: Cluster, scheduler: str, *pods: dict[str, Any]) -> None:
    """Create the page's pods for this scheduler, in the test's namespace."""
    for pod in pods:
        pod["spec"]["schedulerName"] = scheduler
        meta = pod["metadata"] | {"namespace": cluster.namespace}
        cluster.api.post(f"/api/v1/namespaces/{cluster.namespace}/pods", pod | {"metadata": meta})


def allocated(cluster: Cluster, name: str) -> dict[str, Any]:
    """The pod, once its device plugin has allocated its share."""

    def found() -> dict[str, Any] | None:
        pod: dict[str, Any] = cluster.pod(name)
        return pod if annotations(pod).get(PHASE) == "success" else None

    return eventually(found) or {}


def test_a_pod_and_a_gang_get_shares_and_start_on_the_nodes_that_hami_chose(
    hami: ServedHami, scheduler: str, cluster: Cluster, api: Api
) -> None:
    [pod] = on_the_page(PAGE, "name: sharing")
    create(cluster, scheduler, pod)
    cluster.wait_until_bound("sharing")
    group, *pods = on_the_page(PAGE, "name: trio")
    api.post(GROUPS.format(cluster.namespace), group)
    create(cluster, scheduler, *pods)
    cluster.wait_until_bound(*TRIO)

    used = dict.fromkeys(CARDS.values(), 0)
    for name in ("sharing", *TRIO):
        found = allocated(cluster, name)
        [share] = shares_of(found)
        assert found["spec"]["nodeName"] == annotations(found)[NODE]
        assert share.uuid == CARDS[found["spec"]["nodeName"]]
        used[share.uuid] += share.memory
    assert sorted(used.values()) == [11000, 14000]
    assert not any(LOCK in annotations(api.get(f"/api/v1/nodes/{node}")) for node in CARDS)
    assert {verb for verb, _ in hami.asked} == {"filter", "bind"}


def test_a_gang_for_which_hami_has_too_few_shares_waits_whole_and_asks_hami_no_more_than_it_has_to(
    hami: ServedHami, scheduler: str, cluster: Cluster, api: Api
) -> None:
    [held] = on_the_page(PAGE, "name: sharing")
    held["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpumem"] = "16000"
    create(cluster, scheduler, held)
    allocated(cluster, "sharing")
    group, *pods = on_the_page(PAGE, "name: trio")
    api.post(GROUPS.format(cluster.namespace), group)
    create(cluster, scheduler, *pods)
    assert "CardInsufficientMemory" in cluster.wait_until_turned_away("trio-2")
    assert [cluster.node_of(name) for name in TRIO] == ["", "", ""]
    asked = len(hami.asked)

    cluster.delete("sharing")
    cluster.wait_until_bound(*TRIO)
    assert asked <= 2 + 2 * len(TRIO)
