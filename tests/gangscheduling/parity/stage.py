"""One side's play of situations on the API, and what is seen of them: nodes, what runs there, then group by group."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.builders import PodDict, make_pod
from tests.controlplane.api import Api
from tests.controlplane.plane import SCHEDULER, ControlPlane
from tests.deployed import log_in_as_deployed
from tests.e2e.muster_process import Options, running
from tests.gangscheduling.parity.observed import Observed, ObservedGroup, ObservedPod
from tests.gangscheduling.real.native import WORKLOAD, NativeCluster
from tests.gangscheduling.situations import Group, Situation
from tests.gangscheduling.world import make_members
from tests.namespaces import create_namespace, remove_namespace
from tests.parity.choices import TRACE, Recorded, SchedulerLog
from tests.parity.world import conditions_of

GATES = {
    "GenericWorkload": True,
    "TopologyAwareWorkloadScheduling": True,
    "CompositePodGroup": True,
    "PodGroupPreemptionPolicy": True,
}
THEIRS, OURS = "default-scheduler", "native"
_HIGH, _MEEK = "parity-high", "parity-meek"
_CLASSES = (
    {"metadata": {"name": _HIGH}, "value": 1000},
    {"metadata": {"name": _MEEK}, "value": 1000, "preemptionPolicy": "Never"},
)
_RACK: Mapping[str, Any] = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
_HEARD_SECONDS = 0.5


class Stage:
    """One side's play of situations, in a namespace of its own."""

    def __init__(self, plane: ControlPlane, api: Api, scheduler: str, choices: SchedulerLog | Recorded) -> None:
        self._api = api
        self._plane = plane
        self._scheduler = scheduler
        self._choices = choices

    @contextmanager
    def play(self, situation: Situation) -> Iterator["Scene"]:
        """Create all objects, then delete them."""
        name = create_namespace(self._api)
        cluster = NativeCluster(self._plane, self._api, name, self._scheduler)
        scene = Scene(cluster, situation, self._choices)
        try:
            yield scene
        finally:
            cluster.remove_nodes()
            remove_namespace(self._api, name)


class Scene:
    """A situation on the API, for one scheduler."""

    def __init__(self, cluster: NativeCluster, situation: Situation, choices: SchedulerLog | Recorded) -> None:
        self._cluster = cluster
        self._situation = situation
        self._choices = choices
        self._low: set[str] = set()
        self._placed: set[str] = set()

    def begin(self) -> None:
        """Nodes come."""
        for number, (cpu, rack) in enumerate(self._situation.nodes):
            self._cluster.add_nodes(f"node-{number}", cpu=str(cpu), labels={"rack": rack})
        for number, count in enumerate(self._situation.running):
            for index in range(count):
                pod = make_pod(f"low-{number}-{index}").requests(cpu="1").node(f"node-{number}")
                self._cluster.add(_brief(pod))
                self._low.add(pod.name)
        for composite in self._situation.composites:
            more = {**_RACK} if composite.rack else {}
            if composite.parent:
                more["parentCompositePodGroupName"] = composite.parent
            if composite.high:
                more |= {"priorityClassName": _HIGH, "preemptionPolicy": "PreemptLowerPriority"}
            self._cluster.add_composite(composite.name, composite.min_group_count, **more)

    def add(self, group: Group) -> None:
        """A group comes with its pods."""
        more: dict[str, Any] = {**_RACK} if group.rack else {}
        if group.parent:
            more |= {"parentCompositePodGroupName": group.parent, "workloadRef": WORKLOAD}
        if group.whole:
            more["disruptionMode"] = {"all": {}}
        pods = [_brief(pod) for pod in make_members(group.name, group.members, cpu=str(group.cpu))]
        if not group.high:
            self._low |= {pod.name for pod in pods}
        else:
            more["priorityClassName"] = _MEEK if group.meek else _HIGH
            more["preemptionPolicy"] = "Never" if group.meek else "PreemptLowerPriority"
            for pod in pods:
                pod["spec"]["priorityClassName"] = more["priorityClassName"]
        for pod in pods[: group.running]:
            pod["spec"]["nodeName"] = "node-0"
            self._placed.add(pod.name)
        if group.odd:
            pods[-1]["spec"]["priorityClassName"] = "system-cluster-critical"
        if group.odd or group.parent or (group.rack and group.members > (group.min_count or 0)):
            self._cluster.add(*pods)  # the group comes last: what its first pods alone would get is left to chance
            time.sleep(_HEARD_SECONDS)
            self._cluster.add_group(group.name, group.min_count, **more)
        else:
            self._cluster.add_group(group.name, group.min_count, **more)
            self._cluster.add(*pods)

    def change(self, group: Group) -> None:
        """The group needs another number of pods."""
        if group.later is not None:
            self._cluster.change_min_count(group.name, group.later)

    def seen(self) -> Observed | None:
        """What has become of all groups by now; None while a decision is not written down yet."""
        pods = self._cluster.api.get(f"/api/v1/namespaces/{self._cluster.namespace}/pods")["items"]
        groups = {}
        for each in self._cluster.groups():
            members = {
                pod["metadata"]["name"]: self._pod(pod) for pod in pods if _group(pod) == each["metadata"]["name"]
            }
            if any(member is None for member in members.values()):
                return None
            known = {name: member for name, member in members.items() if member is not None}
            groups[each["metadata"]["name"]] = self._group(each, known)
        there = {pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
        return Observed(groups, frozenset(self._low - there))

    def _group(self, group: Mapping[str, Any], members: Mapping[str, ObservedPod]) -> ObservedGroup:
        racks = {f"node-{number}": rack for number, (_, rack) in enumerate(self._situation.nodes)}
        log, name = self._choices, f"{self._cluster.namespace}/{group['metadata']['name']}"
        return ObservedGroup(
            quorum=group["spec"]["schedulingPolicy"].get("gang", {"minCount": 1})["minCount"],
            constrained="schedulingConstraints" in group["spec"],
            domains=frozenset(racks[pod.node] for pod in members.values() if pod.node),
            conditions=conditions_of(group),
            pods=members,
            placements=dict(log.placements(name)) if isinstance(log, SchedulerLog) else {},
        )

    def _pod(self, pod: Mapping[str, Any]) -> ObservedPod | None:
        log, key = self._choices, f"{self._cluster.namespace}/{pod['metadata']['name']}"
        node, nominated = pod["spec"].get("nodeName", ""), pod.get("status", {}).get("nominatedNodeName", "")
        decided = node and pod["metadata"]["name"] not in self._placed
        if decided and not log.knows(key, node):
            return None
        return ObservedPod(
            node=node,
            nominated=nominated,
            conditions=conditions_of(pod),
            choice=log.choice(key, node) if decided else None,
            scores=dict(log.scores(key, node)) if decided and isinstance(log, SchedulerLog) else {},
        )


@contextmanager
def stages(folder: Path) -> Iterator[tuple[Stage, Stage]]:
    """kube-scheduler's and Muster's, on one control plane."""
    with ControlPlane(folder, feature_gates=GATES, runtime_config={"api/all": True}) as plane, plane.api() as api:
        for each in _CLASSES:
            api.post("/apis/scheduling.k8s.io/v1/priorityclasses", each)
        # The longest backoff is of one second: whoever may be tried again has been when all is calm.
        connection = {"kubeconfig": str(plane.kubeconfig(SCHEDULER)), "qps": 1000, "burst": 1000}
        plane.start_scheduler({"clientConnection": connection, "podMaxBackoffSeconds": 1}, TRACE)
        recording = folder / "muster.recording"
        kubeconfig, log = log_in_as_deployed(plane), folder / "muster.log"
        with running(Options(kubeconfig=kubeconfig, log=log, names=[OURS], recording=recording)):
            theirs = Stage(plane, api, THEIRS, SchedulerLog(plane.files.log("kube-scheduler")))
            yield theirs, Stage(plane, api, OURS, Recorded(recording))


def _brief(pod: PodDict) -> PodDict:
    """The pod is removed as soon as it is deleted, as no kubelet runs it."""
    pod["spec"]["terminationGracePeriodSeconds"] = 0
    return pod


def _group(pod: Mapping[str, Any]) -> str:
    name: str = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
    return name
