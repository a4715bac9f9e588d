"""The world outside: users, other schedulers, drivers, machines and cables. Carries out the acts of a history.

Objects are changed in the API's store directly, as if by somebody with a good connection. Each act has a method of its
name; one that finds nobody it could concern does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import TypeVar

from muster.framework.model.quantity import milli_value, nanos
from muster.sandbox import actions
from muster.sandbox.errors import ApiError
from muster.sandbox.kinds import (
    COMPOSITE_POD_GROUPS,
    DEVICE_CLASSES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from muster.sandbox.objects import Object
from muster.testing.builders import PodDict, make_node, make_pod

from .acts import NODE_CPU, RACK, ZONE, Act
from .loop import SimulatedLoop
from .members import APP, URGENT, group_of, member_of, one_of
from .owners import Owners
from .passing import AT_ONCE, NAMESPACE
from .replica import Replica
from .server import SimulatedServer
from .streams import Record
from .traits import REQUIRED, Traits, annotations_of, labelled_spec, native_spec

T = TypeVar("T")

DEVICE = "device"
"""The class of all devices."""
STRANGER = "stranger"
"""The schedulerName of pods that are none of Muster's."""
_TOO_LATE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class World(Owners):
    """What acts on a cluster.

    Attributes:
        touched: by a group's name, when somebody outside last took members from it or changed it, or until when that
            may have gone unnoticed by a process whose watches were silent.
        given: groups of which another scheduler bound a member.
    """

    def __init__(
        self, server: SimulatedServer, replicas: Sequence[Replica], loop: SimulatedLoop, record: Record
    ) -> None:
        super().__init__(server, replicas, loop)
        self.touched: dict[str, float] = {}
        self.given: set[str] = set()
        self._record = record
        self._store.create(PRIORITY_CLASSES, {"metadata": {"name": URGENT}, "value": 1000})
        self._store.create(DEVICE_CLASSES, {"metadata": {"name": DEVICE}, "spec": {}})

    def expect(self, history: Iterable[Act]) -> None:
        """Let all of this happen in its time, counted from now."""
        for act in history:
            self._later(act.at, self.carry_out, act)

    def carry_out(self, act: Act) -> None:
        """Let this happen. What comes too late does not: an object that is there, or is gone, or has a node by now."""
        self._record(f"{act.what} {act.given}")
        perform: Callable[..., None] = getattr(self, act.what)
        try:
            perform(*act.given)
        except ApiError as error:
            if error.code not in _TOO_LATE:
                raise

    def all_goes(self) -> None:
        """Pods and groups are deleted, all of them, and what pods claimed."""
        self.owners_go()
        for kind in (PODS, self._server.pod_groups, NATIVE_POD_GROUPS, COMPOSITE_POD_GROUPS):
            for obj in self._server.objects(kind):
                self._store.delete(kind, obj["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)
        for claim in self._server.objects(RESOURCE_CLAIMS):
            self._store.replace_stored(RESOURCE_CLAIMS, claim | {"metadata": claim["metadata"] | {"finalizers": []}})
            self._store.delete(RESOURCE_CLAIMS, claim["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)

    # Objects.

    def node_comes(self, name: str, zone: str) -> None:
        """Every other node is in the first rack of its zone."""
        rack = f"rack-{int(name.rpartition('-')[2]) % 2}"
        self._store.create(NODES, make_node(name, cpu=f"{NODE_CPU}m").labels({ZONE: zone, RACK: rack}))

    def node_goes(self, whom: float) -> None:
        """With its pods, as in a cluster that has a pod collector."""
        node = _one(self._server.objects(NODES), whom)
        if node is not None:
            name = node["metadata"]["name"]
            self._store.delete(NODES, name, options=AT_ONCE)
            if self._store.find(RESOURCE_SLICES, name) is not None:
                self._store.delete(RESOURCE_SLICES, name, options=AT_ONCE)
            for pod in self._server.objects(PODS):
                if pod["spec"].get("nodeName") == name:
                    self._touch(pod)
                    self._delete(pod)
            self._touch_those_on_their_way()

    def node_is_cordoned(self, whom: float) -> None:
        self._cordon(whom, True)

    def node_grows(self, whom: float, cpu: int) -> None:
        """It offers more than it did."""
        node = _one(self._server.objects(NODES), whom)
        if node is not None:
            has = node["status"]["allocatable"]
            more = {**has, "cpu": f"{milli_value(nanos(has['cpu'])) + cpu}m"}
            self._store.replace_stored(NODES, node | {"status": {**node["status"], "allocatable": more}})

    def node_is_uncordoned(self, whom: float) -> None:
        self._cordon(whom, None)

    def pods_come(self, name: str, many: int, cpu: int, zone: str, urgent: bool) -> None:
        for number in range(many):
            pod = one_of(name, number, cpu, urgent)
            if zone:
                pod["spec"]["nodeSelector"] = {ZONE: zone}
            self._create(pod)

    def devices_come(self, whom: float, many: int) -> None:
        """A driver publishes the devices of a node."""
        node = _one(self._server.objects(NODES), whom)
        if node is not None:
            name = node["metadata"]["name"]
            spec = {
                "driver": "devices.example.com",
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": f"device-{number}"} for number in range(many)],
            }
            self._store.create(RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})

    def claimers_come(self, name: str, many: int, cpu: int, devices: int = 1) -> None:
        """Pods that need so many devices each, with their claims."""
        for number in range(many):
            self._claim(make_pod(f"{name}-{number}").requests(cpu=f"{cpu}m"), devices)

    def pod_goes(self, whom: float) -> None:
        pod = _one(self._server.objects(PODS), whom)
        if pod is not None:
            self._touch(pod)
            self._delete(pod)

    def pod_ends(self, whom: float) -> None:
        pod = _one([pod for pod in self._server.objects(PODS) if pod["spec"].get("nodeName")], whom)
        if pod is not None:
            self._end(pod)

    def member_ends(self, name: str) -> None:
        """It runs to its end, if it runs."""
        pod = self._store.get(PODS, name, namespace=NAMESPACE).obj
        if pod["spec"].get("nodeName"):
            self._end(pod)

    def pod_is_made_again(self, whom: float) -> None:
        """A pod is deleted, and another of its name comes at once, as with a StatefulSet."""
        pod = _one(self._server.objects(PODS), whom)
        if pod is not None and pod["spec"]["schedulerName"] != STRANGER:
            self._make_again(pod)

    def member_is_made_again(self, name: str) -> None:
        """One that is named, if it is there."""
        self._make_again(self._store.get(PODS, name, namespace=NAMESPACE).obj)

    def tree_comes(self, name: str, least: int, level: str, parent: str, urgent: bool) -> None:
        """A group of groups, at least so many of which start at once, within one value of a label if it names one."""
        spec = native_spec({"gang": {"minGroupCount": least}}, level, parent, urgent)
        spec["workloadRef"] = {"workloadName": name, "templateName": "tree"}
        self._store.create(COMPOSITE_POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, namespace=NAMESPACE)

    def group_comes(
        self, name: str, minimum: int, native: bool, traits: Traits = (), urgent: bool = False, parent: str = ""
    ) -> None:
        kind = NATIVE_POD_GROUPS if native else self._server.pod_groups
        spec = labelled_spec(minimum, traits)
        if native:
            level = dict(traits).get(REQUIRED, "")
            spec = native_spec({"gang": {"minCount": minimum}}, level, parent, urgent)
        metadata = {"name": name, "annotations": annotations_of(traits, native)}
        group = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        self._store.create(kind, group, namespace=NAMESPACE)

    def group_changes(self, whom: float, by: int) -> None:
        """A group needs more members than before, or fewer."""
        group = _one(self._server.objects(self._server.pod_groups), whom)
        if group is not None:
            name, minimum = group["metadata"]["name"], max(1, group["spec"]["minMember"] + by)
            self.touch(name)
            changed = group | {"spec": group["spec"] | {"minMember": minimum}}
            self._store.update(self._server.pod_groups, name, changed, namespace=NAMESPACE)

    def group_goes(self, whom: float) -> None:
        group = _one(self._server.objects(self._server.pod_groups), whom)
        if group is not None:
            name = group["metadata"]["name"]
            self.touch(name)
            self._store.delete(self._server.pod_groups, name, namespace=NAMESPACE)

    def member_comes(self, group: str, number: int, cpu: int, native: bool, urgent: bool = False) -> None:
        self._create(member_of(group, number, cpu, native, urgent))

    def claiming_member_comes(self, group: str, number: int, cpu: int, native: bool, urgent: bool) -> None:
        """One that needs a device, with its claim."""
        self._claim(member_of(group, number, cpu, native, urgent), 1)

    def budget_comes(self, app: str, least: int | None, most: int | None) -> None:
        """Of the pods of a name, so many have to be well at least, or may be missing at most."""
        amount = ("minAvailable", least) if least is not None else ("maxUnavailable", most)
        spec = dict([("selector", {"matchLabels": {APP: app}}), amount])
        self._store.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": app}, "spec": spec}, namespace=NAMESPACE)

    def rogue_binds(self, whom: float, where: float) -> None:
        """Another scheduler takes one of our pods for its own."""
        waiting = [pod for pod in self._server.objects(PODS) if not pod["spec"].get("nodeName")]
        pod, node = _one(waiting, whom), _one(self._server.objects(NODES), where)
        if pod is not None and node is not None:
            self._touch(pod)
            self.given.add(group_of(pod) or "")
            self._bind(pod["metadata"]["name"], node["metadata"]["name"])

    def stranger_comes(self, name: str, where: float, cpu: int) -> None:
        """Another scheduler binds a pod of its own."""
        node = _one(self._server.objects(NODES), where)
        if node is not None:
            self._create(make_pod(name).scheduler(STRANGER).requests(cpu=f"{cpu}m"))
            self._bind(name, node["metadata"]["name"])

    # What makes room for a pod that waits.

    def pod_is_withdrawn(self, pod: Object) -> None:
        """Somebody does not need it any more."""
        self._delete(pod)

    def node_is_opened(self, name: str, pod: Object) -> None:
        """Somebody uncordons it."""
        self._change_node(name, "spec", {"unschedulable": None})

    def node_moves_to(self, name: str, pod: Object) -> None:
        """It comes to the zone that the pod asks for."""
        node = self._store.get(NODES, name).obj
        labels = {**node["metadata"]["labels"], ZONE: pod["spec"]["nodeSelector"][ZONE]}
        self._change_node(name, "metadata", {"labels": labels})

    def node_is_emptied(self, name: str, pod: Object) -> None:
        """All of its pods go."""
        for each in self._server.objects(PODS):
            if each["spec"].get("nodeName") == name:
                self._delete(each)

    # What acts have in common.

    def _create(self, pod: PodDict) -> None:
        self._store.create(PODS, pod, namespace=NAMESPACE)

    def _claim(self, pod: PodDict, devices: int) -> None:
        """It comes, and needs so many devices."""
        request = {"name": "request", "exactly": {"deviceClassName": DEVICE, "count": devices}}
        claim = {"metadata": {"name": pod.name}, "spec": {"devices": {"requests": [request]}}}
        self._store.create(RESOURCE_CLAIMS, claim, namespace=NAMESPACE)
        pod["spec"]["resourceClaims"] = [{"name": "claim", "resourceClaimName": pod.name}]
        self._create(pod)

    def _end(self, pod: Object) -> None:
        self._touch(pod)
        self._store.replace_stored(PODS, pod | {"status": pod["status"] | {"phase": "Succeeded"}})

    def _make_again(self, pod: Object) -> None:
        self._touch(pod)
        again = make_pod(pod["metadata"]["name"]).labels(pod["metadata"].get("labels") or {})
        kept = ("containers", "schedulingGroup", "nodeSelector", "priorityClassName", "resourceClaims")
        again["spec"].update({field: pod["spec"][field] for field in kept if field in pod["spec"]})
        self._delete(pod)
        self._create(again)

    def _delete(self, pod: Object) -> None:
        self._store.delete(PODS, pod["metadata"]["name"], namespace=NAMESPACE, options=AT_ONCE)

    def _bind(self, pod: str, node: str) -> None:
        target = {"kind": "Node", "name": node}
        actions.bind(self._store, pod, {"metadata": {"name": pod}, "target": target}, namespace=NAMESPACE)

    def _cordon(self, whom: float, cordoned: bool | None) -> None:
        node = _one(self._server.objects(NODES), whom)
        if node is not None:
            self._change_node(node["metadata"]["name"], "spec", {"unschedulable": cordoned})

    def _change_node(self, name: str, part: str, changes: Object) -> None:
        node = self._store.get(NODES, name).obj
        self._store.update(NODES, name, node | {part: {**node[part], **changes}})

    def _touch_those_on_their_way(self) -> None:
        """Groups of which some members are bound and some are not: those may have been about to be, to what is gone."""
        bound = {group_of(pod) for pod in self._server.objects(PODS) if pod["spec"].get("nodeName")}
        for pod in self._server.objects(PODS):
            if not pod["spec"].get("nodeName") and group_of(pod) in bound:
                self._touch(pod)

    def touch(self, group: str) -> None:
        """Somebody meddles with this group now."""
        self.touched[group] = max(self._loop.time(), self.unnoticed_until)

    def _touch(self, pod: Object) -> None:
        group = group_of(pod)
        if group is not None:
            self.touch(group)


def _one(of: Sequence[T], whom: float) -> T | None:
    return of[int(whom * len(of))] if of else None
