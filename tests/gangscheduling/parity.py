"""Compares Muster and kube-scheduler on native groups: `python -m tests.gangscheduling.parity [COUNT [FIRST]] [trees]`.

Both run on one control plane and answer to names of their own. Each situation is played for one after the other: nodes
with pods that run on them, then groups one by one, some of whose pods run already, some of which need another number of
pods after a while, some of which may evict others. What is compared once all is settled: how many pods of each group
have nodes, in how many domains, what the group's condition says, and what each pod without a node is told, what came of
preemption included. Left out is how many pods were evicted, what kube-scheduler's gate for topologies puts around the
text of a group without one, and its word on claims for devices of groups that have none.

Muster tells other numbers alone only once in half a minute, and looks at a group that waits only when something may
help it. So texts of pods are compared without numbers, and of groups that wait while others come only what they are.
Of pods that come when their group has its quorum, those that are alike are told by one of them.
A group whose quorum has nodes counts as scheduled: kube-scheduler takes that back when a try of more pods fails while
it has not heard of its own word yet, and never says it of pods that ran before.

Of trees of groups Muster tells a pod that found no node what it lacks, kube-scheduler in some cases what the tree does:
there only the reasons of pods are compared, and in trees with topology constraints those of groups.

Where no domain takes a group, pods are told what one of them lacks, kube-scheduler's by chance: that is left out, too.

Where a group makes room, kube-scheduler takes nodes, or a rack, at random and evicts who is there. Muster may evict
others, and fewer, and more only where it takes another rack; a situation is followed no further from there.
"""

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.builders import PodDict, make_pod
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import log_in_as_deployed
from tests.e2e.eventually import LOOK_EVERY_SECONDS
from tests.e2e.muster_process import Options, running
from tests.gangscheduling.real.native import WORKLOAD, NativeCluster
from tests.gangscheduling.situations import Group, Situation, make_situation, make_tree_situation
from tests.gangscheduling.world import make_members
from tests.namespaces import create_namespace, remove_namespace

GATES = {
    "GenericWorkload": True,
    "TopologyAwareWorkloadScheduling": True,
    "CompositePodGroup": True,
    "PodGroupPreemptionPolicy": True,
}
THEIRS, OURS = "default-scheduler", "native"
_UNSCHEDULABLE = "pod group is unschedulable"
_NO_PLACEMENT = "pod group is unschedulable, 0/1 placements are available, first placement status: "
_PREEMPTION = ", pod group preemption: "
_NO_CLAIMS = ", deallocation and deletion of ResourceClaims completed"
_ALONE = re.compile(r"(?<!pod group) preemption: .*")
_VICTIMS = re.compile(r"\d+ victims")
_NUMBERS = re.compile(r"\d+")
_CALM_SECONDS = 0.8
_CALM_AFTER_BACKOFF_SECONDS = 2.5
_CALM_AFTER_LONG_BACKOFF_SECONDS = 3.5
"""kube-scheduler's backoff grows with the root of the number of pods that wait together."""
_HIGH, _MEEK = "parity-high", "parity-meek"
_CLASSES = (
    {"metadata": {"name": _HIGH}, "value": 1000},
    {"metadata": {"name": _MEEK}, "value": 1000, "preemptionPolicy": "Never"},
)
_RACK: Mapping[str, Any] = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
_HEARD_SECONDS = 0.5
_WITHIN_SECONDS = 12.0


@dataclass
class Outcome:
    """What became of each group, by its name."""

    bound: dict[str, int] = field(default_factory=dict)
    racks: dict[str, int] = field(default_factory=dict)
    said: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=dict)
    high: dict[str, tuple[int, int]] = field(default_factory=dict)
    evicted: int = 0

    def when(self, acting: str) -> "Outcome":
        """What counts of it while this group comes or changes."""
        waiting = {name for name, (status, *_) in self.said.items() if name != acting and status == "False"}
        said = {name: (*said[:2], "" if name in waiting else said[2]) for name, said in self.said.items()}
        told = {name: [str(len(told))] if name in waiting else told for name, told in self.told.items()}
        return replace(self, said=said, told=told)

    @property
    def transient(self) -> bool:
        """Whether kube-scheduler will try again: it has not heard of a group everywhere yet, or of some of its pods."""
        unheard = any("plugins: not found" in message for _, _, message in self.said.values())
        return unheard or any("" in told and any(told) for told in self.told.values())

    def spares(self, theirs: "Outcome") -> bool:
        """Whether pods were evicted, here no more than there, and the groups that made room fared the same."""
        by_chance = any(racks for _, racks in theirs.high.values())
        fewer = self.evicted <= theirs.evicted or (by_chance and self.evicted > 0)
        return theirs.evicted > 0 and fewer and self.high == theirs.high


class Stage:
    """One side's play of situations, in a namespace of its own."""

    def __init__(self, plane: ControlPlane, api: Api, scheduler: str) -> None:
        self._api = api
        self._plane = plane
        self._scheduler = scheduler

    @contextmanager
    def play(self, situation: Situation) -> Iterator["Scene"]:
        """All of it comes, and goes again."""
        name = create_namespace(self._api)
        cluster = NativeCluster(self._plane, self._api, name, self._scheduler)
        scene = Scene(cluster, situation)
        try:
            yield scene
        finally:
            cluster.remove_nodes()
            remove_namespace(self._api, name)


class Scene:
    """A situation on the API, for one scheduler."""

    def __init__(self, cluster: NativeCluster, situation: Situation) -> None:
        self._cluster = cluster
        self._situation = situation
        self._low = 0

    def begin(self) -> None:
        """Nodes come."""
        for number, (cpu, rack) in enumerate(self._situation.nodes):
            self._cluster.add_nodes(f"node-{number}", cpu=str(cpu), labels={"rack": rack})
        for number, count in enumerate(self._situation.running):
            self._low += count
            for index in range(count):
                self._cluster.add(_brief(make_pod(f"low-{number}-{index}").requests(cpu="1").node(f"node-{number}")))

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
        self._low += 0 if group.high else len(pods)
        if group.high:
            more["priorityClassName"] = _MEEK if group.meek else _HIGH
            more["preemptionPolicy"] = "Never" if group.meek else "PreemptLowerPriority"
            for pod in pods:
                pod["spec"]["priorityClassName"] = more["priorityClassName"]
        for pod in pods[: group.running]:
            pod["spec"]["nodeName"] = "node-0"
        if group.odd:
            pods[-1]["spec"]["priorityClassName"] = "system-cluster-critical"
        if group.odd or group.parent or (group.rack and group.min_count is None):
            self._cluster.add(*pods)  # the group comes last: what its first pod alone would get is left to chance
            time.sleep(_HEARD_SECONDS)
            self._cluster.add_group(group.name, group.min_count, **more)
        else:
            self._cluster.add_group(group.name, group.min_count, **more)
            self._cluster.add(*pods)

    def change(self, group: Group) -> None:
        """The group needs another number of pods."""
        if group.later is not None:
            self._cluster.change_min_count(group.name, group.later)

    def outcome(self) -> Outcome:
        """What has become of all groups by now."""
        pods = self._cluster.api.get(f"/api/v1/namespaces/{self._cluster.namespace}/pods")["items"]
        high = {group.name for group in self._situation.groups if group.high}
        found = Outcome(evicted=self._low - sum(_group(pod) not in high for pod in pods))
        for each in self._cluster.groups():
            name = each["metadata"]["name"]
            its = [pod for pod in pods if _group(pod) == name]
            nodes = [pod["spec"]["nodeName"] for pod in its if pod["spec"].get("nodeName")]
            found.bound[name] = len(nodes)
            racks = {self._situation.nodes[int(node.partition("-")[2])][1] for node in nodes}
            constrained = "schedulingConstraints" in each["spec"]
            in_domains = any(composite.rack for composite in self._situation.composites)
            found.racks[name] = len(racks) if constrained else 0
            if name in high:
                found.high[name] = found.bound[name], found.racks[name]
            conditions = each.get("status", {}).get("conditions", ())
            said = next((each for each in conditions if each["type"] == "PodGroupInitiallyScheduled"), None)
            gang = each["spec"]["schedulingPolicy"].get("gang", {"minCount": 1})
            if len(nodes) >= gang["minCount"]:
                found.said[name] = "True", "Scheduled", ""
            elif said is not None:
                message = _plain(said.get("message", ""))
                if (constrained or self._situation.composites) and message.startswith(_UNSCHEDULABLE):
                    message = _UNSCHEDULABLE  # kube-scheduler says no more of a group that has too few pods
                found.said[name] = said["status"], said["reason"], "" if in_domains else message
            waiting = [pod for pod in its if not pod["spec"].get("nodeName")]
            message = found.said.get(name, ("", "", ""))[2]
            by_chance = in_domains or "placements are available" in message or message == _UNSCHEDULABLE
            told = sorted(_told(pod) for pod in waiting)
            if self._situation.composites:
                told = [each.partition(":")[0] for each in told]
            if len(nodes) >= gang["minCount"]:
                told = sorted({*told} - {""})
            found.told[name] = ["?"] * len(waiting) if by_chance else told
        return found

    def settled(self, calm_seconds: float) -> Outcome:
        """What has become of them when nothing has changed for so long."""
        last, since, began = self.outcome(), time.monotonic(), time.monotonic()
        while time.monotonic() - since < calm_seconds and time.monotonic() - began < _WITHIN_SECONDS:
            time.sleep(LOOK_EVERY_SECONDS)
            now = self.outcome()
            if now != last or now.transient:
                last, since = now, time.monotonic()
        return last

    def until(self, wanted: Outcome, acting: str) -> Outcome:
        """What has become of them when it is this, or else in the end."""
        began = time.monotonic()
        while (now := self.outcome().when(acting)) != wanted and time.monotonic() - began < _WITHIN_SECONDS:
            time.sleep(LOOK_EVERY_SECONDS)
        return now


@dataclass
class Comparison:
    """What came of comparing situations.

    Attributes:
        others: in how many Muster evicted others.
        broken: in how many kube-scheduler failed time and again by an error of its own.
    """

    compared: int = 0
    others: int = 0
    broken: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        count = len(self.differences)
        apart = f"in {self.others} Muster evicted others, in {self.broken} kube-scheduler did not get on"
        return f"{self.compared} situations compared, {count} differences; {apart}"


def compare(theirs: Stage, ours: Stage, situation: Situation, into: Comparison) -> None:
    """Play the situation for kube-scheduler first, then for Muster."""
    acts: list[tuple[str, Group]] = []
    for group in situation.groups:
        acts.append(("comes", group))
        if group.later is not None:
            acts.append(("changes", group))
    wanted: list[Outcome] = []
    with theirs.play(situation) as scene:
        scene.begin()
        for act, group in acts:
            (scene.add if act == "comes" else scene.change)(group)
            waits = act == "changes" or situation.evicts
            calm = _CALM_AFTER_BACKOFF_SECONDS if waits else _CALM_SECONDS
            wanted.append(scene.settled(_CALM_AFTER_LONG_BACKOFF_SECONDS if situation.composites else calm))
    into.compared += 1
    with ours.play(situation) as scene:
        scene.begin()
        for (act, group), outcome in zip(acts, wanted, strict=True):
            (scene.add if act == "comes" else scene.change)(group)
            if outcome.transient:
                into.broken += 1
                return
            wanted_now = outcome.when(group.name)
            found = scene.until(wanted_now, group.name)
            if found.spares(wanted_now):
                into.others += 1
                return
            if found != wanted_now:
                words = f"when {group.name} {act}:\n  kube-scheduler: {wanted_now}\n  Muster: {found}"
                into.differences.append(f"{situation}\n{words}")
                return


@contextmanager
def stages(folder: Path) -> Iterator[tuple[Stage, Stage]]:
    """kube-scheduler's and Muster's, on one control plane."""
    with ControlPlane(folder, feature_gates=GATES, runtime_config={"api/all": True}) as plane, plane.api() as api:
        for each in _CLASSES:
            api.post("/apis/scheduling.k8s.io/v1/priorityclasses", each)
        # The longest backoff is of one second: whoever may be tried again has been when all is calm.
        plane.start_scheduler({"clientConnection": _connection(plane), "podMaxBackoffSeconds": 1})
        options = Options(kubeconfig=log_in_as_deployed(plane), log=folder / "muster.log", names=[OURS])
        with running(options):
            yield Stage(plane, api, THEIRS), Stage(plane, api, OURS)


def _connection(plane: ControlPlane) -> Mapping[str, object]:
    return {"kubeconfig": str(plane.kubeconfig("system:kube-scheduler")), "qps": 1000, "burst": 1000}


def _brief(pod: PodDict) -> PodDict:
    """The pod is gone as soon as it is deleted: nobody runs it."""
    pod["spec"]["terminationGracePeriodSeconds"] = 0
    return pod


def _group(pod: Mapping[str, Any]) -> str:
    name: str = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
    return name


def _plain(message: str) -> str:
    """Without what is left to chance; what came of preemption is told once for each part of a tree."""
    reason, *preemption = map(_without_placement, message.replace(_NO_CLAIMS, "").split(_PREEMPTION))
    return _PREEMPTION.join([reason, *dict.fromkeys(_VICTIMS.sub("n victims", each) for each in preemption)])


def _without_placement(message: str) -> str:
    before, tried, _ = message.replace(_NO_PLACEMENT, "").partition("first placement status:")
    return before + tried


def _told(pod: Mapping[str, Any]) -> str:
    conditions = pod.get("status", {}).get("conditions", ())
    said = next((each for each in conditions if each["type"] == "PodScheduled"), None)
    return "" if said is None else f"{said['reason']}: {_NUMBERS.sub('n', _plain(_ALONE.sub('', said['message'])))}"


def main() -> None:
    make = make_tree_situation if "trees" in sys.argv else make_situation
    given = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    count, first = (*given, *(150, 0)[len(given) :])
    found = Comparison()
    with tempfile.TemporaryDirectory(prefix="muster-parity-") as folder, stages(Path(folder)) as (theirs, ours):
        for seed in range(first, first + count):
            known = len(found.differences)
            compare(theirs, ours, make(seed), found)
            for difference in found.differences[known:]:
                print(f"{seed}: {difference}", flush=True)
    print(found)
    sys.exit(bool(found.differences))


if __name__ == "__main__":
    main()
