"""Pods as users, controllers and other schedulers create, end and bind them: the acts that concern pods."""

from __future__ import annotations

from muster.sandbox import actions
from muster.sandbox.kinds import NODES, PODS, RESOURCE_CLAIMS
from muster.sandbox.objects import Object
from muster.testing.builders import PodDict, make_pod

from .acts import ZONE, one_among
from .meddling import Meddling
from .members import member_of, one_of
from .passing import AT_ONCE, NAMESPACE
from .server import SimulatedServer

DEVICE = "device"
"""The class of all devices."""
STRANGER = "stranger"
"""The schedulerName of pods that are none of Muster's."""


class PodActs:
    """Carries out acts on pods. What takes members from a group, or binds one, is written down in `meddling`."""

    def __init__(self, server: SimulatedServer, meddling: Meddling) -> None:
        self._server = server
        self._store = server.store
        self._meddling = meddling

    def pods_come(self, name: str, many: int, cpu: int, zone: str, *, urgent: bool) -> None:
        for number in range(many):
            pod = one_of(name, number, cpu, urgent)
            if zone:
                pod["spec"]["nodeSelector"] = {ZONE: zone}
            self._create(pod)

    def claimers_come(self, name: str, many: int, cpu: int, devices: int = 1) -> None:
        """Pods that need so many devices each, with their claims."""
        for number in range(many):
            self._claim(make_pod(f"{name}-{number}").requests(cpu=f"{cpu}m"), devices)

    def member_comes(self, group: str, number: int, cpu: int, native: bool, *, urgent: bool = False) -> None:
        self._create(member_of(group, number, cpu, native, urgent=urgent))

    def claiming_member_comes(self, group: str, number: int, cpu: int, native: bool, *, urgent: bool) -> None:
        """A member that needs a device comes, with its claim."""
        self._claim(member_of(group, number, cpu, native, urgent=urgent), 1)

    def stranger_comes(self, name: str, where: float, cpu: int) -> None:
        """Another scheduler binds a pod of its own."""
        node = one_among(self._server.objects(NODES), where)
        if node is not None:
            self._create(make_pod(name).scheduler(STRANGER).requests(cpu=f"{cpu}m"))
            self.bind(name, node["metadata"]["name"])

    def pod_goes(self, whom: float) -> None:
        pod = one_among(self._server.objects(PODS), whom)
        if pod is not None:
            self._meddling.touch_group_of(pod)
            self._delete(pod)

    def pod_ends(self, whom: float) -> None:
        pod = one_among([pod for pod in self._server.objects(PODS) if pod["spec"].get("nodeName")], whom)
        if pod is not None:
            self._end(pod)

    def member_ends(self, name: str) -> None:
        """A running member succeeds."""
        pod = self._store.get(PODS, name, namespace=NAMESPACE).obj
        if pod["spec"].get("nodeName"):
            self._end(pod)

    def pod_is_made_again(self, whom: float) -> None:
        """A pod is deleted, and another of its name comes at once, as with a StatefulSet."""
        pod = one_among(self._server.objects(PODS), whom)
        if pod is not None and pod["spec"]["schedulerName"] != STRANGER:
            self._make_again(pod)

    def member_is_made_again(self, name: str) -> None:
        """A member that exists is deleted and made again."""
        self._make_again(self._store.get(PODS, name, namespace=NAMESPACE).obj)

    def pod_is_withdrawn(self, pod: Object) -> None:
        """A user deletes a pod that is not needed any more."""
        self._delete(pod)

    def rogue_binds(self, whom: float, where: float) -> None:
        """Another scheduler takes one of our pods for its own."""
        waiting = [pod for pod in self._server.objects(PODS) if not pod["spec"].get("nodeName")]
        pod, node = one_among(waiting, whom), one_among(self._server.objects(NODES), where)
        if pod is not None and node is not None:
            self._meddling.give(pod)
            self.bind(pod["metadata"]["name"], node["metadata"]["name"])

    def bind(self, pod: str, node: str) -> None:
        """Another party binds the pod of this name."""
        target = {"kind": "Node", "name": node}
        actions.bind(self._store, pod, {"metadata": {"name": pod}, "target": target}, namespace=NAMESPACE)

    def _create(self, pod: PodDict) -> None:
        self._store.create(PODS, pod, namespace=NAMESPACE)

    def _claim(self, pod: PodDict, devices: int) -> None:
        """A claim for so many devices is created."""
        request = {"name": "request", "exactly": {"deviceClassName": DEVICE, "count": devices}}
        claim = {"metadata": {"name": pod.name}, "spec": {"devices": {"requests": [request]}}}
        self._store.create(RESOURCE_CLAIMS, claim, namespace=NAMESPACE)
        pod["spec"]["resourceClaims"] = [{"name": "claim", "resourceClaimName": pod.name}]
        self._create(pod)

    def _end(self, pod: Object) -> None:
        self._meddling.touch_group_of(pod)
        self._store.replace_stored(PODS, pod | {"status": pod["status"] | {"phase": "Succeeded"}})

    def _make_again(self, pod: Object) -> None:
        self._meddling.touch_group_of(pod)
        again = make_pod(pod["metadata"]["name"]).labels(pod["metadata"].get("labels") or {})
        kept = ("containers", "schedulingGroup", "nodeSelector", "priorityClassName", "resourceClaims")
        again["spec"].update({field: pod["spec"][field] for field in kept if field in pod["spec"]})
        self._delete(pod)
        self._create(again)

    def _delete(self, pod: Object) -> None:
        self._store.delete(PODS, pod["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)
