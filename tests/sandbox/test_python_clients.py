"""Python clients that no one here wrote: the official one, and kopf."""

import asyncio
from pathlib import Path
from typing import Any

import kopf

from muster.sandbox import Sandbox
from tests.api_behaviour.objects import pod_group
from tests.builders import make_pod


async def test_the_official_client_reads_and_writes_typed_objects(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.nodes(3)
    kubeconfig = sandbox.kubeconfig(tmp_path / "kubeconfig")

    nodes, pod, names = await asyncio.to_thread(_use_official_client, kubeconfig)

    assert nodes == ["node-1", "node-2", "node-3"]
    assert pod.status.phase == "Pending"
    assert pod.spec.scheduler_name == "muster"
    assert names == ["web"]


def _use_official_client(kubeconfig: Path) -> tuple[list[str], Any, list[str]]:
    # Imported here because it takes seconds, and no other test of this folder needs it.
    import kubernetes

    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(str(kubeconfig), client_configuration=configuration)
    with kubernetes.client.ApiClient(configuration) as client:
        core: Any = kubernetes.client.CoreV1Api(client)
        nodes = [node.metadata.name for node in core.list_node().items]
        pod = core.create_namespaced_pod("default", make_pod("web"))
        events = kubernetes.watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=1)
        return nodes, pod, [event["object"].metadata.name for event in events]


async def test_a_kopf_operator_reconciles_pod_groups(sandbox: Sandbox) -> None:
    registry, stop = kopf.OperatorRegistry(), asyncio.Event()
    kind = sandbox.store.kinds.by_type("scheduling.x-k8s.io/v1alpha1", "PodGroup")
    assert kind is not None
    sandbox.store.create(kind, pod_group("gang", minMember=2), namespace="default")

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=sandbox.url)

    @kopf.on.event("podgroups.scheduling.x-k8s.io", registry=registry)
    async def report(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
        patch.status["phase"] = "Pending"
        if status.get("phase"):
            stop.set()

    async with asyncio.timeout(60):
        operator = kopf.operator(registry=registry, clusterwide=True, standalone=True, stop_flag=stop)
        await asyncio.create_task(operator)

    assert sandbox.store.get(kind, "gang", namespace="default").obj["status"] == {"phase": "Pending"}
