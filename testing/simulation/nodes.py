"""Nodes as machines, administrators and device drivers change them: the acts of a history that concern nodes."""

from __future__ import annotations

from muster.framework.model.quantity import milli_value, nanos
from muster.sandbox.kinds import NODES, PODS, RESOURCE_SLICES
from muster.sandbox.objects import Object
from muster.testing.builders import make_node

from .acts import NODE_CPU, RACK, ZONE, CallLater, one_among
from .meddling import Meddling
from .passing import AT_ONCE, NAMESPACE
from .server import SimulatedServer

_COLLECT_EVERY_SECONDS = 20.0


class NodeActs:
    """Carries out acts on nodes. Losses of members are recorded in `meddling`."""

    def __init__(self, server: SimulatedServer, meddling: Meddling, later: CallLater) -> None:
        self._server = server
        self._store = server.store
        self._meddling = meddling
        self._later = later
        self._collects = False

    def node_comes(self, name: str, zone: str) -> None:
        """Add a node. Every other one is in the first rack of its zone."""
        rack = f"rack-{int(name.rpartition('-')[2]) % 2}"
        self._store.create(NODES, make_node(name, cpu=f"{NODE_CPU}m").labels({ZONE: zone, RACK: rack}))

    def node_goes(self, pick: float) -> None:
        """Remove a node with its pods. Pods that are bound to it later go when the pod garbage collector sees them."""
        node = one_among(self._server.objects(NODES), pick)
        if node is not None:
            name = node["metadata"]["name"]
            self._store.delete(NODES, name, options=AT_ONCE)
            if self._store.find(RESOURCE_SLICES, name) is not None:
                self._store.delete(RESOURCE_SLICES, name, options=AT_ONCE)
            self._delete_pods_without_nodes()
            self._meddling.touch_those_on_their_way()
            if not self._collects:
                self._collects = True
                self._later(_COLLECT_EVERY_SECONDS, self._collect_pods)

    def node_is_cordoned(self, pick: float) -> None:
        self._cordon(pick, True)

    def node_is_uncordoned(self, pick: float) -> None:
        self._cordon(pick, None)

    def node_grows(self, pick: float, cpu: int) -> None:
        """Raise the node's capacity."""
        node = one_among(self._server.objects(NODES), pick)
        if node is not None:
            has = node["status"]["allocatable"]
            more = {**has, "cpu": f"{milli_value(nanos(has['cpu'])) + cpu}m"}
            self._store.replace_stored(NODES, node | {"status": {**node["status"], "allocatable": more}})

    def devices_come(self, pick: float, many: int) -> None:
        """Publish devices of a node, as a driver does."""
        node = one_among(self._server.objects(NODES), pick)
        if node is not None:
            name = node["metadata"]["name"]
            spec = {
                "driver": "devices.example.com",
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": f"device-{number}"} for number in range(many)],
            }
            self._store.create(RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})

    def node_is_opened(self, name: str, pod: Object) -> None:
        """Uncordon a node, as a user does."""
        self._change_node(name, "spec", {"unschedulable": None})

    def node_moves_to(self, name: str, pod: Object) -> None:
        """Move the node to the zone that the pod requires."""
        node = self._store.get(NODES, name).obj
        labels = {**node["metadata"]["labels"], ZONE: pod["spec"]["nodeSelector"][ZONE]}
        self._change_node(name, "metadata", {"labels": labels})

    def node_is_emptied(self, name: str, pod: Object) -> None:
        """Delete all of its pods."""
        for each in self._server.objects(PODS):
            if each["spec"].get("nodeName") == name:
                self._store.delete(PODS, each["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)

    def _collect_pods(self) -> None:
        self._delete_pods_without_nodes()
        self._later(_COLLECT_EVERY_SECONDS, self._collect_pods)

    def _delete_pods_without_nodes(self) -> None:
        nodes = {"", *(node["metadata"]["name"] for node in self._server.objects(NODES))}
        for pod in self._server.objects(PODS):
            if pod["spec"].get("nodeName", "") not in nodes:
                self._meddling.touch_group_of(pod)
                self._store.delete(PODS, pod["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)

    def _cordon(self, pick: float, cordoned: bool | None) -> None:
        node = one_among(self._server.objects(NODES), pick)
        if node is not None:
            name = node["metadata"]["name"]
            self._change_node(name, "spec", {"unschedulable": cordoned})
            if cordoned:
                self._meddling.cordon(name)

    def _change_node(self, name: str, part: str, changes: Object) -> None:
        node = self._store.get(NODES, name).obj
        self._store.update(NODES, name, node | {part: {**node[part], **changes}})
