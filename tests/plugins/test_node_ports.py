"""NodePorts: host ports in use."""

import pytest

from muster.framework.contract import CycleState, Hint, Status
from muster.plugins.ports.node_ports import NodePorts
from tests.builders import PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info

TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


@pytest.fixture
def cluster() -> Cluster:
    """Nodes with port 80 in use: on every address, on one, over UDP, and not at all."""
    cluster = Cluster(make_node("any"), make_node("one"), make_node("udp"), make_node("free"))
    cluster.place("any", make_pod("a").host_port(80))
    cluster.place("one", make_pod("b").host_port(80, ip="10.0.0.1"))
    cluster.place("udp", make_pod("c").host_port(80, protocol="UDP"))
    return cluster


@pytest.mark.parametrize(
    ("pod", "taken"),
    [
        (make_pod("web").host_port(80), {"any", "one"}),
        (make_pod("web").host_port(80, ip="0.0.0.0"), {"any", "one"}),
        (make_pod("web").host_port(80, ip="10.0.0.1"), {"any", "one"}),
        (make_pod("web").host_port(80, ip="10.0.0.2"), {"any"}),
        (make_pod("web").host_port(80, protocol="UDP"), {"udp"}),
        (make_pod("web").host_port(81), set()),
        (make_pod("web").host_port(81).host_port(80, protocol="UDP"), {"udp"}),
    ],
)
def test_a_port_clashes_on_one_address_and_on_all(cluster: Cluster, pod: PodDict, taken: set[str]) -> None:
    assert cluster.rejected(cluster.plugin(NodePorts), pod) == dict.fromkeys(taken, TAKEN)


def test_a_port_is_free_again_when_its_pod_has_gone(cluster: Cluster) -> None:
    cluster.snapshot.remove_pod(info(make_pod("a").host_port(80)), "any")
    assert cluster.rejected(cluster.plugin(NodePorts), make_pod("web").host_port(80)).keys() == {"one"}


def test_a_port_of_a_sidecar_counts_and_one_of_an_init_container_does_not() -> None:
    cluster = Cluster(make_node("sidecar"), make_node("init"))
    for node, sidecar in (("sidecar", True), ("init", False)):
        pod = make_pod(node).init_container("proxy", sidecar=sidecar)
        pod["spec"]["initContainers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        cluster.place(node, pod)
    assert cluster.rejected(cluster.plugin(NodePorts), make_pod("web").host_port(80)).keys() == {"sidecar"}


def test_the_filter_is_left_out_for_a_pod_without_host_ports(cluster: Cluster) -> None:
    plugin = cluster.plugin(NodePorts)
    assert plugin.pre_filter(CycleState(), info(make_pod("web")), cluster.view()) == Status.skip()
    assert plugin.pre_filter(CycleState(), info(make_pod("web").host_port(80)), cluster.view()) is None


@pytest.mark.parametrize(
    ("gone", "hint"),
    [
        (make_pod("a").host_port(80), Hint.QUEUE),
        (make_pod("a").host_port(80, ip="10.0.0.9"), Hint.QUEUE),
        (make_pod("a").host_port(80, protocol="UDP"), Hint.SKIP),
        (make_pod("a").host_port(81), Hint.SKIP),
        (make_pod("a"), Hint.SKIP),
    ],
)
def test_only_a_pod_that_gives_back_a_wanted_port_helps(gone: PodDict, hint: Hint) -> None:
    about_pods, about_nodes = Cluster().plugin(NodePorts).events_to_register()
    assert about_pods.hint is not None
    assert about_pods.hint(info(make_pod("web").host_port(80)), info(gone.node("n")), None) is hint
    assert about_nodes.hint is None


def test_two_single_addresses_do_not_clash() -> None:
    about_pods, _ = Cluster().plugin(NodePorts).events_to_register()
    assert about_pods.hint is not None
    waiting, gone = make_pod("web").host_port(80, ip="10.0.0.1"), make_pod("a").host_port(80, ip="10.0.0.2")
    assert about_pods.hint(info(waiting), info(gone), None) is Hint.SKIP
