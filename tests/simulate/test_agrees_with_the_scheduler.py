"""A simulation agrees with what the scheduler then does, pod by pod, to the same objects on a real API server."""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from muster.operator.cli import main
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess, Options
from tests.namespaces import create_namespace, remove_namespace
from tests.simulate.rehearsing import member, pod_group

FIRST_OF_EQUALS = "import random\nrandom.randrange = lambda equals: 0\n"
"""A process that schedules takes any of equally good nodes; with this in its sitecustomize it takes the first."""
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups"


@pytest.fixture
def start_muster(plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Call it to start the scheduler on the nodes that there are; it numbers them as a dump does, by name."""
    processes: list[MusterProcess] = []

    def start() -> None:
        (tmp_path / "sitecustomize.py").write_text(FIRST_OF_EQUALS)
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        kubeconfig, log = plane.kubeconfig(MUSTER), tmp_path / "muster.log"
        processes.append(MusterProcess(Options(kubeconfig=kubeconfig, log=log, environment=environment)))
        processes[-1].wait_until_ready()

    yield start
    for process in processes:
        process.stop()


@pytest.fixture
def cluster(plane: ControlPlane) -> Iterator[Cluster]:
    """An empty cluster."""
    with plane.api() as api:
        name = create_namespace(api)
        yield Cluster(plane, api, name)
        remove_namespace(api, name)
        api.delete("/api/v1/nodes")


class Plan:
    """A cluster and what is to be scheduled on it, drawn at random."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.nodes = [self._node(f"node-{number}") for number in range(6)]
        self.there = [(self._pod(f"there-{number}"), f"node-{number % 6}") for number in range(8)]
        gangs = [self._gang(f"gang-{number}") for number in range(3)]
        self.groups = [group for group, _ in gangs]
        self.pods = [pod for _, members in gangs for pod in (self._pod(f"before-{members[0].name}"), *members)]
        self.pods += [self._pod(f"after-{number}") for number in range(8)]
        self.pods.sort(key=lambda pod: pod.name)  # as a scheduler that starts finds them

    def _node(self, name: str) -> NodeDict:
        random = self._random
        node = make_node(name, cpu=str(random.randint(2, 6)), memory=f"{random.randint(4, 12)}Gi").zone(
            random.choice("ab")
        )
        return (
            node.taint("dedicated", effect=random.choice(["NoSchedule", "PreferNoSchedule"]))
            if random.random() < 0.3
            else node
        )

    def _pod(self, name: str) -> PodDict:
        random = self._random
        pod = make_pod(name).limits(
            cpu=random.choice(["100m", "500m", "1", "2"]), memory=random.choice(["256Mi", "1Gi"])
        )
        if random.random() < 0.3:
            pod.requests(cpu="50m")
        if random.random() < 0.3:
            pod.tolerate("dedicated")
        if random.random() < 0.3:
            pod.node_selector({"topology.kubernetes.io/zone": random.choice("abc")})
        if random.random() < 0.2:
            pod.host_port(8080)
        return pod

    def _gang(self, name: str) -> tuple[dict[str, Any], list[PodDict]]:
        size = self._random.randint(2, 6)
        cpu = self._random.choice(["500m", "1", "2"])
        return pod_group(name, size), [member(f"{name}-{number}", name).requests(cpu=cpu) for number in range(size)]


def simulate(folder: Path, dump: str, wanted: Sequence[Mapping[str, Any]]) -> Any:
    """The answer of `muster simulate`."""
    (folder / "dump.json").write_text(dump)
    (folder / "wanted.json").write_text(json.dumps({"kind": "List", "items": wanted}))
    arguments = ["-f", str(folder / "wanted.json"), "--from", str(folder / "dump.json"), "-o", "json"]
    return json.loads(CliRunner().invoke(main, ["simulate", *arguments]).stdout)


def create_groups(cluster: Cluster, groups: Sequence[Mapping[str, Any]]) -> None:
    for group in groups:
        metadata = {**group["metadata"], "namespace": cluster.namespace}
        cluster.api.post(GROUPS.format(cluster.namespace), {**group, "metadata": metadata})


def in_namespace(found: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """As in a manifest: without a UID."""
    return {**found, "metadata": {**found["metadata"], "namespace": namespace, "uid": ""}}


@pytest.mark.parametrize("seed", range(4))
def test_every_pod_goes_to_the_predicted_node_or_has_the_predicted_reason(
    seed: int, start_muster: Callable[[], None], cluster: Cluster, tmp_path: Path
) -> None:
    plan = Plan(seed)
    for node in plan.nodes:
        cluster.api.post("/api/v1/nodes", node)
    cluster.create(*(pod for pod, _ in plan.there), scheduler="nobody")
    for pod, its_node in plan.there:
        cluster.bind(pod.name, its_node)
    wanted = [in_namespace(found, cluster.namespace) for found in (*plan.groups, *plan.pods)]
    answer = simulate(tmp_path, cluster.kubectl("get", "nodes,pods,podgroups", "-A", "-o", "json"), wanted)
    said = {pod["pod"].partition("/")[2]: (pod["node"], numberless(pod["reason"])) for pod in answer["pods"]}

    create_groups(cluster, plan.groups)
    cluster.create(*plan.pods, scheduler="muster")
    start_muster()

    def done() -> dict[str, tuple[str, str]]:
        pods = cluster.api.get(f"/api/v1/namespaces/{cluster.namespace}/pods")["items"]
        return {pod["metadata"]["name"]: verdict(pod) for pod in pods if pod["metadata"]["name"] in said}

    assert any(node for node, _ in said.values())
    assert any(not node for node, _ in said.values())
    with contextlib.suppress(AssertionError):
        eventually(lambda: done() == said)
    assert done() == said


def verdict(pod: Mapping[str, Any]) -> tuple[str, str]:
    """The pod's node and why it has none; both empty while nothing is decided."""
    if node := pod["spec"].get("nodeName"):
        return node, ""
    conditions = pod["status"].get("conditions", ())
    return "", next((numberless(each.get("message", "")) for each in conditions if each["type"] == "PodScheduled"), "")


def numberless(reason: str) -> str:
    """The reason without its numbers: of a pod that has a reason, new ones are written much later."""
    return re.sub(r"\d+", "#", reason)


def test_with_as_many_nodes_more_as_it_said_a_gang_starts(
    start_muster: Callable[[], None], cluster: Cluster, tmp_path: Path
) -> None:
    cluster.api.post("/api/v1/nodes", make_node("one", cpu="3"))
    group, gang = pod_group("gang", 9), [member(f"m-{number}", "gang").requests(cpu="1") for number in range(9)]
    wanted = [in_namespace(found, cluster.namespace) for found in (group, *gang)]
    dump = cluster.kubectl("get", "nodes,pods,podgroups", "-A", "-o", "json")
    [addition] = simulate(tmp_path, dump, wanted)["missing"]["additions"]
    assert (addition["nodes"], addition["like"]) == (2, "one")

    start_muster()
    create_groups(cluster, [group])
    cluster.create(*gang, scheduler="muster")
    cluster.wait_until_unschedulable("m-0")
    cluster.api.post("/api/v1/nodes", make_node("two", cpu="3"))
    cluster.create(make_pod("after").node_selector({"kubernetes.io/hostname": "two"}), scheduler="muster")
    cluster.wait_until_bound("after")
    assert not any(cluster.node_of(pod.name) for pod in gang)
    cluster.api.post("/api/v1/nodes", make_node("three", cpu="3"))

    assert sorted(cluster.wait_until_bound(*(pod.name for pod in gang))) == [*["one"] * 3, *["three"] * 3, *["two"] * 3]
