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
"""The schedulerName of pods of another scheduler."""


class PodActs:
    """Carries out acts on pods. Losses and bindings of members are recorded in `meddling`."""

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
        """Create pods that need devices, with their claims."""
        for number in range(many):
            self._claim(make_pod(f"{name}-{number}").requests(cpu=f"{cpu}m"), devices)

    def member_comes(self, group: str, number: int, cpu: int, native: bool, *, urgent: bool = False) -> None:
        self._create(member_of(group, number, cpu, native, urgent=urgent))

    def claiming_member_comes(self, group: str, number: int, cpu: int, native: bool, *, urgent: bool) -> None:
        """Create a member that needs a device, with its claim."""
        self._claim(member_of(group, number, cpu, native, urgent=urgent), 1)

    def stranger_comes(self, name: str, where: float, cpu: int) -> None:
        """Create a pod that another scheduler binds."""
        node = one_among(self._server.objects(NODES), where)
        if node is not None:
            self._create(make_pod(name).scheduler(STRANGER).requests(cpu=f"{cpu}m"))
            self.bind(name, node["metadata"]["name"])

    def pod_goes(self, pick: float) -> None:
        pod = one_among(self._server.objects(PODS), pick)
        if pod is not None:
            self._meddling.touch_group_of(pod)
            self._delete(pod)

    def pod_ends(self, pick: float) -> None:
        pod = one_among([pod for pod in self._server.objects(PODS) if pod["spec"].get("nodeName")], pick)
        if pod is not None:
            self._end(pod)

    def member_ends(self, name: str) -> None:
        """Let a running member succeed."""
        pod = self._store.get(PODS, name, namespace=NAMESPACE).obj
        if pod["spec"].get("nodeName"):
            self._end(pod)

    def pod_is_made_again(self, pick: float) -> None:
        """Delete a pod and recreate it at once under the same name, as a StatefulSet does."""
        pod = one_among(self._server.objects(PODS), pick)
        if pod is not None and pod["spec"]["schedulerName"] != STRANGER:
            self._make_again(pod)

    def member_is_made_again(self, name: str) -> None:
        """Delete and recreate a member, if it exists."""
        self._make_again(self._store.get(PODS, name, namespace=NAMESPACE).obj)

    def pod_is_withdrawn(self, pod: Object) -> None:
        """Delete a pod that is not needed any more, as a user does."""
        self._delete(pod)

    def rogue_binds(self, pick: float, where: float) -> None:
        """Bind one of Muster's pods, as a scheduler does that mistakes it for its own."""
        waiting = [pod for pod in self._server.objects(PODS) if not pod["spec"].get("nodeName")]
        pod, node = one_among(waiting, pick), one_among(self._server.objects(NODES), where)
        if pod is not None and node is not None:
            self._meddling.give(pod)
            self.bind(pod["metadata"]["name"], node["metadata"]["name"])

    def bind(self, pod: str, node: str) -> None:
        """Bind the pod of this name, as another client."""
        target = {"kind": "Node", "name": node}
        actions.bind(self._store, pod, {"metadata": {"name": pod}, "target": target}, namespace=NAMESPACE)

    def _create(self, pod: PodDict) -> None:
        self._store.create(PODS, pod, namespace=NAMESPACE)

    def _claim(self, pod: PodDict, devices: int) -> None:
        """Create a claim for some devices."""
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
