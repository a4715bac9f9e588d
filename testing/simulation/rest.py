"""The rules that hold in a simulation when nothing has happened for long and everything works.

The judge asks `Rest` about the cluster and the leader, and `leftovers` when all pods and groups are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf

from muster.framework.model.quantity import milli_value, nanos
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.explain import explain
from muster.operator.process.process import Process
from muster.plugins.capacityscheduling.shared import quotas_in
from muster.sandbox.kinds import NODES, PODS
from muster.sandbox.objects import Object

from .amounts import has_ended, priority
from .claimants import Capacity, claimants, waiting
from .quotas import limit, used
from .reserved import Reserved
from .server import SimulatedServer
from .traits import ANYWHERE
from .trials import state_of


class Rest:
    """The cluster at rest: the API's objects, and the leader's view of them."""

    def __init__(self, server: SimulatedServer, process: Process) -> None:
        self._server = server
        self._process = process
        self._pods = [pod for pod in server.objects(PODS) if not has_ended(pod)]
        self._reserved = Reserved(process.engine)
        nodes = server.objects(NODES)
        self._usable = {node["metadata"]["name"] for node in nodes if not node["spec"].get("unschedulable")}

    def faults(self) -> Iterator[str]:
        """All violations."""
        yield from self._of_belief()
        yield from self._of_capacity()
        yield from self._of_questions()
        yield from self._of_status()

    def _of_belief(self) -> Iterator[str]:
        """The leader's view equals the API's objects."""
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
        if engine.cache.assumed_count or len(engine.waiting_pods):
            yield f"{engine.cache.assumed_count} pods are assumed and {len(engine.waiting_pods)} wait at Permit"
        wait = sorted(pod["metadata"]["uid"] for pod in waiting(self._server))
        queued = sorted(line.uid for line in engine.queue.contents.dump())
        if wait != queued:
            yield f"the queue has {queued}, and the pods {wait} wait"
        missing = self._process.informers.missing()
        if missing is not None:
            yield missing

    def _of_capacity(self) -> Iterator[str]:
        """Pods that wait though capacity is free or held by less important pods, and not reserved for others."""
        left = Capacity(self._server, kept=self._reserved.against)
        lowest = min((priority(pod) for pod in self._pods), default=0)
        is_limited = limit(self._server) < inf
        for claimant in claimants(self._server):
            if left.takes(claimant):
                where = ", ".join(sorted({self._place(pod) for pod in claimant.pods}))
                yield f"{claimant} waits in {where}, and would fit"
                continue
            if claimant.priority > lowest and not (is_limited and claimant.rule != ANYWHERE):
                kept = partial(self._stays, claimant.priority)
                after = Capacity(self._server, counts=kept, kept=self._reserved.against)
                if after.takes(claimant):
                    where = ", ".join(sorted({self._place(pod) for pod in claimant.pods}))
                    yield f"{claimant} waits in {where}, and would fit without pods of lower priority"

    def _of_questions(self) -> Iterator[str]:
        """A query why a pod waits changes nothing, and never reports that the pod would fit."""
        engine = self._process.engine
        for line in engine.queue.contents.dump():
            queued = engine.queue.contents.get(line.uid)
            if queued is None or line.entity.startswith("group/"):
                continue
            before = state_of(engine)
            found = explain(engine.algorithms[queued.info.pod.spec.scheduler_name], queued.info)
            if found.feasible:
                yield f"pod {line.pod} waits in {line.place}, and asked says it would fit {found.feasible}"
            if state_of(engine) != before:
                yield f"asking why pod {line.pod} waits has changed something"

    def _of_status(self) -> Iterator[str]:
        """The quota says what is used of it."""
        for quota in self._server.objects(self._server.elastic_quotas):
            told = quota.get("status", {}).get("used", {}).get("cpu", "0")
            if milli_value(nanos(told)) != (found := used(self._pods)):
                yield f"the quota says that {told} of cpu is used, and it is {found}m"

    def _stays(self, of: int, pod: Object) -> bool:
        """Whether a pod stays where one of this priority preempts: on a node that is cordoned or gone nothing helps."""
        return is_no_victim(of, pod) or pod["spec"].get("nodeName") not in self._usable

    def _place(self, pod: Object) -> str:
        uid = pod["metadata"]["uid"]
        return next((line.place for line in self._process.engine.queue.contents.dump() if line.uid == uid), "no place")


def is_no_victim(of: int, pod: Object) -> bool:
    """Whether a pod stays where one of this priority preempts."""
    return priority(pod) >= of


def leftovers(process: Process) -> Iterator[str]:
    """The records of pods and groups that a process keeps after all are deleted."""
    engine = process.engine
    held = {
        "pods are queued": len(list(engine.queue.contents.dump())),
        "pods are counted": engine.cache.pod_count,
        "pods are nominated": len(engine.nominator),
        "pods wait at Permit": len(engine.waiting_pods),
        "tasks run": len(process.writers.tasks),
        "events are kept": process.writers.recorder.backlog,
        "reservations are kept": len(Reserved(engine).capacities),
        "quotas are used, or have pods without a node": _using(engine),
    }
    return (f"{count} {what}" for what, count in held.items() if count)


def _using(engine: Engine) -> int:
    """The namespaces that use some of their quota, and pods that are remembered because they lack nodes."""
    quotas = quotas_in(engine.shared)
    if quotas is None:
        return 0
    ledger = quotas.ledger
    return len(quotas.short) + sum(any(ledger.used(each).values()) for each in ledger.tree.by_namespace.values())
