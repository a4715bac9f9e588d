"""Compares Muster with kube-scheduler on native groups: `python -m tests.gangscheduling.parity [COUNT] [FIRST]`.

Both run on one control plane and answer to names of their own. Each situation is played for one after the other: nodes,
then groups one by one, some of whose pods run already, some of which need another number of pods after a while. What is
compared once all is settled: how many pods of each group have nodes, in how many domains, what the group's condition
says, and what each pod without a node is told. Left out are kube-scheduler's words on preemption, after a comma, and
what its gate for topologies puts around every text: how many domains there are, and what a random one of them lacks.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import log_in_as_deployed
from tests.e2e.eventually import LOOK_EVERY_SECONDS
from tests.e2e.muster_process import Options, running
from tests.gangscheduling.real.native import NativeCluster
from tests.gangscheduling.world import make_members
from tests.namespaces import create_namespace, remove_namespace

GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
THEIRS, OURS = "default-scheduler", "native"
_NO_PLACEMENT = "pod group is unschedulable, 0/1 placements are available, first placement status: "
_CALM_SECONDS = 0.8
_WITHIN_SECONDS = 12.0


@dataclass(frozen=True)
class Group:
    """A group to be: `running` of its members are on the first node before; `later` is a minCount to come."""

    name: str
    min_count: int | None
    members: int
    cpu: int
    running: int = 0
    rack: bool = False
    later: int | None = None
    odd: bool = False


@dataclass(frozen=True)
class Situation:
    """A cluster, by the cpu and rack of its nodes, and groups that come one after another."""

    nodes: tuple[tuple[int, str], ...]
    groups: tuple[Group, ...]


@dataclass
class Outcome:
    """What became of each group, by its name."""

    bound: dict[str, int] = field(default_factory=dict)
    racks: dict[str, int] = field(default_factory=dict)
    said: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=dict)


def make_situation(seed: int) -> Situation:
    """The same for the same seed."""
    random = Random(seed)
    nodes = tuple((random.randint(1, 5), random.choice("ab")) for _ in range(random.randint(2, 5)))
    groups = []
    for number in range(random.randint(1, 2)):
        basic = random.random() < 0.2
        least = random.randint(1, 5)
        members = max(1, least + random.choice((-1, 0, 0, 0, 0, 1, 2)))
        cpu = random.choice((1, 1, 2))
        begun = random.randint(1, members - 1) if members > 1 and not number and random.random() < 0.25 else 0
        running = min(begun, nodes[0][0] // cpu)
        changes = not basic and random.random() < 0.25
        later = max(1, least + random.choice((-2, -1, 1))) if changes else None
        name = f"group-{number}"
        rack, odd = random.random() < 0.3, random.random() < 0.05
        groups.append(Group(name, None if basic else least, members, cpu, running, rack, later, odd))
    return Situation(nodes, tuple(groups))


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

    def begin(self) -> None:
        """Nodes come."""
        for number, (cpu, rack) in enumerate(self._situation.nodes):
            self._cluster.add_nodes(f"node-{number}", cpu=str(cpu), labels={"rack": rack})

    def add(self, group: Group) -> None:
        """A group comes with its pods."""
        more: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": "rack"}]}} if group.rack else {}
        self._cluster.add_group(group.name, group.min_count, **more)
        pods = make_members(group.name, group.members, cpu=str(group.cpu))
        for pod in pods[: group.running]:
            pod["spec"]["nodeName"] = "node-0"
        if group.odd:
            pods[-1]["spec"]["priorityClassName"] = "system-cluster-critical"
        self._cluster.add(*pods)

    def change(self, group: Group) -> None:
        """The group needs another number of pods."""
        if group.later is not None:
            self._cluster.change_min_count(group.name, group.later)

    def outcome(self) -> Outcome:
        """What has become of all groups by now."""
        pods = self._cluster.api.get(f"/api/v1/namespaces/{self._cluster.namespace}/pods")["items"]
        found = Outcome()
        for each in self._cluster.groups():
            name = each["metadata"]["name"]
            its = [pod for pod in pods if pod["spec"].get("schedulingGroup", {}).get("podGroupName") == name]
            nodes = [pod["spec"]["nodeName"] for pod in its if pod["spec"].get("nodeName")]
            found.bound[name] = len(nodes)
            racks = {self._situation.nodes[int(node.partition("-")[2])][1] for node in nodes}
            constrained = "schedulingConstraints" in each["spec"]
            found.racks[name] = len(racks) if constrained else 0
            conditions = each.get("status", {}).get("conditions", ())
            said = next((each for each in conditions if each["type"] == "PodGroupInitiallyScheduled"), None)
            if said is not None:
                found.said[name] = said["status"], said["reason"], _plain(said.get("message", ""))
            found.told[name] = sorted(_told(pod) for pod in its if not pod["spec"].get("nodeName"))
        return found

    def settled(self) -> Outcome:
        """What has become of them when nothing changes any more."""
        last, since, began = self.outcome(), time.monotonic(), time.monotonic()
        while time.monotonic() - since < _CALM_SECONDS and time.monotonic() - began < _WITHIN_SECONDS:
            time.sleep(LOOK_EVERY_SECONDS)
            now = self.outcome()
            if now != last:
                last, since = now, time.monotonic()
        return last

    def until(self, wanted: Outcome) -> Outcome:
        """What has become of them when it is this, or else in the end."""
        began = time.monotonic()
        while (now := self.outcome()) != wanted and time.monotonic() - began < _WITHIN_SECONDS:
            time.sleep(LOOK_EVERY_SECONDS)
        return now


def compare(theirs: Stage, ours: Stage, situation: Situation) -> list[str]:
    """Every difference, in words; the situation is played for kube-scheduler first, then for Muster."""
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
            wanted.append(scene.settled())
    differences = []
    with ours.play(situation) as scene:
        scene.begin()
        for (act, group), outcome in zip(acts, wanted, strict=True):
            (scene.add if act == "comes" else scene.change)(group)
            found = scene.until(outcome)
            if found != outcome:
                differences.append(f"when {group.name} {act}:\n  kube-scheduler: {outcome}\n  Muster: {found}")
                break
    return differences


@contextmanager
def stages(folder: Path) -> Iterator[tuple[Stage, Stage]]:
    """kube-scheduler's and Muster's, on one control plane."""
    with ControlPlane(folder, feature_gates=GATES, runtime_config={"api/all": True}) as plane, plane.api() as api:
        plane.start_scheduler({"clientConnection": _connection(plane)})
        options = Options(kubeconfig=log_in_as_deployed(plane), log=folder / "muster.log", names=[OURS])
        with running(options):
            yield Stage(plane, api, THEIRS), Stage(plane, api, OURS)


def _connection(plane: ControlPlane) -> Mapping[str, object]:
    return {"kubeconfig": str(plane.kubeconfig("system:kube-scheduler")), "qps": 1000, "burst": 1000}


def _plain(message: str) -> str:
    message = message.partition(", pod group preemption:")[0].replace(_NO_PLACEMENT, "")
    before, tried, _ = message.partition("first placement status:")
    return before + tried


def _told(pod: Mapping[str, Any]) -> str:
    conditions = pod.get("status", {}).get("conditions", ())
    said = next((each for each in conditions if each["type"] == "PodScheduled"), None)
    return "" if said is None else f"{said['reason']}: {_plain(said['message']).partition(' preemption:')[0]}"


def main() -> None:
    given = [int(argument) for argument in sys.argv[1:]]
    count, first = (*given, *(150, 0)[len(given) :])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="muster-parity-") as folder, stages(Path(folder)) as (theirs, ours):
        for seed in range(first, first + count):
            situation = make_situation(seed)
            for difference in compare(theirs, ours, situation):
                failed += 1
                print(f"{seed}: {situation}\n{difference}", flush=True)
            print(f"{seed - first + 1} situations, {failed} differences", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
