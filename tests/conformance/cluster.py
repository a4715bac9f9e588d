"""The clusters that the tests run on: for each scheduler a whole control plane, and three nodes in three zones.

The API server has all of its admission plugins, and kube-controller-manager all of its controllers, so namespaces get
their service accounts, and new nodes lose their taint, as in an installation. Containers are the one thing that is
missing (see `tests.conformance.kubelet`). Kubernetes' own groups are switched on, as some tests are about them.

Either scheduler is the only one of its cluster, and answers to the name that pods have which name none. Both run with
their defaults: kube-scheduler with its default configuration, Muster with the rights that it is deployed with.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench.client import Client
from bench.tables.speed import BASELINE, SUBJECT
from tests.builders import make_node, make_pod
from tests.conformance.kubelet import LEASES
from tests.controlplane.plane import ControlPlane
from tests.controlplane.server import READY_WITHIN_SECONDS
from tests.deployed import define_pod_groups, log_in_as_deployed
from tests.e2e.muster_process import Options, running

SCHEDULER_NAME = "default-scheduler"
GATES = {"GenericWorkload": True}
SERVED = {"scheduling.k8s.io/v1beta1": True}
STATIC_PODS = ("kube-proxy", "fluentd-elasticsearch", "node-problem-detector")
"""What the tests look for on each node; where one of them is missing, most tests wait a minute for it."""
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its name, its zone, and an address of this machine at which nothing listens.

    A failed test asks the kubelet for logs; nobody refuses faster than the machine itself.
    """

    name: str
    zone: str
    address: str

    def object(self) -> Mapping[str, Any]:
        """The node as its kubelet registers it."""
        made = make_node(self.name, cpu="4", memory="16Gi").zone(self.zone).resources({"ephemeral-storage": "100Gi"})
        made.labels({"topology.kubernetes.io/region": "here", "kubernetes.io/os": "linux"})
        made["status"]["addresses"] = [
            {"type": "InternalIP", "address": self.address},
            {"type": "Hostname", "address": self.name},
        ]
        return made

    def lease(self) -> Mapping[str, Any]:
        """The Lease by which its kubelet says that the node is well."""
        return {"metadata": {"name": self.name}, "spec": {"holderIdentity": self.name, "leaseDurationSeconds": 40}}

    def static_pod(self, name: str) -> Mapping[str, Any]:
        """A pod that runs on the node by the kubelet's own files, as the API shows it."""
        return (
            make_pod(f"{name}-{self.name}", namespace="kube-system")
            .node(self.name)
            .annotations({"kubernetes.io/config.mirror": name, "kubernetes.io/config.source": "file"})
        )


NODES = tuple(Node(f"node-{number}", f"zone-{number}", f"127.0.1.{number}") for number in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class Side:
    """A scheduler: its name, and how it runs on a control plane."""

    name: str
    running: Callable[[ControlPlane], AbstractContextManager[None]]

    @contextmanager
    def cluster(self, folder: Path) -> Iterator[ControlPlane]:
        """A control plane with all controllers and this scheduler. Raises what `ControlPlane.start` does."""
        folder.mkdir(parents=True)
        plane = ControlPlane(
            folder,
            feature_gates=GATES,
            runtime_config=SERVED,
            api_server_arguments=["--allow-privileged=true"],
            disabled_admission=(),
        )
        with plane:
            plane.start_controller_manager()
            with self.running(plane):
                yield plane


@contextmanager
def _kube_scheduler(plane: ControlPlane) -> Iterator[None]:
    plane.start_scheduler().close()
    yield


@contextmanager
def _muster(plane: ControlPlane) -> Iterator[None]:
    define_pod_groups(plane)
    kubeconfig = log_in_as_deployed(plane)
    options = Options(kubeconfig=kubeconfig, log=plane.files.log(SUBJECT), names=[SCHEDULER_NAME])
    with running(options, ready=False) as process:
        process.wait_until_ready(within=READY_WITHIN_SECONDS)
        yield


SIDES = (Side(BASELINE, _kube_scheduler), Side(SUBJECT, _muster))


async def register(client: Client) -> None:
    """Create the nodes with their Leases and static pods. Raises `RefusedError`."""
    for node in NODES:
        await client.post("/api/v1/nodes", msgspec.json.encode(node.object()))
        await client.post(LEASES, msgspec.json.encode(node.lease()))
        for name in STATIC_PODS:
            await client.post("/api/v1/namespaces/kube-system/pods", msgspec.json.encode(node.static_pod(name)))


async def until_ready(client: Client) -> None:
    """Return when no node has a taint and all static pods run. Raises `TimeoutError`."""
    async with asyncio.timeout(READY_WITHIN_SECONDS):
        while True:
            if await _is_ready(client):
                return
            await asyncio.sleep(_LOOK_SECONDS)


async def _is_ready(client: Client) -> bool:
    nodes = await client.get("/api/v1/nodes")
    pods = await client.get("/api/v1/namespaces/kube-system/pods")
    running = [pod for pod in pods["items"] if pod["status"]["phase"] == "Running"]
    return len(running) == len(NODES) * len(STATIC_PODS) and not any(
        node["spec"].get("taints") for node in nodes["items"]
    )
