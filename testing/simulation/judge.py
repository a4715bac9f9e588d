"""What must hold in a simulation, whatever happens: looked at with every request, every few steps, and at rest.

A judge sees what the API sees and what each process believes. It notes what is wrong and lets the run go on, so that
everything that a seed shows is told at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from muster.framework.cache.recount import differences
from muster.framework.model.quantity import milli_value, nanos
from muster.operator.process.process import Process
from muster.sandbox.kinds import NODES, PODS
from muster.sandbox.objects import Object

from .replica import Replica
from .server import Answer, Request, SimulatedServer
from .world import GROUP_LABEL, STRANGER, ZONE, World

_ENDED = ("Succeeded", "Failed")
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/muster"
_WRITES_A_POD = 60
"""Of all kinds, on average, with every fault. More is a process that repeats itself."""
_WRITES_BESIDE = 400


class Judge:
    """Looks on.

    Attributes:
        wrong: what did not hold, in words.
        bound: who bound which pod where, by UID.
    """

    def __init__(self, server: SimulatedServer, replicas: Sequence[Replica], world: World) -> None:
        self.wrong: list[str] = []
        self.bound: dict[str, tuple[str, str]] = {}
        self.writes: Counter[str] = Counter()
        self._server = server
        self._replicas = replicas
        self._world = world
        self._scheduled: set[str] = set()
        self._known: set[str] = set()
        self._cursor = server.store.ledger.cursor(PODS, server.store.ledger.revision)
        server.on_request = self._on_request
        self._listening = server.store.ledger.listening(self._on_pods, PODS)
        self._listening.__enter__()

    def look(self) -> None:
        """Every few steps: what each process counts is what it would count anew."""
        for replica in self._replicas:
            if replica.process is not None and not replica.process.engine.standstill.under_way:
                self._blame(replica, differences(replica.process.engine.cache))

    def at_rest(self) -> None:
        """When nothing has happened for long, and everything works."""
        leaders = [replica for replica in self._replicas if replica.process and replica.process.leadership.may_write()]
        if len(leaders) != 1:
            self.wrong.append(f"at rest there are {len(leaders)} leaders")
            return
        leader, process = leaders[0], leaders[0].process
        assert process is not None
        self._blame(leader, (f"at rest, {fault}" for fault in self._of_leader(process)))
        self.wrong += self._of_gangs()
        self.wrong += self._of_room(process)
        if sum(self.writes.values()) > _WRITES_A_POD * len(self._known) + _WRITES_BESIDE:
            self.wrong.append(f"{sum(self.writes.values())} writes for {len(self._known)} pods: {dict(self.writes)}")

    # With every request.

    def _on_request(self, request: Request, answer: Answer) -> None:
        if request.method == "GET":
            return
        self.writes[f"{request.method} {_resource(request.path)}"] += "/leases" not in request.path
        if answer.good and request.path.endswith("/binding"):
            self._on_binding(request)

    def _on_binding(self, request: Request) -> None:
        binding = msgspec.json.decode(request.data or b"")
        name, node = binding["metadata"]["name"], binding["target"]["name"]
        pod = self._server.store.get(PODS, name, namespace=request.path.split("/")[4]).obj
        uid = pod["metadata"]["uid"]
        if uid in self.bound:
            self.wrong.append(f"pod {name} was bound twice: {self.bound[uid]} and {(request.sender, node)}")
        self.bound[uid] = (request.sender, node)
        if binding["metadata"].get("uid") != uid:
            self.wrong.append(f"pod {name} was bound by a Binding without its UID")
        holder = self._holder()
        if not holder.endswith(f"_{request.sender}"):
            self.wrong.append(f"{request.sender} bound {name} while {holder or 'nobody'} held the lease")
        asked = sum(_cpu(each) for each in self._on_node(node) if each["metadata"]["uid"] in self.bound)
        found = self._server.store.find(NODES, node)
        if found is not None and asked > (has := _allocatable(found.obj)):
            self.wrong.append(f"{request.sender} bound {name} to {node}, where our pods now ask {asked}m of {has}m")

    def _on_pods(self) -> None:
        """PodScheduled of a pod that we bound never goes from True to False."""
        ledger = self._server.store.ledger
        changes, self._cursor = ledger.read(PODS, self._cursor)
        for change in changes:
            meta = change.entry.obj["metadata"]
            self._known.add(meta["uid"])
            conditions = change.entry.obj["status"].get("conditions") or ()
            status = next((each["status"] for each in conditions if each["type"] == "PodScheduled"), None)
            if status == "True":
                self._scheduled.add(meta["uid"])
            elif status == "False" and meta["uid"] in self._scheduled and meta["uid"] in self.bound:
                self.wrong.append(f"pod {meta['name']} was scheduled and then said not to be")
                self._scheduled.discard(meta["uid"])

    # At rest.

    def _of_leader(self, process: Process) -> Iterator[str]:
        """What the leader believes is what the API has."""
        engine = process.engine
        pods = [pod for pod in self._server.objects(PODS) if pod["status"].get("phase") not in _ENDED]
        counted = {info.uid: node for info, node in engine.cache.placements()}
        there = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}
        if counted != there:
            yield f"the cache counts {sorted(counted.items() - there.items())} too many and lacks " + str(
                sorted(there.items() - counted.items())
            )
        nodes = {node["metadata"]["name"] for node in self._server.objects(NODES)}
        known = {name for name in engine.cache.snapshot.names if engine.cache.snapshot.live_row_of(name) is not None}
        if nodes != known:
            yield f"it knows the nodes {sorted(known)}, and there are {sorted(nodes)}"
        if engine.cache.assumed_count or len(engine.waiting):
            yield f"{engine.cache.assumed_count} pods are assumed and {len(engine.waiting)} held by Permit"
        waiting = sorted(pod["metadata"]["uid"] for pod in pods if _ours(pod) and not pod["spec"].get("nodeName"))
        queued = sorted(line.uid for line in engine.queue.dump())
        if waiting != queued:
            yield f"the queue has {queued}, and the pods {waiting} wait"
        missing = process.watches.missing()
        if missing is not None:
            yield missing

    def _of_gangs(self) -> Iterator[str]:
        """A group runs whole or not at all, as far as it is up to us."""
        kind = self._server.store.kinds.by_path("scheduling.x-k8s.io", "v1alpha1", "podgroups")
        assert kind is not None
        minima = {group["metadata"]["name"]: group["spec"]["minMember"] for group in self._server.objects(kind)}
        bound: Counter[str] = Counter()
        for pod in self._server.objects(PODS):
            group = (pod["metadata"].get("labels") or {}).get(GROUP_LABEL)
            if group is not None and pod["spec"].get("nodeName"):
                bound[group] += 1
        for group, minimum in minima.items():
            if 0 < bound[group] < minimum and group not in self._world.touched:
                yield f"{bound[group]} members of {group} are bound, which needs {minimum}"

    def _of_room(self, process: Process) -> Iterator[str]:
        """Nobody waits for what is there."""
        free = {
            node["metadata"]["name"]: (
                node,
                _allocatable(node) - sum(map(_cpu, self._on_node(node["metadata"]["name"]))),
            )
            for node in self._server.objects(NODES)
            if not node["spec"].get("unschedulable")
        }
        gangs: dict[str, list[Object]] = defaultdict(list)
        for pod in self._server.objects(PODS):
            if not _ours(pod) or pod["spec"].get("nodeName"):
                continue
            group = (pod["metadata"].get("labels") or {}).get(GROUP_LABEL)
            if group is not None:
                gangs[group].append(pod)
                continue
            fits = [name for name, (node, room) in free.items() if room >= _cpu(pod) and _selects(pod, node)]
            if fits:
                name = pod["metadata"]["name"]
                yield f"at rest pod {name} waits in {_place(process, pod)}, and would fit {fits}"
        yield from self._of_gangs_room(gangs, [room for _, room in free.values()], process)

    def _of_gangs_room(self, gangs: dict[str, list[Object]], rooms: list[int], process: Process) -> Iterator[str]:
        kind = self._server.store.kinds.by_path("scheduling.x-k8s.io", "v1alpha1", "podgroups")
        assert kind is not None
        minima = {group["metadata"]["name"]: group["spec"]["minMember"] for group in self._server.objects(kind)}
        for group, members in gangs.items():
            if group not in minima:
                continue
            bound = sum(
                1
                for pod in self._server.objects(PODS)
                if (pod["metadata"].get("labels") or {}).get(GROUP_LABEL) == group and (pod["spec"].get("nodeName"))
            )
            missing = max(1, minima[group] - bound)
            places = sum(room // _cpu(members[0]) for room in rooms)
            if len(members) >= missing and places >= missing:
                where = sorted({_place(process, pod) for pod in members})
                yield f"at rest {len(members)} members of {group} wait in {where}, {missing} are needed, {places} fit"

    def _on_node(self, name: str) -> list[Object]:
        return [
            pod
            for pod in self._server.objects(PODS)
            if pod["spec"].get("nodeName") == name and pod["status"].get("phase") not in _ENDED
        ]

    def _holder(self) -> str:
        kind = self._server.store.kinds.by_path("coordination.k8s.io", "v1", "leases")
        assert kind is not None
        lease = self._server.store.find(kind, "muster", namespace="kube-system")
        return "" if lease is None else lease.obj["spec"].get("holderIdentity") or ""

    def _blame(self, replica: Replica, faults: Iterator[str] | Sequence[str]) -> None:
        self.wrong += [f"{replica.identity}: {fault}" for fault in faults]


def _place(process: Process, pod: Object) -> str:
    uid = pod["metadata"]["uid"]
    return next((line.place for line in process.engine.queue.dump() if line.uid == uid), "no place")


def _ours(pod: Object) -> bool:
    return bool(pod["spec"]["schedulerName"] != STRANGER)


def _selects(pod: Object, node: Object) -> bool:
    wanted = (pod["spec"].get("nodeSelector") or {}).get(ZONE)
    return wanted is None or node["metadata"]["labels"].get(ZONE) == wanted


def _cpu(pod: Object) -> int:
    return sum(milli_value(nanos(each["resources"]["requests"]["cpu"])) for each in pod["spec"]["containers"])


def _allocatable(node: Object) -> int:
    return milli_value(nanos(node["status"]["allocatable"]["cpu"]))


def _resource(path: str) -> str:
    return "/".join(path.split("/")[5 if path.startswith("/api/") else 6 :][::2])
