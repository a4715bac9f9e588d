"""Which pods preemption evicts, as the real API server shows it: victims in every state of their lives."""

from collections.abc import Callable

from tests.builders import make_node
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.objects import make_group, make_member
from tests.deployed import define_pod_groups
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import StartMuster, WriteConfig, sized, unique_name
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess
from tests.played_storage import PlayedStorage
from tests.storage import make_claim

AddNodes = Callable[..., None]
Classes = dict[str, str]
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups"


def going(cluster: Cluster, *names: str) -> list[str]:
    """The names of pods that are being deleted."""
    return [name for name in names if "deletionTimestamp" in cluster.pod(name)["metadata"]]


def test_the_least_important_pods_go_and_no_more_than_it_takes(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, priority_classes: Classes
) -> None:
    add_nodes(make_node("one"), make_node("tainted").taint("dedicated"))
    names = ("dear", "cheap-1", "cheap-2")
    cluster.create(sized("dear", "2").priority_class(priority_classes["low"]), scheduler=muster.name)
    cluster.create(sized("cheap-1", "1"), sized("cheap-2", "1"), scheduler=muster.name)
    cluster.wait_until_bound(*names)
    attempts = muster.metric("scheduler_preemption_attempts_total")

    cluster.create(sized("web", "2").priority_class(priority_classes["high"]), scheduler=muster.name)

    assert cluster.wait_until_unschedulable("web") == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
        "preemption: found a potential placement for pod on node one, preempting 2 victims"
    )
    eventually(lambda: going(cluster, *names) == ["cheap-1", "cheap-2"])
    assert muster.metric("scheduler_preemption_attempts_total") == attempts + 1
    cluster.delete("cheap-1")
    cluster.delete("cheap-2")
    assert cluster.wait_until_bound("web") == ["one"]
    assert going(cluster, "dear") == []


def test_capacity_nominated_by_another_scheduler_is_kept_for_its_pod(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, priority_classes: Classes
) -> None:
    add_nodes(make_node("one"))
    cluster.create(sized("theirs", "3").priority_class(priority_classes["high"]), scheduler="somebody-else")
    status = {"status": {"nominatedNodeName": "one"}}
    cluster.api.patch(f"/api/v1/namespaces/{cluster.namespace}/pods/theirs/status", status)
    eventually(lambda: cluster.pod("theirs")["status"].get("nominatedNodeName"))

    cluster.create(sized("lower", "2"), scheduler=muster.name)
    assert cluster.wait_until_turned_away("lower") == "0/1 nodes are available: 1 Insufficient cpu."
    cluster.create(sized("small", "1"), scheduler=muster.name)
    assert cluster.wait_until_bound("small") == ["one"]

    cluster.delete("theirs")
    assert cluster.wait_until_bound("lower") == ["one"]


def test_a_victim_that_waits_for_its_volume_is_rejected_not_deleted(
    start_muster: StartMuster,
    cluster: Cluster,
    add_nodes: AddNodes,
    storage: PlayedStorage,
    priority_classes: Classes,
) -> None:
    muster = start_muster()
    add_nodes(make_node("one"))
    storage.create(make_claim("data", storage_class="made"))
    cluster.create(sized("slow", "3").claim("data"), scheduler=muster.name)
    eventually(lambda: cluster.pod("slow")["status"].get("nominatedNodeName") == "one")

    cluster.create(sized("web", "3").priority_class(priority_classes["high"]), scheduler=muster.name)

    assert cluster.wait_until_bound("web") == ["one"]
    [preempted] = eventually(lambda: cluster.events("slow", "Preempted"))
    uid = cluster.pod("web")["metadata"]["uid"]
    assert preempted["note"] == f"Preempted by pod {uid} on node one (in kube-scheduler memory)."
    assert going(cluster, "slow") == []
    assert cluster.node_of("slow") == ""


def test_a_pod_that_permit_holds_is_turned_away_and_not_deleted(
    start_muster: StartMuster,
    write_config: WriteConfig,
    control_plane: ControlPlane,
    cluster: Cluster,
    add_nodes: AddNodes,
    priority_classes: Classes,
) -> None:
    define_pod_groups(control_plane)
    name = unique_name()
    plugins = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]},
    }
    args = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "CoschedulingArgs", "placement": "PodByPod"}
    profile = {
        "schedulerName": name,
        "plugins": plugins,
        "pluginConfig": [{"name": "Coscheduling", "args": args | {"podGroupRejectPercentage": 100}}],
    }
    start_muster(name, config=write_config(name=name, profiles=[profile]))
    add_nodes(make_node("one"))
    cluster.api.post(GROUPS.format(cluster.namespace), make_group("pair", 2, namespace=cluster.namespace))
    cluster.create(*(make_member(f"pair-{n}", "pair", cpu="3") for n in range(2)), scheduler=name)
    cluster.wait_until_unschedulable("pair-1")

    cluster.create(sized("web", "3").priority_class(priority_classes["high"]), scheduler=name)

    assert cluster.wait_until_bound("web") == ["one"]
    held = eventually(lambda: cluster.events("pair-0", "Preempted") + cluster.events("pair-1", "Preempted"))
    assert held[0]["note"].endswith(" on node one (in kube-scheduler memory).")
    assert going(cluster, "pair-0", "pair-1") == []
