"""Clusters in which everything that an organisation may call as it likes has a name of its own, recorded.

Each situation is about one way to ask for something. All names are of animals, or made of such, so that a test can look
for them in a file; `SECRETS` lists them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from muster.framework.contract import ApiError, PodInfo
from muster.framework.contract.api import MERGE_PATCH, NoApi
from muster.framework.groups.record import EndedMember
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.sandbox.patching import merge
from muster.testing import make_node, make_pod, require
from tests.builders import PodDict
from tests.dynamicresources.objects import Version, device, exactly, first_of, make_claim, make_class, make_slice
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite, make_group

from .recorded import GROUP_LABEL, RecordedScheduler

SECRETS = (
    "adder",
    "badger",
    "caracal",
    "dormouse",
    "ermine",
    "ferret",
    "gibbon",
    "heron",
    "ibex",
    "jackal",
    "kestrel",
    "lemur",
    "marmot",
    "narwhal",
    "ocelot",
    "puffin",
    "quokka",
    "raccoon",
    "skunk",
    "tapir",
    "urial",
    "vicuna",
    "wombat",
    "xerus",
    "yak",
    "zebu",
)
SPACE = "zebu-7"
RACK, AISLE = "gibbon.example/Heron_rack", "wombat"
"""Labels of nodes: one with a domain, and one without."""
GPU = "yak.example"
Situation = Callable[["SecretCluster"], None]


class SecretCluster(RecordedScheduler):
    """Its API keeps what plugins write."""

    def build(self, ports: Ports) -> Engine:
        return super().build(replace(ports, api=_Written(self)))

    def racks(self, count: int = 8, **of: Any) -> None:
        """Nodes in racks, two to each, four to an aisle."""
        for number in range(count):
            node = make_node(f"adder-{number}.badger.example", cpu="4")
            place = {RACK: f"Ibex{number // 2}", AISLE: f"jackal-{number // 4}"}
            self.add_nodes(of_org(node).labels({**place, "topology.kubernetes.io/zone": f"kestrel-{number % 3}"}))

    def come(self, *pods: PodDict) -> None:
        """Pods of the organisation's namespace come."""
        self.add(*map(of_org, pods))


class _Written(NoApi):
    def __init__(self, cluster: SecretCluster) -> None:
        self._cluster = cluster

    async def get(self, path: str) -> bytes:
        plural, key = self._found(path)
        return msgspec.json.encode(self._cluster.api.objects[plural][key])

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        plural, key = self._found(path)
        self._cluster.api.change(plural, key, lambda known: known.update(merge(known, msgspec.json.decode(body))))
        return msgspec.json.encode(self._cluster.api.objects[plural][key])

    async def post(self, path: str, body: bytes) -> bytes:
        made = msgspec.json.decode(body)
        made["metadata"]["name"] = f"{made['metadata'].pop('generateName')}x1"
        plural = path.rpartition("/")[2]
        key = self._cluster.api.put(plural, made)
        return msgspec.json.encode(self._cluster.api.objects[plural][key])

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        plural, key = self._found(path)
        self._cluster.api.delete(plural, key)
        return b'{"kind":"Status","status":"Success"}'

    def _found(self, path: str) -> tuple[str, str]:
        *_, namespace, plural, name = path.removesuffix("/status").split("/")
        key = f"{namespace}/{name}" if f"/namespaces/{namespace}/{plural}" in path else name
        if key not in self._cluster.api.objects[plural]:
            raise ApiError(f'{plural} "{name}" not found for user "ermine@ferret.example"', status=404)
        return plural, key


def of_org(obj: Any) -> Any:
    """The object with fields that any user may have set."""
    if obj.get("kind") != "Node":
        obj["metadata"]["namespace"] = SPACE
    obj["metadata"]["labels"] = {**obj["metadata"].get("labels", {}), "lemur.example/Team": "marmot_9"}
    obj["metadata"]["annotations"] = {"muster-scheduler.io/run-seconds": "360000", "ocelot.example/note": "puffin"}
    return obj


def member(group: str, number: int, **requests: str) -> PodDict:
    """A pod that names its group by a label."""
    pod = make_pod(f"{group}-{number}", image="quokka.example/raccoon:v1").labels({GROUP_LABEL: group})
    return pod.requests(requests or {"cpu": "1"}).owned_by("TapirJob", group, version="skunk.example/v1")


def native(group: str, number: int, **requests: str) -> PodDict:
    """A pod of a PodGroup of Kubernetes."""
    pod = make_pod(f"{group}-{number}").requests(requests or {"cpu": "1"})
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    return pod


def labelled(cluster: SecretCluster, name: str, members: int, annotations: Mapping[str, str] = {}, **more: Any) -> None:
    """A PodGroup whose members name it by a label comes with them."""
    meta = {"name": name, "namespace": SPACE, "annotations": dict(annotations)}
    status = {"occupiedBy": f"{SPACE}/urial", "conditions": [{"type": "Scheduled", "status": "False", "message": name}]}
    requests = more.pop("requests", {"cpu": "1"})
    cluster.api.put("podgroups", {"metadata": meta, "spec": {"minMember": members, **more}, "status": status})
    cluster.come(*(member(name, number, **requests) for number in range(members)))


def put_native(cluster: SecretCluster, name: str, members: int, cpu: str = "1", **spec: Any) -> None:
    """A PodGroup of Kubernetes comes with its members."""
    group = make_group(name, members, namespace=SPACE, **spec)
    group["metadata"]["annotations"] = {"muster-scheduler.io/healing-policy": "Restart"}
    cluster.api.put(KIND, group)
    cluster.come(*(native(name, number, cpu=cpu) for number in range(members)))


def gangs_by_label(cluster: SecretCluster) -> None:
    """Gangs that start, that find no capacity, that lack members, and one that asks for resources of a vendor."""
    labelled(cluster, "vicuna", 3, {"muster-scheduler.io/disruption-mode": "All"})
    labelled(cluster, "xerus", 3, requests={"cpu": "64"})
    labelled(cluster, "yak", 2, requests={"skunk.example/tapirs": "1"})
    labelled(cluster, "tapir", 2, minResources={"cpu": "100", "skunk.example/tapirs": "2"})
    cluster.come(member("zebu-alone", 0))


def topology_and_slices(cluster: SecretCluster) -> None:
    """Gangs in racks, in slices, in a rack that does not exist, and with annotations that cannot be read."""
    at = "muster-scheduler.io/"
    labelled(cluster, "vicuna", 4, {f"{at}required-topology": f"{AISLE}, {RACK}"})
    labelled(cluster, "xerus", 5, {f"{at}preferred-topology": AISLE, f"{at}required-topology": RACK})
    labelled(
        cluster,
        "tapir",
        4,
        {f"{at}required-topology": AISLE, f"{at}slice-topology": RACK, f"{at}slice-size": "2"},
    )
    labelled(cluster, "skunk", 2, {f"{at}required-topology": "ferret.example/floor"})
    labelled(cluster, "urial", 2, {f"{at}required-topology": "ferret,,ermine", f"{at}healing-policy": "Caracal"})
    labelled(cluster, "yak", 9, {f"{at}required-topology": RACK})


def native_groups(cluster: SecretCluster) -> None:
    """Groups of scheduling.k8s.io, in racks and not, too large, and evicting."""
    topology = {"topology": [{"key": RACK}]}
    put_native(cluster, "vicuna", 3)
    put_native(cluster, "xerus", 2, cpu="4", schedulingConstraints=topology)
    put_native(cluster, "tapir", 9, schedulingConstraints=topology)
    put_native(cluster, "skunk", 2, cpu="80", disruptionMode={"all": {}})
    cluster.come(native("yak-missing", 0))


def trees(cluster: SecretCluster) -> None:
    """CompositePodGroups: one that starts in an aisle, one that is too large, one that lacks a part."""
    aisle = {"topology": [{"key": AISLE}]}
    for root, cpu in (("caracal", "1"), ("dormouse", "3")):
        cluster.api.put(COMPOSITE_KIND, make_composite(root, 2, namespace=SPACE, schedulingConstraints=aisle))
        for part in ("marmot", "narwhal"):
            put_native(cluster, f"{root}-{part}", 3, cpu=cpu, parentCompositePodGroupName=root)
    cluster.api.put(COMPOSITE_KIND, make_composite("ocelot", 2, namespace=SPACE))
    put_native(cluster, "puffin", 2, parentCompositePodGroupName="ocelot")
    put_native(cluster, "quokka", 2, parentCompositePodGroupName="raccoon")


def devices(cluster: SecretCluster) -> None:
    """Claims by CEL, by constraints and alternatives, of tainted and shared devices, and by an extended resource."""
    of_driver = f'device.driver == "{GPU}" && device.attributes["{GPU}"].tapirModel == "Skunk-9"'
    cluster.api.put("deviceclasses", make_class("gibbon", of_driver, resource="heron.example/gpu"))
    config = [{"opaque": {"driver": GPU, "parameters": {"kestrelMode": ["lemur"]}}}]
    cluster.api.put("deviceclasses", make_class("ibex", f'"{GPU}" in device.attributes', config=config))
    for number in range(3):
        made = [
            device(f"yak{at}", tapirModel=f"Skunk-{9 - at % 2}", urial=f"v{at // 2}", vicuna=Version("1.2.3-wombat.1"))
            for at in range(4)
        ]
        for at, each in enumerate(made):
            each["capacity"] = {"xerusMemory": {"value": "10Gi"}, "adder.example/cells": {"value": "4"}}
            each["consumesCounters"] = [{"counterSet": "badger", "counters": {"caracal": {"value": "1"}}}]
            if at == 3:
                each["taints"] = [{"key": "dormouse.example/sick", "value": "ermine", "effect": "NoSchedule"}]
        node = f"adder-{number}.badger.example"
        shared = [{"name": "badger", "counters": {"caracal": {"value": "3"}}}]
        cluster.api.put("resourceslices", make_slice(f"ferret-{number}", *made, node=node, driver=GPU, count=2))
        counters = make_slice(f"ferret-{number}c", node=node, driver=GPU, count=2, sharedCounters=shared)
        cluster.api.put("resourceslices", counters)
    memory = f'device.capacity["{GPU}"].xerusMemory.compareTo(quantity("8Gi")) >= 0'
    version = f'device.attributes["{GPU}"].vicuna.compareTo(semver("1.2.3-wombat")) > 0'
    alike = [{"matchAttribute": f"{GPU}/urial"}]
    claims = {
        "kestrel": make_claim("kestrel", exactly(2, memory, version, of="gibbon"), constraints=alike),
        "lemur": make_claim("lemur", first_of(exactly(9, of="gibbon"), exactly(1, of="ibex"))),
        "marmot": make_claim("marmot", exactly(3, memory, of="gibbon"), constraints=alike),
        "narwhal": make_claim("narwhal", exactly(1, 'device.attributes["ocelot"].puffin == true', of="gibbon")),
        "quokka": make_claim("quokka", exactly(1, of="raccoon")),
    }
    for name, claim in claims.items():
        claim["metadata"]["namespace"] = SPACE
        cluster.api.put("resourceclaims", claim)
        pod = make_pod(f"zebu-{name}").requests(cpu="1")
        pod["spec"]["resourceClaims"] = [{"name": "skunk", "resourceClaimName": name}]
        cluster.come(pod)
    cluster.come(make_pod("zebu-extended").requests({"cpu": "1", "heron.example/gpu": "1"}))
    cluster.come(make_pod("zebu-class").requests({"deviceclass.resource.kubernetes.io/gibbon": "1"}))


def storage(cluster: SecretCluster) -> None:
    """Claims that are bound, wait for their first consumer, or are lost; a class whose name looks like an amount."""
    wait = {"provisioner": "yak.example/csi", "volumeBindingMode": "WaitForFirstConsumer"}
    allowed = [{"matchLabelExpressions": [{"key": RACK, "values": ["Ibex1", "Ibex2"]}]}]
    cluster.api.put("storageclasses", {"metadata": {"name": "gibbon"}, **wait, "allowedTopologies": allowed})
    for name in ("5g", "yes"):
        cluster.api.put("storageclasses", {"metadata": {"name": name}, **wait})
    static = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    cluster.api.put("storageclasses", {"metadata": {"name": "heron"}, **static})
    within = {"nodeSelectorTerms": [{"matchExpressions": [require(AISLE, "In", "jackal-1")]}]}
    volume = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "heron",
        "nodeAffinity": {"required": within},
        "csi": {"driver": "yak.example", "volumeHandle": "kestrel-0af1"},
    }
    cluster.api.put(
        "persistentvolumes", {"metadata": {"name": "lemur"}, "spec": volume, "status": {"phase": "Available"}}
    )
    old = {"gcePersistentDisk": {"pdName": "marmot"}, "capacity": {"storage": "1Gi"}, "storageClassName": "tapir"}
    zones = {"topology.kubernetes.io/zone": "kestrel-0__kestrel-1"}
    bound_to = {"claimRef": {"namespace": SPACE, "name": "narwhal", "uid": "uid-narwhal"}}
    old_meta: dict[str, Any] = {"name": "ocelot", "labels": zones}
    cluster.api.put(
        "persistentvolumes", {"metadata": old_meta, "spec": {**old, **bound_to}, "status": {"phase": "Bound"}}
    )
    for name, spec in {
        "puffin": {"storageClassName": "heron"},
        "quokka": {"storageClassName": "gibbon"},
        "narwhal": {"storageClassName": "tapir", "volumeName": "ocelot"},
        "skunk": {"storageClassName": "urial"},
        "tahr": {},
        "serow": {},
    }.items():
        meta: dict[str, Any] = {"name": name, "namespace": SPACE}
        if "volumeName" in spec:
            meta |= {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        if not spec:
            of_class = {"tahr": "5g", "serow": "yes"}[name]
            meta |= {"annotations": {"volume.beta.kubernetes.io/storage-class": of_class}}
        asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}, **spec}
        cluster.api.put("persistentvolumeclaims", {"metadata": meta, "spec": asked})
        cluster.come(make_pod(f"vicuna-{name}").requests(cpu="1").claim(name))
    cluster.come(make_pod("vicuna-xerus").claim("wombat"))


def wishes(cluster: SecretCluster) -> None:
    """Affinity, spreading, taints, ports, images, gates, and pods of an organisation's own controllers."""
    dedicated = make_node("raccoon", cpu="16").taint("skunk", "tapir").taint("urial.example/x", "", effect="NoExecute")
    cluster.add_nodes(of_org(dedicated.image("quokka.example/raccoon:v1", size=10**9)))
    replicas = {"matchLabels": {"vicuna": "Wombat.1"}}
    for kind, spec in (("services", {"selector": {"vicuna": "Wombat.1"}}), ("replicasets", {"selector": replicas})):
        cluster.api.put(kind, {"metadata": {"name": "xerus", "namespace": SPACE}, "spec": spec})
    cluster.api.put("namespaces", {"metadata": {"name": SPACE, "labels": {"adder.example/ring": "badger"}}})
    chosen = {"vicuna": "Wombat.1"}
    ring: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"adder.example/ring": "badger"}}}
    cluster.come(
        *(
            make_pod(f"caracal-{at}").requests(cpu="1").labels(chosen).owned_by("ReplicaSet", "xerus")
            for at in range(3)
        ),
        *(make_pod(f"dormouse-{at}").requests(cpu="1").labels(chosen).apart(RACK, chosen, **ring) for at in range(3)),
        *(make_pod(f"ermine-{at}").requests(cpu="1").labels(chosen).spread(AISLE, chosen) for at in range(3)),
        make_pod("ferret").requests(cpu="1").near(AISLE, {"yak": "zebu"}),
        make_pod("ferret-2")
        .requests(cpu="1")
        .require_nodes(require("skunk", "NotIn", "tapir"), require(RACK, "Exists")),
        make_pod("gibbon", image="quokka.example/raccoon:v1").requests(cpu="8"),
        make_pod("heron", image="quokka.example/raccoon").requests(cpu="8").tolerate("skunk", value="tapir"),
        make_pod("ibex").node_selector({"node-role.kubernetes.io/lemur": ""}),
        make_pod("jackal").gate("marmot.example/hold"),
        make_pod("kestrel").requests({"narwhal.example/Ocelot": "1", "hugepages-2Mi": "4Mi"}),
        make_pod("lemur").scheduler("puffin-scheduler"),
    )


def preemption_and_healing(cluster: SecretCluster) -> None:
    """Pods that run are evicted for others, members end, and a budget is in the way."""
    labelled(cluster, "vicuna", 4, {"muster-scheduler.io/healing-policy": "Shrink"}, requests={"cpu": "4"})
    put_native(cluster, "xerus", 4, cpu="4")
    team = {"selector": {"matchLabels": {"lemur.example/Team": "marmot_9"}}}
    cluster.api.put("poddisruptionbudgets", {"metadata": {"name": "wombat", "namespace": SPACE}, "spec": team})
    ended = EndedMember(f"{SPACE}/xerus", succeeded=True)
    cluster.engine.ended_handlers["GangScheduling"]("uid-of-yak", None, ended)


def urgent(cluster: SecretCluster) -> None:
    """Pods for which others are evicted, and one whose binding the API refuses at first."""
    refusals = iter(range(2))

    def refuse(pod: PodInfo, node: str) -> str | None:
        refused = pod.name == "adder-0" and next(refusals, None) is not None
        return f'pods "{pod.name}" is forbidden: exceeded quota: tapir, on {node}' if refused else None

    cluster.api.fail_binding = refuse
    cluster.come(*(make_pod(f"adder-{at}").requests(cpu="3").priority(100) for at in range(2)))
    cluster.api.put(KIND, make_group("badger", 2, namespace=SPACE, priority=200))
    cluster.come(*(native("badger", at, cpu="4").priority(200) for at in range(2)))


def words_of_messages(cluster: SecretCluster) -> None:
    """An organisation that calls its things as messages call them."""
    cluster.add_nodes(
        *(make_node(name, cpu="2").labels(label="rack") for name in ("node", "nodes", "cpu", "available"))
    )
    cluster.add_nodes(make_node("members", cpu="2").taint("pod", "untolerated"))
    cluster.api.put("deviceclasses", make_class("claim", 'device.attributes["device"].driver == "request"'))
    made = [device(name, driver="request") for name in ("pool", "class")]
    cluster.api.put("resourceslices", make_slice("on", *made, node="node", driver="device", pool="of"))
    cluster.api.put("resourceclaims", make_claim("not", exactly(1, of="claim")))
    cluster.api.put("resourceclaims", make_claim("group", exactly(1, of="exist")))
    for name in ("not", "group"):
        pod = make_pod(f"unschedulable-{name}").requests(cpu="1")
        pod["spec"]["resourceClaims"] = [{"name": "allocate", "resourceClaimName": name}]
        cluster.add(pod)
    for name, cpu, key in (("gang", "1", "label"), ("fit", "1", "domain"), ("no", "64", "label")):
        annotations = {"muster-scheduler.io/required-topology": key}
        meta = {"name": name, "namespace": "default", "annotations": annotations}
        cluster.api.put("podgroups", {"metadata": meta, "spec": {"minMember": 2}})
        cluster.add(*(make_pod(f"{name}-{at}").labels({GROUP_LABEL: name}).requests(cpu=cpu) for at in range(2)))
    cluster.add(make_pod("has").claim("persistentvolumeclaim"), make_pod("the").requests({"example.com/pods": "1"}))


SITUATIONS: Mapping[str, tuple[Situation, ...]] = {
    "gangs by label": (gangs_by_label,),
    "topology and slices": (topology_and_slices,),
    "native groups": (native_groups,),
    "trees": (trees,),
    "devices": (devices,),
    "storage": (storage,),
    "wishes": (wishes,),
    "preemption and healing": (preemption_and_healing, urgent),
    "words of messages": (words_of_messages,),
    "all at once": (topology_and_slices, wishes, storage, devices, trees, urgent),
}
