"""Tenants of one cluster who all have more work than their share: do their shares become what they are entitled to?

`python -m tests.capacityscheduling.tenants simulated|real` plays four phases on the API server of the simulation,
in virtual time, or on a real one, with the process that `muster run` runs. It prints for each phase what each tenant is
entitled to, what it used in each window, and when it had come near for good; then the evictions, and how long the pods
and gangs that evicted had to wait. The exit code is 1 if a figure is beyond its bound.

Near is a job of the tenant, because whole jobs are placed, and what ends in `LATE_SECONDS` and is not yet placed again.
A share has to be near within the longest run, because nobody but a tenant below its `min` evicts, and all that was
placed before the change has ended by then; and within `REACTION_SECONDS`, in which a pod that backs off is tried again.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf
from random import Random
from statistics import fmean
from typing import Any

from muster.framework.model.times import parse_time
from tests.builders import make_node, make_pod
from tests.capacityscheduling.entitled import Terms, entitled
from tests.capacityscheduling.objects import make_quota
from tests.capacityscheduling.tenant_clusters import TenantCluster, real, simulated
from tests.coscheduling.objects import GROUP_LABEL

TICK_SECONDS, WINDOW_SECONDS = 1.0, 10.0
LATE_SECONDS = 3.0
"""From the end of a pod until another has its place and both are seen."""
REACTION_SECONDS = 15.0
"""The longest backoff of a pod, and two looks at the cluster."""
_NODE_CORES = 4
_QUOTAS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/elasticquotas"
_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups"
_PODS = "/api/v1/namespaces/{}/pods"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant: its quota in cores, and its weight."""

    name: str
    least: int
    most: int
    weight: int


@dataclass(frozen=True, slots=True)
class Phase:
    """A time in which the same tenants have work.

    Attributes:
        loaded: who has more work than can be started, in pods of one core.
        gang: the first of them starts so many pods together. It evicts for each gang, because the pods of the gang
            before end one by one, and victims are chosen by what their eviction costs and not by shares: the shares of
            those that borrow are then not judged.
    """

    loaded: Sequence[str]
    gang: int = 1

    def job(self, name: str) -> int:
        """The pods of a job of this tenant."""
        return self.gang if name == self.loaded[0] else 1

    @property
    def judged(self) -> Sequence[str]:
        """The tenants whose shares are judged."""
        return self.loaded[:1] if self.gang > 1 else self.loaded


@dataclass(frozen=True, slots=True)
class Plan:
    """What is played.

    Attributes:
        nodes: the number of nodes, of four cores each; together as much as all tenants are guaranteed.
        tenants: who shares them.
        phases: who has work when.
        seconds: how long each phase lasts.
        longest: the longest run of a pod; the shortest is half of it.
    """

    nodes: int
    tenants: Sequence[Tenant]
    phases: Sequence[Phase]
    seconds: float
    longest: float

    @property
    def settled_after(self) -> float:
        """When shares have to be near after a phase has begun."""
        return self.longest + REACTION_SECONDS

    def shares(self, phase: int) -> Mapping[str, float]:
        """What each tenant is entitled to in a phase."""
        loaded = self.phases[phase].loaded
        terms = {
            each.name: Terms(each.least, each.most, each.weight, inf if each.name in loaded else 0.0)
            for each in self.tenants
        }
        return entitled(terms, self.nodes * _NODE_CORES)


def plan(scale: int, seconds: float, longest: float) -> Plan:
    """A fifth of all is guaranteed to a tenant without work. `scale` is a fifth of the nodes."""
    cores = scale * _NODE_CORES
    tenants = (
        Tenant("training", 2 * cores, 3 * cores, 1),
        Tenant("serving", cores, 4 * cores, 2),
        Tenant("research", cores, cores + cores // 2, 1),
        Tenant("spare", cores, 5 * cores, 1),
    )
    first, second, third = (each.name for each in tenants[:3])
    everybody, gang = (first, second, third), min(4, 2 * scale)
    phases = (Phase((second, third)), Phase(everybody), Phase((first, third)), Phase(everybody, gang))
    return Plan(5 * scale, tenants, phases, seconds, longest)


@dataclass
class _Job:
    """A pod or gang that was created: how long each of its pods runs, and when the first was seen on a node."""

    seconds: float
    started: float | None = None


@dataclass
class Seen:
    """What was seen.

    Attributes:
        used: by phase and tenant, what was used at each look, and the time since the phase began.
        evictions: how many pods were evicted.
        left: those that evicted, and did not start afterwards.
        longest: the longest time from an eviction until the start of whoever it was for.
        over: tenants that used more than their `max`.
        slowest: the longest time between two looks, in which pods neither come nor end.
    """

    used: list[Mapping[str, list[tuple[float, int]]]] = field(default_factory=list)
    evictions: int = 0
    left: list[str] = field(default_factory=list)
    longest: float = 0.0
    over: set[str] = field(default_factory=set)
    slowest: float = 0.0


class Tenants:
    """Plays a plan on a cluster. `seen` has what was seen."""

    def __init__(self, cluster: TenantCluster, plan: Plan, seed: int = 0) -> None:
        self.seen = Seen()
        self._cluster = cluster
        self._plan = plan
        self._random = Random(seed)
        self._jobs: dict[str, _Job] = {}
        self._job_of: dict[str, str] = {}
        self._bound: dict[str, float] = {}
        for number in range(plan.nodes):
            cluster.post("/api/v1/nodes", _posted(make_node(f"node-{number}", cpu=str(_NODE_CORES))))
        for each in plan.tenants:
            cluster.post("/api/v1/namespaces", {"metadata": {"name": each.name}})
            least, most = {"cpu": str(each.least)}, {"cpu": str(each.most)}
            made = make_quota(each.name, min=least, max=most, weight=str(each.weight))
            cluster.post(_QUOTAS.format(each.name), _posted(made))

    def play(self) -> None:
        """Play all phases, and what follows from the last."""
        for phase in self._plan.phases:
            self._play(phase)
        self._wait(REACTION_SECONDS, Phase(()))
        self._judge_evictions()

    def _play(self, phase: Phase) -> None:
        self.seen.used.append({each.name: [] for each in self._plan.tenants})
        for pod in self._pods():
            if pod["metadata"]["namespace"] not in phase.loaded and _waits(pod):
                self._delete(pod)
        self._wait(self._plan.seconds, phase)

    def _wait(self, seconds: float, phase: Phase) -> None:
        """Let so much time of a phase pass."""
        began = self._cluster.now()
        while (now := self._cluster.now()) < began + seconds:
            pods = self._pods()
            self._run(pods, now)
            waiting = Counter(pod["metadata"]["namespace"] for pod in pods if _waits(pod))
            for tenant in (each for each in self._plan.tenants if each.name in phase.loaded):
                for _ in range(waiting[tenant.name], 2 * tenant.least, phase.job(tenant.name)):
                    self._submit(tenant, phase.job(tenant.name))
            used = Counter(pod["metadata"]["namespace"] for pod in pods if "nodeName" in pod["spec"])
            for each in self._plan.tenants if phase.loaded else ():
                self.seen.used[-1][each.name].append((now - began, used[each.name]))
                self.seen.over.update([each.name] if used[each.name] > each.most else [])
            self._cluster.wait(TICK_SECONDS)
            self.seen.slowest = max(self.seen.slowest, self._cluster.now() - now)

    def _pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._cluster.get("/api/v1/pods")["items"]
        return [pod for pod in found if pod["metadata"]["uid"] in self._job_of]

    def _run(self, pods: Sequence[dict[str, Any]], now: float) -> None:
        """Be the kubelet of pods with nodes: start them, and end those whose time is up or that were evicted."""
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if "nodeName" not in pod["spec"]:
                continue
            job = self._jobs[self._job_of[uid]]
            job.started = self._bound.setdefault(uid, now) if job.started is None else job.started
            if "deletionTimestamp" in pod["metadata"] or now >= self._bound.setdefault(uid, now) + job.seconds:
                self._delete(pod)
            elif "startTime" not in pod.get("status", {}):
                self._cluster.start(pod)

    def _submit(self, tenant: Tenant, size: int) -> None:
        name = f"{tenant.name}-{len(self._jobs)}"
        self._jobs[name] = _Job(self._random.uniform(self._plan.longest / 2, self._plan.longest))
        labels = {GROUP_LABEL: name} if size > 1 else {}
        if labels:
            group = {"metadata": {"name": name}, "spec": {"minMember": size}}
            kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
            self._cluster.post(_GROUPS.format(tenant.name), kind | group)
        for number in range(size):
            pod = make_pod(f"{name}-{number}", namespace=tenant.name).requests(cpu="1").labels(labels)
            made = self._cluster.post(_PODS.format(tenant.name), _posted(pod))
            self._job_of[made["metadata"]["uid"]] = name

    def _delete(self, pod: Mapping[str, Any]) -> None:
        meta = pod["metadata"]
        self._cluster.delete(f"{_PODS.format(meta['namespace'])}/{meta['name']}")

    def _judge_evictions(self) -> None:
        """Find out whether all that evicted have started: the Event of an eviction names a pod of the claimant.

        A claimant has `REACTION_SECONDS` to start, so the last ones are judged only if they did.
        """
        judged_until = self._cluster.now() - REACTION_SECONDS
        for event in self._cluster.get("/apis/events.k8s.io/v1/events")["items"]:
            if event["reason"] != "Preempted":
                continue
            self.seen.evictions += 1
            name = self._job_of[event["related"]["uid"]]
            started, at = self._jobs[name].started, parse_time(event["eventTime"])
            if started is not None:
                self.seen.longest = max(self.seen.longest, started - at)
            elif at < judged_until:
                self.seen.left.append(name)


def _waits(pod: Mapping[str, Any]) -> bool:
    """Whether a pod waits, and nobody is evicted for it."""
    return "nodeName" not in pod["spec"] and not pod.get("status", {}).get("nominatedNodeName")


def _posted(made: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a client posts it."""
    given = {key: value for key, value in made["metadata"].items() if key not in ("uid", "creationTimestamp")}
    return {**made, "metadata": given}


class Verdict:
    """The figures of a plan that was played, beside their bounds."""

    def __init__(self, plan: Plan, seen: Seen) -> None:
        self._plan = plan
        self._seen = seen

    def lines(self) -> Iterator[str]:
        """All figures, as text."""
        for number, phase in enumerate(self._plan.phases):
            gangs = f", {phase.loaded[0]} in gangs of {phase.gang}" if phase.gang > 1 else ""
            yield f"phase {number + 1}: {', '.join(phase.loaded)} have more work than their share{gangs}"
            for name in phase.loaded:
                share = self._plan.shares(number)[name]
                windows = " ".join(f"{each:5.1f}" for _, each in self._windows(number, name))
                after, bound = self._near_after(number, name), self._plan.settled_after
                verdict = f"near after {after:.0f} s, bound {bound:.0f} s" if name in phase.judged else "not judged"
                yield f"  {name:9} entitled {share:5.1f} ± {self._near(number, name):.1f}, used {windows}; {verdict}"
        seen = self._seen
        yield f"{seen.evictions} evictions; {len(seen.left)} of those that evicted did not start"
        yield f"longest time from an eviction to the start: {seen.longest:.1f} s, bound {REACTION_SECONDS:.0f} s"
        yield f"longest time between two looks: {seen.slowest:.1f} s; figures need less than {LATE_SECONDS:.0f} s"

    def faults(self) -> Iterator[str]:
        """The figures that are beyond their bounds."""
        for number, phase in enumerate(self._plan.phases):
            for name in phase.judged:
                if (after := self._near_after(number, name)) > self._plan.settled_after:
                    yield f"phase {number + 1}: the share of {name} is not near after {after:.0f} s"
        yield from (f"{name} evicted others and did not start" for name in self._seen.left)
        yield from (f"{name} used more than its max" for name in sorted(self._seen.over))
        if self._seen.longest > REACTION_SECONDS:
            yield f"a start {self._seen.longest:.1f} s after the eviction for it"
        if not self._seen.evictions:
            yield "nobody was evicted"

    def _near(self, phase: int, name: str) -> float:
        """How far from its share a tenant may be: see the module."""
        late = self._plan.shares(phase)[name] * LATE_SECONDS / (0.75 * self._plan.longest)
        return self._plan.phases[phase].job(name) + late

    def _near_after(self, phase: int, name: str) -> float:
        """The beginning of the first window from which on all are near."""
        share, near, after = self._plan.shares(phase)[name], self._near(phase, name), 0.0
        for began, used in self._windows(phase, name):
            if abs(used - share) > near:
                after = began + WINDOW_SECONDS
        return after

    def _windows(self, phase: int, name: str) -> Iterator[tuple[float, float]]:
        """The average use in each whole window, with its beginning."""
        looks = self._seen.used[phase][name]
        for number in range(int(self._plan.seconds // WINDOW_SECONDS)):
            began = number * WINDOW_SECONDS
            inside = [used for at, used in looks if began <= at < began + WINDOW_SECONDS]
            yield began, fmean(inside) if inside else 0.0


CLUSTERS: Mapping[str, Callable[[], AbstractContextManager[TenantCluster]]] = {"simulated": simulated, "real": real}


def main(arguments: Sequence[str]) -> int:
    """Play on a simulated or a real API server, and print all figures. Returns the exit code."""
    made = plan(scale=3, seconds=80.0, longest=40.0)
    with CLUSTERS[arguments[0]]() as cluster:
        tenants = Tenants(cluster, made)
        tenants.play()
    verdict = Verdict(made, tenants.seen)
    faults = [*verdict.faults()]
    print(*verdict.lines(), *(f"MISSED: {fault}" for fault in faults), sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
