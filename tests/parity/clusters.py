"""Random clusters from a seed: nodes, what runs on them, their storage and devices, and the pods that come one by one.

`make_cluster(seed, pods)` is pure: the same seed gives the same objects. All names carry the seed, so nothing of one
cluster can be taken for a part of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.dynamicresources.objects import allocated, device, exactly, make_slice
from tests.dynamicresources.objects import make_claim as make_resource_claim
from tests.dynamicresources.objects import make_class as make_device_class
from tests.parity.world import NAMESPACES, Object
from tests.storage import make_capacity, make_claim, make_class, make_csi_driver, make_csi_node, make_volume

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
APPS, TIERS = ("web", "db", "cache", "job"), ("gold", "silver")
IMAGES = {
    "registry.example/tiny:v1": 5 << 20,
    "registry.example/app:v1": 800 << 20,
    "registry.example/big:v1": 2500 << 20,
}
DEVICE_PLUGIN, BACKED = "example.com/fpga", "example.com/accelerator"
"""Extended resources: of device plugins alone, and one that devices of a class stand for."""
GPU, LIMITED, MEASURED = "gpu.example.com", "limited.example.com", "measured.example.com"


@dataclass
class Cluster:
    """One cluster.

    Attributes:
        name: that of its seed.
        nodes: their names.
        claims: names of PersistentVolumeClaims by what they are like, and their namespaces.
        devices: names of ResourceClaims, and their namespaces.
        objects: all that is there before the first pod comes, in the order in which it is created.
        last: the node and the pod that are created last; a pod that knows of both knows all.
    """

    name: str
    nodes: list[str] = field(default_factory=list)
    claims: list[tuple[str, str]] = field(default_factory=list)
    devices: list[tuple[str, str]] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)
    last: tuple[str, str] = ("", "")

    def sentinel(self) -> PodDict:
        """A pod that can go to one node alone, and not before the scheduler knows of all nodes and pods."""
        node, pod = self.last
        near = {"last": pod}
        return make_pod(f"{self.name}-sentinel", namespace="alpha").node_selector({HOST: node}).near(HOST, near)


def make_cluster(seed: int) -> Cluster:
    """The cluster of a seed."""
    rng = Random(f"cluster {seed}")
    cluster = Cluster(f"s{seed}")
    nodes = [_node(rng, f"{cluster.name}-node-{at}") for at in range(rng.randint(5, 11))]
    last = make_node(f"{cluster.name}-last", cpu="1").zone("a")
    cluster.nodes = [node.name for node in nodes]
    cluster.objects += [*_services(rng), *_storage(rng, cluster), *_devices(rng, cluster)]
    cluster.objects += [*nodes, last]
    cluster.objects += [_running(rng, cluster, at) for at in range(rng.randint(6, 18))]
    marker = make_pod(f"{cluster.name}-last", namespace="alpha").labels(last=cluster.name).node(last.name)
    cluster.objects.append(marker)
    cluster.last = last.name, cluster.name
    return cluster


def labels(rng: Random) -> dict[str, str]:
    """Labels of a pod."""
    return {"app": rng.choice(APPS), "tier": rng.choice(TIERS), "version": rng.choice("12")}


def _node(rng: Random, name: str) -> NodeDict:
    node = make_node(name, cpu=rng.choice(["2", "4", "3920m", "8"]), memory=rng.choice(["4Gi", "7936Mi", "16Gi"]))
    node.resources(pods=rng.choice(["4", "8", "110"]), **{"ephemeral-storage": rng.choice(["20Gi", "100Gi"])})
    if rng.random() < 0.9:
        node.zone(rng.choice("abc")).labels({REGION: rng.choice(["one", "two"])})
    if rng.random() < 0.6:
        node.labels(disk=rng.choice(["ssd", "hdd"]))
    if rng.random() < 0.5:
        node.labels(cores=str(rng.choice([4, 8, 16])))
    if rng.random() < 0.3:
        node.resources({DEVICE_PLUGIN: rng.choice("128")})
    if rng.random() < 0.15:
        node.resources({BACKED: rng.choice("12")})
    if rng.random() < 0.2:
        node.resources({"hugepages-2Mi": "512Mi"})
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        key, effect = rng.choice(["dedicated", "spot", "broken"]), rng.choice(["NoSchedule", "PreferNoSchedule"])
        if key not in [taint["key"] for taint in node["spec"].get("taints", ())]:
            node.taint(key, rng.choice("xy"), effect=effect)
    if rng.random() < 0.1:
        node.unschedulable()
    for image, size in IMAGES.items():
        if rng.random() < 0.4:
            node.image(image, size=size)
    if rng.random() < 0.5:
        node["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    return node


def _services(rng: Random) -> list[Object]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"service-{app}", "namespace": namespace},
            "spec": {"selector": {"app": app}, "ports": [{"port": 80}]},
        }
        for app in ("web", "db")
        for namespace in NAMESPACES
        if rng.random() < 0.5
    ]


def _running(rng: Random, cluster: Cluster, at: int) -> PodDict:
    pod = make_pod(f"{cluster.name}-running-{at}", namespace=rng.choice(list(NAMESPACES))).labels(labels(rng))
    pod.requests(cpu=rng.choice(["50m", "300m", "1"]), memory=rng.choice(["64Mi", "500Mi", "1.5Gi"]))
    if rng.random() < 0.2:
        pod.host_port(rng.choice([80, 443, 8080]), protocol=rng.choice(["TCP", "UDP"]))
    if rng.random() < 0.25:
        pod.apart(rng.choice([HOST, ZONE]), {"app": rng.choice(APPS)})
    if rng.random() < 0.2:
        pod.apart(ZONE, {"tier": rng.choice(TIERS)}, weight=rng.randint(1, 100))
    if rng.random() < 0.3:
        pod.near(rng.choice([HOST, ZONE]), {"app": rng.choice(APPS)}, weight=rng.randint(1, 100), namespaceSelector={})
    if rng.random() < 0.3:
        pod.near(REGION, {"version": rng.choice("12")})
    if rng.random() < 0.15:
        pod.volume("scratch", csi={"driver": LIMITED})
    return pod.node(rng.choice(cluster.nodes)).priority_class(rng.choice(["high", "highest"]))


def _storage(rng: Random, cluster: Cluster) -> list[Object]:
    """Classes, drivers and volumes; each claim has volumes of its own, so that none depends on another's fate."""
    name = cluster.name
    where = [{ZONE: ["a", "b"]}]
    made: list[Object] = [
        make_class(f"{name}-anywhere"),
        make_class(f"{name}-zonal", topologies=where),
        make_class(f"{name}-measured", provisioner=MEASURED),
        make_class(f"{name}-at-once", waits=False),
        make_csi_driver(MEASURED, storageCapacity=True),
        make_csi_driver(LIMITED, attachRequired=False),
    ]
    free = {zone: rng.choice(["1Gi", "20Gi", "90Gi"]) for zone in "abc"}
    made += [make_capacity(f"{name}-{zone}", f"{name}-measured", {ZONE: zone}, size) for zone, size in free.items()]
    with_driver = [node for node in cluster.nodes if rng.random() < 0.8]
    made += [make_csi_node(node, {LIMITED: rng.choice([1, 2, 5]), "csi.example.com": 9}) for node in with_driver]
    for at in range(14):
        namespace, claim = rng.choice(list(NAMESPACES)), f"{name}-claim-{at}"
        made += _claim(rng, name, claim, namespace, cluster)
        cluster.claims.append((claim, namespace))
    return made


def _claim(rng: Random, name: str, claim: str, namespace: str, cluster: Cluster) -> list[Object]:
    size = rng.choice(["1Gi", "5Gi", "30Gi"])
    kind = rng.choice(
        ["zone", "node", "driver", "anywhere", "zonal", "measured", "static", "static", "at-once", "single"]
    )
    if kind in ("zone", "node", "driver", "single"):
        more: dict[str, Any] = {"claimRef": {"kind": "PersistentVolumeClaim", "name": claim, "namespace": namespace}}
        modes = ["ReadWriteOncePod"] if kind == "single" else ["ReadWriteOnce"]
        if kind == "driver":
            more["source"] = {"csi": {"driver": LIMITED, "volumeHandle": claim}}
        if kind == "node":
            more["nodeAffinity"] = _pinned(rng.sample(cluster.nodes, 2))
        volume = make_volume(claim, storage_class="old", modes=modes, size="30Gi", **more)
        if kind == "zone":
            volume.labels({ZONE: rng.choice("abc")})
        volume["status"] = {"phase": "Bound"}
        return [
            volume,
            make_claim(claim, namespace=namespace, volume=claim, storage_class="old", size=size, modes=modes),
        ]
    made: list[Object] = [make_claim(claim, namespace=namespace, storage_class=f"{name}-{kind}", size=size)]
    if kind == "static":
        own = f"{claim}-class"
        made = [make_class(own, provisioner="kubernetes.io/no-provisioner")]
        made += [
            make_volume(
                f"{claim}-{at}",
                storage_class=own,
                size=rng.choice(["2Gi", "10Gi", "40Gi"]),
                source={"local": {"path": "/disk"}},
                nodeAffinity=_pinned(rng.sample(cluster.nodes, 1)),
            )
            for at in range(rng.randint(1, 4))
        ]
        made.append(make_claim(claim, namespace=namespace, storage_class=own, size=size))
    return made


def _pinned(nodes: list[str]) -> Mapping[str, Any]:
    expression = {"key": HOST, "operator": "In", "values": nodes}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def _devices(rng: Random, cluster: Cluster) -> list[Object]:
    name = cluster.name
    made: list[Object] = [
        make_device_class(f"{name}-gpu", f"device.driver == '{GPU}'"),
        make_device_class(f"{name}-large", f"device.capacity['{GPU}'].memory.compareTo(quantity('40Gi')) >= 0"),
        make_device_class(f"{name}-backed", f"device.driver == '{GPU}'", resource=BACKED),
    ]
    pools: list[str] = []
    for node in cluster.nodes:
        if rng.random() < 0.7:
            owned = [
                device(f"dev-{at}", capacity={"memory": rng.choice(["16Gi", "40Gi"])}, model=rng.choice(["t4", "a100"]))
                for at in range(rng.randint(1, 4))
            ]
            made.append(make_slice(f"{name}-{node}", *owned, node=node))
            pools.append(node)
    for at in range(12):
        namespace, claim = rng.choice(list(NAMESPACES)), f"{name}-devices-{at}"
        model = f"device.attributes['{GPU}'].model == '{rng.choice(['t4', 'a100'])}'"
        asked = rng.choice(
            [
                [exactly(rng.randint(1, 3), of=f"{name}-gpu")],
                [exactly(1, model, of=f"{name}-gpu")],
                [exactly(1, of=f"{name}-large"), exactly(1, of=f"{name}-gpu")],
                [
                    {
                        "firstAvailable": [
                            {"name": "large", **exactly(2, of=f"{name}-large")},
                            {"name": "any", **exactly(1, of=f"{name}-gpu")},
                        ]
                    }
                ],
                [exactly(1, of="missing")],
            ]
        )
        wanted = make_resource_claim(claim, *asked, namespace=namespace)
        if at == 0 and pools:
            node = rng.choice(pools)
            wanted = allocated(wanted, (GPU, node, "dev-0"), node=node, reserved=["somebody"])
        made.append(wanted)
        cluster.devices.append((claim, namespace))
    return made
