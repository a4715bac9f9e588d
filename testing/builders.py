"""Fluent builders of nodes and pods for tests: `make_pod("web").requests(cpu="500m").labels(app="web")`.

What a builder makes is a plain dict in the API's own JSON shape, and each method adds to it and returns it. So it can
be posted to an API server, encoded as a watch event or converted to a typed object as it stands.
"""

from collections.abc import Mapping
from typing import Any, Self, TypeVar

IMAGE = "pause:3.10"
Pod = TypeVar("Pod", bound="PodDict")


def make_node(name: str, *, cpu: str = "4", memory: str = "32Gi", pods: str = "110") -> "NodeDict":
    """A ready node with its hostname label; `cpu`, `memory` and `pods` are both its capacity and allocatable."""
    node = NodeDict(
        apiVersion="v1",
        kind="Node",
        metadata={"name": name, "uid": f"node-{name}", "labels": {"kubernetes.io/hostname": name}},
        spec={},
        status={"capacity": {}, "allocatable": {}, "conditions": [{"type": "Ready", "status": "True"}]},
    )
    return node.resources(cpu=cpu, memory=memory, pods=pods)


def make_pod(name: str, *, namespace: str = "default", image: str = IMAGE) -> "PodDict":
    """A pod with one container without requests, for Muster to schedule."""
    return PodDict(
        apiVersion="v1",
        kind="Pod",
        metadata={"name": name, "namespace": namespace, "uid": f"pod-{namespace}-{name}"},
        spec={"schedulerName": "muster", "containers": [{"name": "main", "image": image}]},
    )


def require(key: str, operator: str, *values: str) -> dict[str, object]:
    """One expression of a node selector term or label selector: `require("zone", "In", "a", "b")`."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


class ObjectDict(dict[str, Any]):
    """The metadata that nodes and pods share."""

    @property
    def name(self) -> str:
        name: str = self["metadata"]["name"]
        return name

    def labels(self, labels: Mapping[str, str] = {}, /, **more: str) -> Self:
        """Adds labels; the mapping is for keys that are not identifiers."""
        self["metadata"].setdefault("labels", {}).update(labels, **more)
        return self

    def annotations(self, annotations: Mapping[str, str]) -> Self:
        self["metadata"].setdefault("annotations", {}).update(annotations)
        return self

    def created(self, timestamp: str) -> Self:
        """Sets the creation time in RFC 3339; an API server sets its own."""
        self["metadata"]["creationTimestamp"] = timestamp
        return self


class NodeDict(ObjectDict):
    """A node in the API's JSON shape."""

    def resources(self, resources: Mapping[str, str] = {}, /, **more: str) -> Self:
        """Sets resources in both capacity and allocatable."""
        for side in ("capacity", "allocatable"):
            self["status"][side].update(resources, **more)
        return self

    def zone(self, zone: str) -> Self:
        return self.labels({"topology.kubernetes.io/zone": zone})

    def taint(self, key: str, value: str = "", *, effect: str = "NoSchedule") -> Self:
        self["spec"].setdefault("taints", []).append({"key": key, "value": value, "effect": effect})
        return self

    def unschedulable(self) -> Self:
        """Cordons the node."""
        self["spec"]["unschedulable"] = True
        return self

    def image(self, *names: str, size: int) -> Self:
        """Adds an image that the node has; `size` in bytes."""
        self["status"].setdefault("images", []).append({"names": list(names), "sizeBytes": size})
        return self


class PodDict(ObjectDict):
    """A pod in the API's JSON shape. Methods for a container change the first one."""

    def requests(self, requests: Mapping[str, str] = {}, /, **more: str) -> Self:
        return _container_resources(self, "requests", {**requests, **more})

    def limits(self, limits: Mapping[str, str] = {}, /, **more: str) -> Self:
        return _container_resources(self, "limits", {**limits, **more})

    def host_port(self, port: int, *, protocol: str = "TCP", ip: str | None = None) -> Self:
        claim = {"containerPort": port, "hostPort": port, "protocol": protocol} | ({"hostIP": ip} if ip else {})
        self["spec"]["containers"][0].setdefault("ports", []).append(claim)
        return self

    def container(self, name: str, requests: Mapping[str, str] = {}, *, image: str = IMAGE) -> Self:
        """Adds one more container."""
        return _append(self, "containers", {"name": name, "image": image, "resources": {"requests": dict(requests)}})

    def init_container(self, name: str, requests: Mapping[str, str] = {}, *, sidecar: bool = False) -> Self:
        container = {"name": name, "image": IMAGE, "resources": {"requests": dict(requests)}}
        return _append(self, "initContainers", container | ({"restartPolicy": "Always"} if sidecar else {}))

    def overhead(self, **overhead: str) -> Self:
        self["spec"]["overhead"] = overhead
        return self

    def scheduler(self, name: str) -> Self:
        self["spec"]["schedulerName"] = name
        return self

    def terminating(self) -> Self:
        """Marks the pod as being deleted; an API server sets the time itself."""
        self["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return self

    def owned_by(self, kind: str, name: str, *, version: str = "apps/v1", controller: bool = True) -> Self:
        owner = {"apiVersion": version, "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": controller}
        self["metadata"].setdefault("ownerReferences", []).append(owner)
        return self

    def node(self, name: str) -> Self:
        """Assigns the pod to a node."""
        self["spec"]["nodeName"] = name
        return self

    def nominated(self, node: str) -> Self:
        self.setdefault("status", {})["nominatedNodeName"] = node
        return self

    def phase(self, phase: str) -> Self:
        self.setdefault("status", {})["phase"] = phase
        return self

    def priority(self, priority: int, *, preemption_policy: str | None = None) -> Self:
        """Sets the number that admission would set; an API server refuses one without its priority class."""
        self["spec"]["priority"] = priority
        if preemption_policy is not None:
            self["spec"]["preemptionPolicy"] = preemption_policy
        return self

    def priority_class(self, name: str) -> Self:
        self["spec"]["priorityClassName"] = name
        return self

    def gate(self, name: str) -> Self:
        return _append(self, "schedulingGates", {"name": name})

    def claim(self, claim: str) -> Self:
        """Mounts a persistent volume claim."""
        return _append(self, "volumes", {"name": claim, "persistentVolumeClaim": {"claimName": claim}})

    def volume(self, name: str, **source: object) -> Self:
        """Adds a volume with this source by its API name: `volume("cache", emptyDir={})`."""
        return _append(self, "volumes", {"name": name, **source})

    def node_selector(self, labels: Mapping[str, str]) -> Self:
        self["spec"].setdefault("nodeSelector", {}).update(labels)
        return self

    def tolerate(self, key: str = "", *, value: str | None = None, effect: str = "") -> Self:
        """Tolerates a taint of this key with this value, or with any value if none is given."""
        test = {"operator": "Exists"} if value is None else {"operator": "Equal", "value": value}
        return _append(self, "tolerations", {"key": key, "effect": effect} | test)

    def require_nodes(self, *requirements: Mapping[str, object]) -> Self:
        """Adds a term of required node affinity; one term of several has to hold."""
        affinity = _affinity(self, "nodeAffinity")
        required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": []})
        required["nodeSelectorTerms"].append({"matchExpressions": list(requirements)})
        return self

    def prefer_nodes(self, weight: int, *requirements: Mapping[str, object]) -> Self:
        term = {"weight": weight, "preference": {"matchExpressions": list(requirements)}}
        return _add_affinity(self, "nodeAffinity", "preferred", term)

    def near(self, topology_key: str, labels: Mapping[str, str], *, weight: int | None = None, **more: object) -> Self:
        """Adds pod affinity to pods with these labels: required, or preferred with a weight.

        `more` overrides or adds fields of the term by their API names.
        """
        return _pod_affinity(self, "podAffinity", topology_key, labels, weight=weight, more=more)

    def apart(self, topology_key: str, labels: Mapping[str, str], *, weight: int | None = None, **more: object) -> Self:
        """Adds pod anti-affinity to pods with these labels: required, or preferred with a weight.

        `more` overrides or adds fields of the term by their API names.
        """
        return _pod_affinity(self, "podAntiAffinity", topology_key, labels, weight=weight, more=more)

    def spread(self, topology_key: str, labels: Mapping[str, str], *, max_skew: int = 1, **more: object) -> Self:
        """Adds a topology spread constraint; `more` overrides or adds fields by their API names."""
        constraint = {
            "maxSkew": max_skew,
            "topologyKey": topology_key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": dict(labels)},
        }
        return _append(self, "topologySpreadConstraints", constraint | more)


def _container_resources(pod: Pod, kind: str, amounts: Mapping[str, str]) -> Pod:
    pod["spec"]["containers"][0].setdefault("resources", {}).setdefault(kind, {}).update(amounts)
    return pod


def _append(pod: Pod, field: str, item: Mapping[str, object]) -> Pod:
    pod["spec"].setdefault(field, []).append(item)
    return pod


def _affinity(pod: PodDict, kind: str) -> dict[str, Any]:
    affinity: dict[str, Any] = pod["spec"].setdefault("affinity", {}).setdefault(kind, {})
    return affinity


def _add_affinity(pod: Pod, kind: str, strength: str, term: Mapping[str, object]) -> Pod:
    field = f"{strength}DuringSchedulingIgnoredDuringExecution"
    _affinity(pod, kind).setdefault(field, []).append(term)
    return pod


def _pod_affinity(
    pod: Pod, kind: str, topology_key: str, labels: Mapping[str, str], *, weight: int | None, more: Mapping[str, object]
) -> Pod:
    term = {"topologyKey": topology_key, "labelSelector": {"matchLabels": dict(labels)}} | dict(more)
    if weight is None:
        return _add_affinity(pod, kind, "required", term)
    return _add_affinity(pod, kind, "preferred", {"weight": weight, "podAffinityTerm": term})
