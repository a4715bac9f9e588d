"""The rules that hold in a simulation at any time: checked with every request, every few steps, and at rest.

A judge sees the API's objects and the state of each process. It records violations and lets the run continue, so that
everything a seed shows is reported at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from itertools import chain

import msgspec

from muster.framework.cache.recount import differences
from muster.framework.queue.transitions import Place
from muster.framework.scheduler.engine import Engine
from muster.operator.process.process import Process
from muster.sandbox.kinds import NATIVE_POD_GROUPS, NODES, PODS

from .acts import Act
from .amounts import SimulatedDevices, allocatable, cpu, on_node
from .evictions import EvictionJudge
from .healing import heals, unhealed
from .members import group_of
from .quotas import limit, used
from .reasons import Reasons
from .replica import Replica
from .rest import Rest, leftovers
from .server import EPOCH, Answer, Request, SimulatedServer
from .starvation import Patience, Starvation
from .tally import SeedTally
from .together import split_domains, split_slices
from .trials import watch_trials
from .wholeness import Wholeness
from .world import World

_WRITES_A_POD = 60
"""Requests of all kinds for each pod, on average, with every fault. A process with more repeats itself."""
_WRITES_BESIDE = 400
_ALWAYS_LOOK = 10


class Judge:
    """Looks on.

    Attributes:
        wrong: what did not hold, in words.
        bound: who bound which pod where, by UID.
        wholeness: of groups.
        tally: what took part, but for the history.
    """

    def __init__(self, server: SimulatedServer, replicas: Sequence[Replica], world: World) -> None:
        self.wrong: list[str] = []
        self.bound: dict[str, tuple[str, str]] = {}
        self.writes: Counter[str] = Counter()
        self.wholeness = Wholeness(server, world.meddling)
        self.tally = SeedTally()
        self._server = server
        self._replicas = replicas
        self._world = world
        self._looks = 0
        self._starvation: Starvation | None = None
        self._looked_at: dict[str, int] = {}
        self._evictions = EvictionJudge(self.tally.events, server.wall)
        self._scheduled: set[str] = set()
        self._known: set[str] = set()
        self._cursor = server.store.ledger.cursor(PODS, server.store.ledger.revision)
        server.on_request = self._on_request
        server.on_refusal = self._on_refusal
        self._listening = server.store.ledger.listening(self._on_pods, PODS)
        self._listening.__enter__()
        for replica in replicas:
            replica.on_start = partial(self._started, replica)
            if replica.process is not None:
                self._started(replica, replica.process)

    def troubles_end(self, patience: Patience) -> None:
        """Require from now on that every claimant that can be helped starts within the bound that follows from this."""
        self._starvation = Starvation(self._server, self._replicas, patience, self._server.wall() - EPOCH)

    def look(self) -> None:
        """Every few steps: each process's counts equal a recount, and each pod is in one place only.

        A cache that says of itself that it has not changed is only looked at now and then: this takes time.
        """
        self._looks += 1
        for replica in self._replicas:
            if replica.process is None or replica.process.engine.standstill.under_way:
                continue
            engine = replica.process.engine
            self._blame(replica, _misplaced(engine))
            if self._looked_at.get(replica.identity) != engine.cache.generation or self._looks % _ALWAYS_LOOK == 0:
                self._looked_at[replica.identity] = engine.cache.generation
                self._blame(replica, differences(engine.cache))
        if self._starvation is not None:
            self.wrong += self._starvation.look(self._server.wall() - EPOCH)

    def at_rest(self) -> None:
        """Judge when nothing has happened for long, and everything works."""
        leaders = [replica for replica in self._replicas if replica.leads]
        if len(leaders) != 1:
            self.wrong.append(f"at rest there are {len(leaders)} leaders")
            return
        leader, process = leaders[0], leaders[0].process
        assert process is not None
        rest = Rest(self._server, process)
        faults = [*rest.faults(), *self.wholeness.faults(), *split_slices(self._server, self._world.meddling.touched)]
        faults += unhealed(self._server, self._world.owners.losses)
        self._blame(leader, [f"at rest, {fault}" for fault in faults])
        if sum(self.writes.values()) > _WRITES_A_POD * len(self._known) + _WRITES_BESIDE:
            self.wrong.append(f"{sum(self.writes.values())} writes for {len(self._known)} pods: {dict(self.writes)}")

    def sum_up(self, history: Sequence[Act]) -> SeedTally:
        """Tally the whole run."""
        self.tally.count(history)
        self.tally.events["groups judged"] += len(self.wholeness.judged)
        self.tally.events["groups excused"] += len(self.wholeness.excused)
        if self._starvation is not None:
            self.tally.events["waited for a reservation"] += len(self._starvation.helped)
        return self.tally

    def remove_reasons(self) -> Iterator[None]:
        """At rest, without faults: a waiting pod fits once the reported reason is removed.

        Yields whenever time has to pass.
        """
        leader = next(replica for replica in self._replicas if replica.leads)
        assert leader.process is not None
        self._world.owners.owners_go()
        reasons = Reasons(self._server, self._world, leader.process)
        yield from reasons.remove()
        self._blame(leader, reasons.wrong)

    def at_the_end(self) -> None:
        """Judge after all pods and groups have been deleted for a while."""
        for replica in self._replicas:
            if replica.process is not None:
                self._blame(replica, [f"when all is gone, {left}" for left in leftovers(replica.process)])

    def _started(self, replica: Replica, process: Process) -> None:
        """Require that the process's trials leave its state unchanged."""
        self.tally.follow(process.metrics)
        watch_trials(process.engine, lambda fault: self._blame(replica, [fault]))
        self._evictions.follow(replica.identity, process.engine, lambda fault: self._blame(replica, [fault]))

    # With every request.

    def _on_request(self, request: Request, answer: Answer) -> None:
        if request.method == "GET":
            return
        self.writes[f"{request.method} {_resource(request.path)}"] += "/leases" not in request.path
        if request.path.endswith("/binding"):
            (self._on_binding if answer.good else self._on_refusal)(request)
        if answer.good and "/resourceclaims/" in request.path:
            self._on_claim(request)
        if request.path.endswith("/eviction"):
            self._on_healing(request, answer)
        if request.method == "DELETE" and "/pods/" in request.path:
            self._on_eviction(request, answer)

    def _on_claim(self, request: Request) -> None:
        """No device is given to two claims."""
        given = Counter(chain.from_iterable(SimulatedDevices(self._server).given.values()))
        twice = [f"{device} of {pool}" for (pool, device), times in given.items() if times > 1]
        if twice:
            self.wrong.append(f"{request.sender} gave {', '.join(twice)} to two claims")

    def _on_eviction(self, request: Request, answer: Answer) -> None:
        """Members of native groups are evicted one by one, unless their group says otherwise."""
        name = request.path.rpartition("/")[2]
        uid = msgspec.json.decode(request.data or b"{}").get("preconditions", {}).get("uid")
        if not self._evictions.requested(request.sender, uid):
            self.wrong.append(f"{request.sender} deletes pod {name}, and has not decided to evict it")
        self.tally.events["pods evicted"] += answer.good
        native = {group["metadata"]["name"] for group in self._server.objects(NATIVE_POD_GROUPS)}
        for group in native & {name.rpartition("-")[0]}:
            self._world.meddling.touch(group)

    def _on_healing(self, request: Request, answer: Answer) -> None:
        """Only pods of groups that heal are evicted through the eviction API."""
        name = request.path.split("/")[-2]
        if answer.good:
            self.tally.events["pods evicted to heal"] += 1
        elif answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            self.tally.events["evictions refused"] += 1
        if not heals(self._server, name):
            self.wrong.append(f"{request.sender} evicts pod {name}, whose group does not heal")

    def _on_refusal(self, request: Request) -> None:
        if not request.path.endswith("/binding"):
            return
        _, _, _, _, namespace, _, name, _ = request.path.split("/")
        found = self._server.store.find(PODS, name, namespace=namespace)
        group = None if found is None else group_of(found.obj)
        if group is not None:
            self.wholeness.refused(group)

    def _on_binding(self, request: Request) -> None:
        binding = msgspec.json.decode(request.data or b"")
        name, node = binding["metadata"]["name"], binding["target"]["name"]
        pod = self._server.store.get(PODS, name, namespace=request.path.split("/")[4]).obj
        uid = pod["metadata"]["uid"]
        if uid in self.bound:
            self.wrong.append(f"pod {name} was bound twice: {self.bound[uid]} and {(request.sender, node)}")
        self.bound[uid] = (request.sender, node)
        group = group_of(pod)
        if group is not None:
            self.wholeness.bound(group)
            self.wrong += split_domains(self._server, group, self._world.meddling.given)
            if group in self._world.holds.held_since_created:
                self.wrong.append(f"pod {name} was bound while {group} was held")
        if binding["metadata"].get("uid") != uid:
            self.wrong.append(f"pod {name} was bound by a Binding without its UID")
        if lacking := SimulatedDevices(self._server).lacking(node, pod):
            self.wrong.append(f"pod {name} was bound to {node} without the devices of {', '.join(lacking)}")
        holder = self._holder()
        if not holder.endswith(f"_{request.sender}"):
            self.wrong.append(f"{request.sender} bound {name} while {holder or 'nobody'} held the lease")
        asked = sum(cpu(each) for each in on_node(self._server, node) if each["metadata"]["uid"] in self.bound)
        found = self._server.store.find(NODES, node)
        if found is not None and asked > (has := allocatable(found.obj)):
            self.wrong.append(f"{request.sender} bound {name} to {node}, where our pods now ask {asked}m of {has}m")
        asked = used(pod for pod in self._server.objects(PODS) if pod["metadata"]["uid"] in self.bound)
        if self._world.quotas.is_known() and asked > (most := limit(self._server)):
            self.wrong.append(f"{request.sender} bound {name}, and our pods now use {asked}m of a quota of {most}m")

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

    def _holder(self) -> str:
        kind = self._server.store.kinds.by_path("coordination.k8s.io", "v1", "leases")
        assert kind is not None
        lease = self._server.store.find(kind, "muster", namespace="kube-system")
        return "" if lease is None else lease.obj["spec"].get("holderIdentity") or ""

    def _blame(self, replica: Replica, faults: Iterable[str]) -> None:
        self.wrong += [f"{replica.identity}: {fault}" for fault in faults]


def _misplaced(engine: Engine) -> Iterator[str]:
    """The pods that the queue has twice, and those that wait in it and hold a node."""
    seen: set[str] = set()
    for pod, entity in engine.queue.contents:
        uid = pod.info.uid
        if uid in seen:
            yield f"pod {uid} is queued twice"
        seen.add(uid)
        if entity.place is not Place.IN_FLIGHT and engine.cache.is_assumed(uid):
            yield f"pod {pod.info.key} waits in {entity.place.label}, and has a node"


def _resource(path: str) -> str:
    return "/".join(path.split("/")[5 if path.startswith("/api/") else 6 :][::2])
