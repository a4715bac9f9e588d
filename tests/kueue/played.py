"""Kueue, played: one ClusterQueue over the objects of an API server in memory.

The real Kueue cannot be built where these tests run. This one keeps to what its documentation says: whole workloads are
admitted in the order of their priority and age, within a quota that is a number and knows no nodes; a workload with a
topology gets nodes that have room by Kueue's own count; one of higher priority evicts those of lower ones; and one that
is not ready in time is evicted and queued again.
"""

from collections.abc import Callable, Iterator, Mapping

from muster.sandbox.kinds import NODES, PODS
from muster.sandbox.store import ObjectStore
from tests.kueue.names import (
    ADMISSION_GATE,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    TOPOLOGY_GATE,
    ClusterQueue,
    Object,
    cores,
    gates,
    is_active,
    is_ready,
    number,
)
from tests.kueue.workloads import Integration, Jobs, PodGroups, Workload, create_native_group, ungate

HOSTNAME = "kubernetes.io/hostname"


class PlayedKueue:
    """Kueue's controllers. `step` does what is due, on the clock `now`.

    Attributes:
        evictions: the workloads that were evicted, each with the reason, in their order.
    """

    def __init__(self, store: ObjectStore, queue: ClusterQueue, now: Callable[[], float]) -> None:
        self.evictions: list[tuple[str, str]] = []
        self._store = store
        self._queue = queue
        self._now = now
        self._known: dict[str, tuple[Workload, Integration]] = {}
        self._integrations: tuple[Integration, ...] = (Jobs(store), PodGroups(store))

    @property
    def admitted(self) -> list[str]:
        """The names of the workloads that hold quota."""
        return sorted(name for name, (workload, _) in self._known.items() if workload.admitted is not None)

    def evict(self, name: str, reason: str = PREEMPTED) -> None:
        """End the pods of an admitted workload; it is queued again."""
        workload, integration = self._known[name]
        workload.evicted = True
        self.evictions.append((name, reason))
        integration.stop(workload, reason)

    def step(self) -> None:
        """Bring everything closer to what the queue wants."""
        self._take_note()
        self._take_back()
        self._evict_late()
        for workload, integration in self._in_order():
            self._admit_or_make_room(workload, integration)
        for workload, integration in self._holding():
            if not workload.evicted:
                integration.run(workload, self._queue.flavor)
                self._place(workload, integration)

    def _take_note(self) -> None:
        """Workloads come with their objects and go when these have finished."""
        there = {}
        for integration in self._integrations:
            for workload in integration.wanted():
                there[workload.name] = workload
                if workload.name not in self._known:
                    workload.since = self._now()
                    self._known[workload.name] = workload, integration
                    create_native_group(self._store, workload)
        for name, (workload, integration) in [*self._known.items()]:
            if name not in there and not workload.evicted and not any(map(is_active, integration.pods(workload))):
                del self._known[name]

    def _take_back(self) -> None:
        """An evicted workload returns its quota when none of its pods runs any more."""
        for workload, integration in self._holding():
            waiting = [pod for pod in integration.pods(workload) if ADMISSION_GATE in gates(pod)]
            if workload.evicted and not any(is_active(pod) for pod in integration.pods(workload) if pod not in waiting):
                workload.evicted, workload.admitted, workload.assignment = False, None, []
                workload.since = self._now()
                integration.stopped(workload)

    def _evict_late(self) -> None:
        limit, now = self._queue.ready_within, self._now()
        for workload, integration in self._holding():
            late = limit and not workload.evicted and now - (workload.admitted or 0.0) >= limit
            ready = [pod for pod in integration.pods(workload) if is_active(pod) and is_ready(pod)]
            if late and len(ready) < workload.granted:
                workload.timeouts += 1
                workload.waits_until = now + self._queue.backoff * 2 ** (workload.timeouts - 1)
                self.evict(workload.name, PODS_READY_TIMEOUT)

    def _admit_or_make_room(self, workload: Workload, integration: Integration) -> None:
        held = {each.name: self._held(each) for each, _ in self._holding()}
        for granted in range(workload.count, workload.least - 1, -1):
            needed = cores([workload.template]) * granted
            if sum(held.values()) + needed <= self._queue.cpu and self._assign(workload, granted):
                workload.granted, workload.admitted = granted, self._now()
                return
        needed = cores([workload.template]) * workload.least
        staying = [each for each, _ in self._holding() if not each.evicted]
        lower = [each for each in staying if self._priority(each) < self._priority(workload)]
        victims: list[Workload] = []
        kept = sum(held[each.name] for each in staying)
        for victim in sorted(lower, key=lambda each: (self._priority(each), -(each.admitted or 0.0))):
            if kept + needed > self._queue.cpu:
                victims.append(victim)
                kept -= held[victim.name]
        if kept + needed <= self._queue.cpu:
            for victim in victims:
                self.evict(victim.name)

    def _assign(self, workload: Workload, count: int) -> bool:
        """Whether the workload needs no topology, or found one domain with room for all of its pods."""
        workload.assignment = []
        if not workload.required:
            return True
        domains: dict[str, list[Mapping[str, str]]] = {}
        for node, labels, free in self._nodes():
            slots = int(free // cores([workload.template]))
            level = {key: labels[key] for key in self._queue.levels} | {HOSTNAME: node}
            domains.setdefault(labels[workload.required], []).extend([level] * slots)
        found = next((slots for _, slots in sorted(domains.items()) if len(slots) >= count), [])
        workload.assignment = found[:count]
        return bool(found)

    def _nodes(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        """The schedulable nodes with their labels, and the cores that are free on them by Kueue's count."""
        assigned = [(each.template, where) for each, _ in self._holding() for where in each.assignment]
        managed = {pod["metadata"]["uid"] for each, by in self._holding() if each.required for pod in by.pods(each)}
        pods = [pod for pod in self._store.objects(PODS) if is_active(pod) and pod["metadata"]["uid"] not in managed]
        for node in self._store.objects(NODES):
            name = node["metadata"]["name"]
            if not node["spec"].get("unschedulable"):
                taken = cores(pod for pod in pods if pod["spec"].get("nodeName") == name)
                taken += cores(template for template, where in assigned if where[HOSTNAME] == name)
                yield name, node["metadata"]["labels"], number(node["status"]["allocatable"]["cpu"]) - taken

    def _place(self, workload: Workload, integration: Integration) -> None:
        """Take the topology gate off the pods, each with the node labels of a place that is left."""
        pods = [pod for pod in integration.pods(workload) if is_active(pod)]
        placed = [pod["spec"].get("nodeSelector", {}) for pod in pods if TOPOLOGY_GATE not in gates(pod)]
        left = [*workload.assignment]
        for selector in placed:
            here = next((where for where in left if where[HOSTNAME] == selector.get(HOSTNAME)), None)
            if here is not None:
                left.remove(here)
        for pod, where in zip([pod for pod in pods if gates(pod) == [TOPOLOGY_GATE]], left, strict=False):
            ungate(self._store, pod, TOPOLOGY_GATE, where)

    def _held(self, workload: Workload) -> float:
        return cores([workload.template]) * workload.granted

    def _holding(self) -> list[tuple[Workload, Integration]]:
        return [each for each in self._known.values() if each[0].admitted is not None]

    def _in_order(self) -> list[tuple[Workload, Integration]]:
        """The workloads that wait, as far as their pods are there."""
        there: dict[str, Object] = {each.name: each.template for by in self._integrations for each in by.wanted()}
        waiting = [each for each in self._known.values() if each[0].admitted is None and each[0].name in there]
        due = [each for each in waiting if each[0].waits_until <= self._now()]
        return sorted(due, key=lambda each: (-self._priority(each[0]), each[0].since))

    def _priority(self, workload: Workload) -> int:
        return self._queue.priorities.get(workload.priority_class, 0)
