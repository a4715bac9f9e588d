"""A workload with operations of every kind that needs no devices, played on the real API server."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bench.failures import StalledError
from bench.progress import Display
from bench.scheduler_perf.configuration import Workload
from bench.scheduler_perf.trial import measure, sides
from bench.sides import Side
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.namespaces import remove_namespace

NODE = """
apiVersion: v1
kind: Node
metadata: {name: "named-{{.Index}}", labels: {kind: "{{.kind}}"}}
spec: {unschedulable: true}
status:
  capacity: {pods: "110", cpu: "4", memory: 32Gi}
  conditions: [{type: Ready, status: "True"}]
"""
UNBLOCKED = NODE.replace("spec: {unschedulable: true}\n", "").replace("{{.kind}}", "waited-for")
POD = """
apiVersion: v1
kind: Pod
metadata: {generateName: waiting-, labels: {type: waiting}}
spec:
  nodeSelector: {kind: waited-for}
  terminationGracePeriodSeconds: 0
  containers: [{name: pause, image: pause}]
"""
CHURNED = "apiVersion: v1\nkind: Service\nmetadata: {generateName: churned-}\nspec: {ports: [{port: 80}]}\n"
OPERATIONS: list[dict[str, Any]] = [
    {"opcode": "createNodes", "countParam": "$nodes"},
    {"opcode": "createNodes", "count": 2, "nodeTemplatePath": "node.yaml", "templateParams": {"kind": "waited-for"}},
    {"opcode": "createNamespaces", "prefix": "played", "count": 1},
    {"opcode": "churn", "mode": "recreate", "number": 1, "templatePaths": ["churned.yaml"], "intervalMilliseconds": 20},
    {"opcode": "startCollectingMetrics", "namespaces": ["played-0"], "labelSelector": {"type": "waiting"}},
    {
        "opcode": "createPods",
        "count": 6,
        "namespace": "played-0",
        "podTemplatePath": "pod.yaml",
        "skipWaitToCompletion": True,
    },
    {"opcode": "createPods", "count": 4, "namespace": "played-0"},
    {"opcode": "barrier", "stageRequirement": "Attempted", "labelSelector": {"type": "waiting"}},
    {"opcode": "updateAny", "count": 2, "templatePath": "unblocked.yaml", "updatePerSecond": 100},
    {"opcode": "barrier", "labelSelector": {"type": "waiting"}},
    {"opcode": "stopCollectingMetrics"},
    {
        "opcode": "deletePods",
        "namespace": "played-0",
        "labelSelector": {"type": "waiting"},
        "deletePodsPerSecond": 100,
        "skipWaitToCompletion": True,
    },
    {"opcode": "createPods", "count": 2, "namespace": "played-0"},
]


@pytest.fixture
def plane(control_plane: ControlPlane, api: Api) -> Iterator[ControlPlane]:
    """The control plane of the session, which a workload leaves its objects on."""
    yield control_plane
    for namespace in ("played-0", "namespace-3"):
        remove_namespace(api, namespace)
    api.delete("/api/v1/nodes")


@pytest.fixture
def played(workload: Workload) -> Workload:
    """The workload, with its templates beside it."""
    texts = {"node": NODE, "unblocked": UNBLOCKED, "pod": POD, "churned": CHURNED}
    for name, text in texts.items():
        (workload.folder / f"{name}.yaml").write_text(text)
    return replace(workload, operations=OPERATIONS)


@pytest.mark.parametrize("number", range(2), ids=["kube-scheduler", "muster"])
async def test_a_workload_is_played_and_its_pods_are_measured(
    played: Workload, plane: ControlPlane, display: Display, api: Api, number: int
) -> None:
    found = await measure(sides(played)[number], played, plane, display)

    assert found.pods == 6
    assert 0 < found.waits.p50 <= found.waits.p99
    assert found.attempts["scheduled"].count >= 6
    assert found.attempts["unschedulable"].count > 0
    assert found.peak_bytes > 10 << 20
    pods = api.get("/api/v1/namespaces/played-0/pods")["items"]
    assert sum(pod["metadata"]["generateName"] == "pod-" for pod in pods) == 6


async def test_a_side_that_ends_early_is_told_with_its_log(
    played: Workload, control_plane: ControlPlane, display: Display
) -> None:
    broken = Side("broken", lambda _: ["/bin/sh", "-c", "echo no more", "--secure-port=1"])
    with pytest.raises(StalledError, match=r"ended before it was ready(.|\n)*no more"):
        await measure(broken, played, control_plane, display)
