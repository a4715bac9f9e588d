"""What must hold in a simulation when nothing has happened for long and everything works.

The judge asks `Rest` about the cluster and the process that leads, and `leftovers` when all pods and groups are gone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from muster.framework.model.quantity import milli_value, nanos
from muster.framework.scheduler.explain import explain
from muster.operator.process.process import Process
from muster.sandbox.kinds import NATIVE_POD_GROUPS, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from muster.sandbox.objects import Object

from .server import SimulatedServer
from .trials import picture
from .world import STRANGER, ZONE, group_of

_ENDED = ("Succeeded", "Failed")


class Rest:
    """The cluster at rest: what the API has, and what the leader makes of it.

    `touched` are the groups that somebody else took members from, or gave some.
    """

    def __init__(self, server: SimulatedServer, process: Process, touched: set[str]) -> None:
        self._server = server
        self._process = process
        self._touched = touched
        pods = server.objects(PODS)
        self._pods = [pod for pod in pods if not _has_ended(pod)]
        self._waiting = [pod for pod in self._pods if _ours(pod) and not pod["spec"].get("nodeName")]
        self._bound_members = Counter(
            group for pod in pods if _holds_a_place(pod) and (group := group_of(pod)) is not None
        )

    def faults(self) -> Iterator[str]:
        """All that does not hold."""
        yield from self._of_belief()
        yield from self._of_gangs()
        yield from self._of_room()
        yield from self._of_questions()

    def _of_belief(self) -> Iterator[str]:
        """What the leader believes is what the API has."""
        engine = self._process.engine
        counted = {info.uid: node for info, node in engine.cache.placements()}
        there = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in self._pods if pod["spec"].get("nodeName")}
        if counted != there:
            more, less = counted.items() - there.items(), there.items() - counted.items()
            yield f"the cache counts {sorted(more)} too many, and lacks {sorted(less)}"
        nodes = {node["metadata"]["name"] for node in self._server.objects(NODES)}
        known = {name for name in engine.cache.snapshot.names if engine.cache.snapshot.live_row_of(name) is not None}
        if nodes != known:
            yield f"it knows the nodes {sorted(known)}, and there are {sorted(nodes)}"
        if engine.cache.assumed_count or len(engine.waiting):
            yield f"{engine.cache.assumed_count} pods are assumed and {len(engine.waiting)} held by Permit"
        waiting = sorted(pod["metadata"]["uid"] for pod in self._waiting)
        queued = sorted(line.uid for line in engine.queue.dump())
        if waiting != queued:
            yield f"the queue has {queued}, and the pods {waiting} wait"
        missing = self._process.watches.missing()
        if missing is not None:
            yield missing

    def _of_gangs(self) -> Iterator[str]:
        """A group runs whole or not at all, as far as it is up to us."""
        for group, minimum in self._minima().items():
            bound = self._bound_members[group]
            if 0 < bound < minimum and group not in self._touched:
                yield f"{bound} members of {group} are bound, which needs {minimum}"

    def _of_room(self) -> Iterator[str]:
        """Nobody waits for what is there."""
        free = [
            (node, allocatable(node) - sum(map(cpu, on_node(self._server, node["metadata"]["name"]))))
            for node in self._server.objects(NODES)
            if not node["spec"].get("unschedulable")
        ]
        devices = Devices(self._server)
        gangs: dict[str, list[Object]] = defaultdict(list)
        for pod in self._waiting:
            group = group_of(pod)
            if group is not None:
                gangs[group].append(pod)
            elif fits := [
                node["metadata"]["name"]
                for node, room in free
                if room >= cpu(pod) and _selects(pod, node) and devices.has(node, pod)
            ]:
                yield f"pod {pod['metadata']['name']} waits in {self._place(pod)}, and would fit {fits}"
        minima = self._minima()
        for group in filter(minima.__contains__, gangs):
            members, missing = gangs[group], max(1, minima[group] - self._bound_members[group])
            places = sum(room // cpu(members[0]) for _, room in free)
            if len(members) >= missing and places >= missing:
                where = sorted({self._place(pod) for pod in members})
                yield f"{len(members)} members of {group} wait in {where}, {missing} are needed, {places} fit"

    def _of_questions(self) -> Iterator[str]:
        """Whoever asks why a pod waits changes nothing, and is not told that it would fit."""
        engine = self._process.engine
        for line in engine.queue.dump():
            queued = engine.queue.get(line.uid)
            if queued is None or line.entity.startswith("group/"):
                continue
            before = picture(engine)
            found = explain(engine.algorithms[queued.info.pod.spec.scheduler_name], queued.info)
            if found.feasible:
                yield f"pod {line.pod} waits in {line.place}, and asked says it would fit {found.feasible}"
            if picture(engine) != before:
                yield f"asking why pod {line.pod} waits has changed something"

    def _minima(self) -> dict[str, int]:
        """How many members each group needs, of either kind."""
        labelled, native = (self._server.objects(kind) for kind in (self._server.pod_groups, NATIVE_POD_GROUPS))
        minima = {group["metadata"]["name"]: group["spec"]["minMember"] for group in labelled}
        return minima | {
            group["metadata"]["name"]: group["spec"]["schedulingPolicy"]["gang"]["minCount"] for group in native
        }

    def _place(self, pod: Object) -> str:
        uid = pod["metadata"]["uid"]
        return next((line.place for line in self._process.engine.queue.dump() if line.uid == uid), "no place")


class Devices:
    """Which devices there are, and which claim has which: (pool, device) by name of the claim."""

    def __init__(self, server: SimulatedServer) -> None:
        slices = [found["spec"] for found in server.objects(RESOURCE_SLICES)]
        self._all = {spec["pool"]["name"]: {each["name"] for each in spec["devices"]} for spec in slices}
        self.given = {
            claim["metadata"]["name"]: (result["pool"], result["device"])
            for claim in server.objects(RESOURCE_CLAIMS)
            for result in ((claim.get("status") or {}).get("allocation") or {}).get("devices", {}).get("results", ())
        }

    def has(self, node: Object, pod: Object) -> bool:
        """Whether a node has what the pod's claims need: a free device for each, or what they were given."""
        pool = node["metadata"]["name"]
        claims = [claim["resourceClaimName"] for claim in pod["spec"].get("resourceClaims") or ()]
        given = [self.given[claim][0] for claim in claims if claim in self.given]
        free = self._all.get(pool, set()) - {device for where, device in self.given.values() if where == pool}
        return all(where == pool for where in given) and len(free) >= len(claims) - len(given)


def leftovers(process: Process) -> Iterator[str]:
    """What a process still holds of pods and groups when there are none."""
    engine = process.engine
    held = {
        "pods are queued": len(list(engine.queue.dump())),
        "pods are counted": engine.cache.pod_count,
        "pods are promised a node": len(engine.nominator),
        "pods are held by Permit": len(engine.waiting),
        "pods are being bound": len(process.writers.bindings),
        "events are kept": process.writers.recorder.backlog,
    }
    return (f"{count} {what}" for what, count in held.items() if count)


def on_node(server: SimulatedServer, name: str) -> list[Object]:
    """The pods that take room on a node."""
    pods = (pod for pod in server.objects(PODS) if pod["spec"].get("nodeName") == name)
    return [pod for pod in pods if not _has_ended(pod)]


def cpu(pod: Object) -> int:
    """What a pod asks for, in thousandths of a CPU."""
    return sum(milli_value(nanos(each["resources"]["requests"]["cpu"])) for each in pod["spec"]["containers"])


def allocatable(node: Object) -> int:
    """What a node has, in thousandths of a CPU."""
    return milli_value(nanos(node["status"]["allocatable"]["cpu"]))


def _holds_a_place(pod: Object) -> bool:
    """Whether a pod counts for the quorum of its group. One that has ended does so only in Kubernetes' own groups.

    Of PodGroups by label a later run may come while pods of the run before are still there, and has to start whole.
    """
    return bool(pod["spec"].get("nodeName")) and ("schedulingGroup" in pod["spec"] or not _has_ended(pod))


def _has_ended(pod: Object) -> bool:
    return pod["status"].get("phase") in _ENDED


def _ours(pod: Object) -> bool:
    return bool(pod["spec"]["schedulerName"] != STRANGER)


def _selects(pod: Object, node: Object) -> bool:
    wanted = (pod["spec"].get("nodeSelector") or {}).get(ZONE)
    return wanted is None or node["metadata"]["labels"].get(ZONE) == wanted
