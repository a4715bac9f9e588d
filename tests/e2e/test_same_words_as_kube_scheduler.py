"""Messages about a pod, word for word as kube-scheduler writes them.

The real kube-scheduler and Muster run side by side under one configuration, and each gets the same pods.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.builders import PodDict, make_node, make_pod, require
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import unique_name
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess, Options, running
from tests.namespaces import create_namespace, remove_namespace

# Muster does not preempt, so kube-scheduler is not to either.
PLUGINS = {"postFilter": {"disabled": [{"name": "*"}]}}
KUBE_SCHEDULER = "reference"

NODES = [
    make_node("small", cpu="1", memory="1Gi"),
    make_node("roomy", cpu="16", pods="200").zone("east").labels(disk="ssd"),
    make_node("ports", cpu="2").zone("west"),
    make_node("crowded", pods="1"),
    make_node("tainted").taint("dedicated", "gpu"),
    make_node("evicting").taint("maintenance", effect="NoExecute"),
    make_node("cordoned").unschedulable(),
    make_node("gpu", cpu="1").resources({"example.com/gpu": "1"}),
]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB, UNWANTED = {"app": "web"}, {"app": "unwanted"}
THERE = {
    "ports": make_pod("port-80").host_port(80).labels(WEB).apart(HOST, UNWANTED),
    "crowded": make_pod("only"),
}
"""Pods that others have bound, by node."""

LONG_NAMES = {f"example.com/a-device-with-quite-a-long-name-{number:02}": "1" for number in range(40)}

PODS: dict[str, PodDict] = {
    "that fits": make_pod("fits").requests(cpu="100m").node_selector({"disk": "ssd"}),
    "that asks for too much cpu": make_pod("cpu").requests(cpu="17"),
    "that asks for too much of everything": make_pod("everything").requests(cpu="17", memory="64Gi"),
    "that asks for what nobody offers": make_pod("device").limits({"example.com/fpga": "1"}),
    "that asks for more devices than there are": make_pod("devices").limits({"example.com/gpu": "2"}),
    "that asks for forty devices": make_pod("forty").limits(LONG_NAMES),
    "that selects a label nobody has": make_pod("selector").node_selector({"disk": "tape"}),
    "that requires a zone nobody is in": make_pod("zone").require_nodes(
        require("topology.kubernetes.io/zone", "In", "north")
    ),
    "that is for one zone and too large for it": make_pod("east")
    .requests(cpu="17")
    .require_nodes(require("topology.kubernetes.io/zone", "In", "east", "west")),
    "that wants a port which is taken": make_pod("port")
    .host_port(80)
    .node_selector({"kubernetes.io/hostname": "ports"}),
    "that tolerates one taint": make_pod("tolerant").requests(cpu="17").tolerate("dedicated", value="gpu"),
    "that tolerates everything": make_pod("fearless").requests(cpu="17").tolerate(),
    "that would be near a pod nobody runs": make_pod("near").near(ZONE, {"app": "nobody"}),
    "that keeps apart from a pod where it has to go": make_pod("apart").apart(HOST, WEB).node_selector({HOST: "ports"}),
    "that a running pod keeps off where it has to go": make_pod("off").labels(UNWANTED).node_selector({HOST: "ports"}),
    "that would lie unevenly": make_pod("uneven")
    .labels(WEB)
    .spread(ZONE, WEB, minDomains=5)
    .require_nodes(require(HOST, "In", "ports", "gpu")),
    "that has a gate": make_pod("gated").gate("example.com/quota"),
}


def configuration(name: str) -> dict[str, Any]:
    """The configuration of both, but for the name they answer to."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name, "plugins": PLUGINS}],
    }


@pytest.fixture(scope="module")
def namesake(tmp_path_factory: pytest.TempPathFactory, muster_kubeconfig: Path) -> Iterator[MusterProcess]:
    """Muster under the configuration."""
    folder = tmp_path_factory.mktemp("namesake")
    name = unique_name()
    config = folder / "config.yaml"
    config.write_text(json.dumps(configuration(name)))
    with running(Options(kubeconfig=muster_kubeconfig, log=folder / "muster.log", config=config)) as process:
        process.name = name
        yield process


@pytest.fixture(scope="module")
def reference(control_plane: ControlPlane) -> Iterator[Api]:
    """kube-scheduler under the configuration; a client for its pages."""
    with control_plane.start_scheduler(configuration(KUBE_SCHEDULER)) as pages:
        server = control_plane.servers[-1]
        yield pages
    server.stop()


@pytest.fixture(scope="module")
def decided(control_plane: ControlPlane, api: Api, namesake: MusterProcess, reference: Api) -> Iterator[Cluster]:
    """The cluster after both have decided on all pods."""
    cluster = Cluster(control_plane, api, create_namespace(api))
    pages = [lambda: reference.get("/metrics"), lambda: namesake.page("/metrics")[1]]
    try:
        for node in NODES:
            api.post("/api/v1/nodes", node)
        for node_name, pod in THERE.items():
            cluster.create(pod, scheduler="nobody")
            cluster.bind(pod.name, node_name)
        for page in pages:
            eventually(partial(knows, page, nodes=len(NODES), pods=len(THERE)))
        for pod in PODS.values():
            for scheduler in (KUBE_SCHEDULER, namesake.name):
                cluster.create(PodDict(pod | {"metadata": {"name": f"{pod.name}-{scheduler}"}}), scheduler=scheduler)
        yield cluster
    finally:
        for node in NODES:
            api.delete(f"/api/v1/nodes/{node.name}")
        remove_namespace(api, cluster.namespace)


def knows(page: Callable[[], str], **sizes: int) -> bool:
    """Whether a metrics page says that the cache holds this many objects."""
    text = page()
    return all(
        re.search(rf'^scheduler_cache_size{{type="{kind}"}} {count}(\.0)?$', text, re.MULTILINE)
        for kind, count in sizes.items()
    )


def neutral(text: str, *names: str) -> str:
    """The text without names, ids and times, and with single spaces."""
    for name in names:
        text = text.replace(name, "NAME")
    text = re.sub(r"\b\d+s( ago)?\b|\w{3}, \d\d \w{3} .*|<unknown>", "TIME", text)
    return re.sub(r"[ -]{2,}", "  ", text)


def events(cluster: Cluster, pod: str, scheduler: str) -> list[Any]:
    """Everything in the events about a pod but names, ids and times."""
    found = cluster.events(pod, "Scheduled") + cluster.events(pod, "FailedScheduling")
    for event in found:
        event["metadata"] = {key: value for key, value in event["metadata"].items() if key == "namespace"}
        event["regarding"] |= {"uid": "UID", "resourceVersion": "VERSION"}
        event["eventTime"] = "TIME"
    return [json.loads(neutral(json.dumps(event), pod, scheduler)) for event in found]


def conditions(cluster: Cluster, pod: str) -> list[Any]:
    """The pod's conditions but their times."""
    return [condition | {"lastTransitionTime": "TIME"} for condition in cluster.pod(pod)["status"]["conditions"]]


def settled(cluster: Cluster, pod: str) -> bool:
    """Whether all has been said about the pod: its condition and its event are written side by side."""
    condition = cluster.scheduled_condition(pod)
    if condition.get("reason") == "SchedulingGated":
        return True
    return bool(condition and (cluster.events(pod, "Scheduled") or cluster.events(pod, "FailedScheduling")))


def test_a_cluster_without_nodes_is_reported_in_the_same_way(
    cluster: Cluster, namesake: MusterProcess, reference: Api
) -> None:
    for scheduler in (KUBE_SCHEDULER, namesake.name):
        cluster.create(make_pod(f"homeless-{scheduler}"), scheduler=scheduler)

    ours, theirs = f"homeless-{namesake.name}", f"homeless-{KUBE_SCHEDULER}"
    for name in (theirs, ours):
        eventually(partial(settled, cluster, name))
    assert conditions(cluster, ours) == conditions(cluster, theirs)
    assert events(cluster, ours, namesake.name)[0] == events(cluster, theirs, KUBE_SCHEDULER)[0]


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS.keys())
def test_events_conditions_and_kubectl_describe_are_the_same_for_a_pod(
    pod: PodDict, decided: Cluster, namesake: MusterProcess
) -> None:
    theirs, ours = f"{pod.name}-{KUBE_SCHEDULER}", f"{pod.name}-{namesake.name}"
    for name in (theirs, ours):
        eventually(partial(settled, decided, name))

    assert conditions(decided, ours) == conditions(decided, theirs)
    assert events(decided, ours, namesake.name) == events(decided, theirs, KUBE_SCHEDULER)
    described = [
        neutral(decided.kubectl("describe", "pod", name), name, scheduler)
        for name, scheduler in ((ours, namesake.name), (theirs, KUBE_SCHEDULER))
    ]
    assert described[0] == described[1]
