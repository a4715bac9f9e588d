"""The initial contents of a sandbox: synthetic nodes, or the objects of a real cluster.

`load` takes the output of `kubectl get … -A -o json`. The objects keep their uids, creation times and status; they get
new resource versions, and no rule is applied to them, because a real API server has accepted them already. Namespaces
that the dump lacks are created.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from muster.sandbox.decoding import UnreadableError, decoded
from muster.sandbox.errors import StatusError
from muster.sandbox.kinds import NAMESPACES
from muster.sandbox.objects import Object, metadata, name_of, namespace_of, with_metadata
from muster.sandbox.registry import Kind, stored_as
from muster.sandbox.rules import of, to_stored
from muster.sandbox.store import ObjectStore


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The shape of a node: its resources, as quantities, and its labels. Zones are assigned in turn."""

    cpu: str = "8"
    memory: str = "32Gi"
    pods: str = "110"
    extended: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    zones: int = 3


STANDARD_NODE = NodeShape()


def synthetic_nodes(
    count: int, *, since: str, shape: NodeShape = STANDARD_NODE, prefix: str = "node"
) -> Iterator[Object]:
    """`count` nodes that are ready since a time, named `{prefix}-1` and on, with leading zeros so that they sort."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": since,
        "lastTransitionTime": since,
    }
    width = len(str(count))
    for index in range(count):
        yield _node(f"{prefix}-{index + 1:0{width}}", index, shape, ready)


def _node(name: str, index: int, shape: NodeShape, ready: Object) -> Object:
    capacity = {
        "cpu": shape.cpu,
        "memory": shape.memory,
        "pods": shape.pods,
        "ephemeral-storage": "100Gi",
        **shape.extended,
    }
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": "sandbox",
        "topology.kubernetes.io/zone": f"zone-{index % shape.zones + 1}",
        **shape.labels,
    }
    address = f"10.{64 + index // 65536}.{index // 256 % 256}.{index % 256}"
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": list(shape.taints)} if shape.taints else {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kubeletVersion": "v1.37.1",
                "osImage": "Muster sandbox",
                "kernelVersion": "0.0",
                "containerRuntimeVersion": "sandbox://0.0",
            },
        },
    }


class DumpError(ValueError):
    """Raised for a dump that no API server could have printed; the text names the object and the fault."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many objects of each kind are stored, and how many of which kinds (`apiVersion kind`) are not served here."""

    objects: Counter[str]
    skipped: Counter[str]


def load(store: ObjectStore, objects: Iterable[Object]) -> Loaded:
    """Stores objects unchanged, and the items of lists. Raises DumpError after storing the objects before the fault."""
    loaded = Loaded(Counter(), Counter())
    for obj in _flat(objects):
        api_version, name = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
        kind = store.kinds.by_type(api_version, name)
        if kind is None or "list" not in kind.verbs:
            loaded.skipped[f"{api_version} {name}"] += 1
            continue
        try:
            store.replace_stored(stored_as(kind), _settled(store, kind, decoded(kind, obj)[0]))
        except (UnreadableError, StatusError) as error:
            raise DumpError(f"{api_version} {name} {_named(obj)}".rstrip() + f": {error}") from error
        loaded.objects[kind.resource] += 1
    return loaded


def _named(obj: Object) -> str:
    return name_of(obj) if isinstance(metadata(obj), dict) else ""


def _flat(objects: Iterable[Any]) -> Iterator[Object]:
    for obj in objects:
        if not isinstance(obj, dict):
            raise DumpError(f"not a Kubernetes object: {obj}")
        if isinstance(obj.get("items"), list):
            kind = str(obj.get("kind") or "").removesuffix("List")
            typed = {"apiVersion": obj.get("apiVersion"), "kind": kind}
            yield from _flat(typed | item if isinstance(item, dict) else item for item in obj["items"])
        else:
            yield obj


def _settled(store: ObjectStore, kind: Kind, obj: Object) -> Object:
    """An object with the metadata of stored objects and its kind's defaults."""
    born = {"uid": store.sources.uid(), "creationTimestamp": store.now}
    settled = of(kind).complete(to_stored(kind, obj | {"metadata": born | metadata(obj)}))
    if not kind.namespaced:
        return settled
    namespace = namespace_of(settled) or "default"
    if store.find(NAMESPACES, namespace) is None:
        store.create(NAMESPACES, {"metadata": {"name": namespace}})
    return with_metadata(settled, namespace=namespace)
