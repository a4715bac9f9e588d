"""What Kueue does to the objects that it manages: Jobs are suspended and resumed, pods gated, let go and deleted.

`PlayedKueue` decides which workload runs; the integrations here carry it out on the API's objects, each with the writes
of Kueue's own integration. Its webhooks are `submitted`: what they change in a new object.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muster.sandbox.kinds import JOBS, NATIVE_POD_GROUPS, PODS
from muster.sandbox.patching import MERGE
from muster.sandbox.store import ObjectStore
from muster.sandbox.workloads import controller_of
from tests.applied import SPACE
from tests.kueue.names import (
    ADMISSION_GATE,
    GROUP,
    MANAGED,
    MIN_PARALLELISM,
    NATIVE_GROUP,
    PRIORITY_CLASS,
    QUEUE,
    REQUIRED_TOPOLOGY,
    TOPOLOGY_GATE,
    TOPOLOGY_LABEL,
    TOTAL_COUNT,
    WORKLOAD,
    Object,
    annotation,
    gates,
    is_active,
    label,
)


@dataclass
class Workload:
    """A Workload of Kueue's API.

    Attributes:
        template: a pod of it.
        count, least: how many pods it wants, and with how many it is content.
        since: when it entered the queue, or entered it again.
        waits_until: before that it is not admitted.
        admitted: when it was admitted; None while it waits.
        granted: how many pods it was admitted with.
        evicted: whether its pods are being ended; until they have ended it keeps its quota.
        assignment: the node labels that each of its pods gets; empty without a topology.
        timeouts: how often it was not ready in time.
    """

    name: str
    template: Object
    count: int
    least: int
    priority_class: str
    since: float
    waits_until: float = 0.0
    admitted: float | None = None
    granted: int = 0
    evicted: bool = False
    assignment: list[Mapping[str, str]] = field(default_factory=list)
    timeouts: int = 0

    @property
    def required(self) -> str:
        """The topology level within which all its pods have to be; "" if there is none."""
        return annotation(self.template, REQUIRED_TOPOLOGY)


class Integration(Protocol):
    """What makes workloads of objects of one kind."""

    def wanted(self) -> Iterator[Workload]:
        """The workloads of all objects that are in the queue and not finished."""
        ...

    def pods(self, workload: Workload) -> list[Object]:
        """All pods of a workload."""
        ...

    def run(self, workload: Workload, flavor: Mapping[str, str]) -> None:
        """Let the pods of an admitted workload be scheduled; called again as long as it is admitted."""
        ...

    def stop(self, workload: Workload, reason: str) -> None:
        """End the pods of an evicted workload."""
        ...

    def stopped(self, workload: Workload) -> None:
        """Its pods have ended: put back what `run` has changed."""
        ...


class Jobs:
    """The integration of batch/v1 Jobs, which are suspended while they wait."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def wanted(self) -> Iterator[Workload]:
        for job in self._store.objects(JOBS):
            ended = any(each["type"] in ("Complete", "Failed") for each in job["status"].get("conditions") or ())
            if label(job, QUEUE) and not ended:
                count = job["spec"]["parallelism"]
                least = int(annotation(job, MIN_PARALLELISM) or count)
                name, priority = f"job-{job['metadata']['name']}", label(job, PRIORITY_CLASS)
                yield Workload(name, job["spec"]["template"], count, least, priority, 0.0)

    def pods(self, workload: Workload) -> list[Object]:
        owner = workload.name.removeprefix("job-")
        return [pod for pod in self._store.objects(PODS) if (controller_of(pod) or {}).get("name") == owner]

    def run(self, workload: Workload, flavor: Mapping[str, str]) -> None:
        template: Object = {"spec": {"nodeSelector": dict(flavor)}}
        if workload.required:
            template["spec"]["schedulingGates"] = [{"name": TOPOLOGY_GATE}]
            template["metadata"] = {"labels": {TOPOLOGY_LABEL: "true"}, "annotations": {WORKLOAD: workload.name}}
        self._change(workload, {"suspend": False, "parallelism": workload.granted, "template": template})

    def stop(self, workload: Workload, reason: str) -> None:
        self._change(workload, {"suspend": True})

    def stopped(self, workload: Workload) -> None:
        spec = workload.template["spec"]
        selector = {key: None for key in self._job(workload)["spec"]["template"]["spec"].get("nodeSelector") or ()}
        template = {"spec": {"schedulingGates": None, "nodeSelector": selector | (spec.get("nodeSelector") or {})}}
        self._change(workload, {"parallelism": workload.count, "template": template})

    def _job(self, workload: Workload) -> Object:
        return self._store.get(JOBS, workload.name.removeprefix("job-"), namespace=SPACE).obj

    def _change(self, workload: Workload, spec: Object) -> None:
        name = workload.name.removeprefix("job-")
        self._store.patch(JOBS, name, {"spec": spec}, MERGE, namespace=SPACE)


class PodGroups:
    """The integration of plain pods that name a group, which are gated while they wait."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def wanted(self) -> Iterator[Workload]:
        groups: dict[str, list[Object]] = {}
        for pod in self._store.objects(PODS):
            if label(pod, GROUP) and is_active(pod):
                groups.setdefault(label(pod, GROUP), []).append(pod)
        for name, pods in groups.items():
            count = int(annotation(pods[0], TOTAL_COUNT))
            if len(pods) >= count:
                yield Workload(name, pods[0], count, count, label(pods[0], PRIORITY_CLASS), 0.0)

    def pods(self, workload: Workload) -> list[Object]:
        return [pod for pod in self._store.objects(PODS) if label(pod, GROUP) == workload.name]

    def run(self, workload: Workload, flavor: Mapping[str, str]) -> None:
        for pod in self.pods(workload):
            if ADMISSION_GATE in gates(pod):
                ungate(self._store, pod, ADMISSION_GATE, flavor)
        self._finalize(workload)

    def stop(self, workload: Workload, reason: str) -> None:
        target = {"type": "TerminationTarget", "status": "True", "reason": reason, "message": "Evicted"}
        for pod in self.pods(workload):
            if is_active(pod) and ADMISSION_GATE not in gates(pod):
                conditions = [*(pod["status"].get("conditions") or ()), target]
                marked = self._store.replace_stored(PODS, pod | {"status": pod["status"] | {"conditions": conditions}})
                self._store.delete(PODS, marked.obj["metadata"]["name"], namespace=SPACE)

    def stopped(self, workload: Workload) -> None:
        """Replacements are up to whoever made the pods; they find the group as it was."""

    def _finalize(self, workload: Workload) -> None:
        """Ended pods go for good once there are others in their place."""
        pods = self.pods(workload)
        if sum(map(is_active, pods)) >= workload.count:
            for pod in pods:
                if not is_active(pod):
                    finalized = {"metadata": {"finalizers": None}}
                    self._store.patch(PODS, pod["metadata"]["name"], finalized, MERGE, namespace=SPACE)


def ungate(store: ObjectStore, pod: Object, gate: str, selector: Mapping[str, str]) -> None:
    """Take one gate off a pod, and narrow down its nodes, in one write."""
    left = [{"name": name} for name in gates(pod) if name != gate]
    spec = {"schedulingGates": left or None, "nodeSelector": dict(selector)}
    store.patch(PODS, pod["metadata"]["name"], {"spec": spec}, MERGE, namespace=SPACE)


def submitted(obj: Object) -> Object:
    """A new object as Kueue's webhooks leave it."""
    new: Object = json.loads(json.dumps(obj))
    if not label(new, QUEUE):
        return new
    if new["kind"] == "Job":
        new["spec"]["suspend"] = True
    elif new["kind"] == "Pod":
        held = [ADMISSION_GATE, *([TOPOLOGY_GATE] if annotation(new, REQUIRED_TOPOLOGY) else [])]
        new["spec"]["schedulingGates"] = [{"name": name} for name in held]
        new["metadata"]["labels"][MANAGED] = "true"
        new["metadata"]["finalizers"] = [MANAGED]
        if annotation(new, NATIVE_GROUP) == "true":
            new["spec"].setdefault("schedulingGroup", {"podGroupName": label(new, GROUP)})
    return new


def create_native_group(store: ObjectStore, workload: Workload) -> None:
    """Create the native PodGroup of a group of pods that ask for one, unless it exists."""
    if annotation(workload.template, NATIVE_GROUP) == "true":
        name = workload.template["spec"]["schedulingGroup"]["podGroupName"]
        if store.find(NATIVE_POD_GROUPS, name, namespace=SPACE) is None:
            policy = {"schedulingPolicy": {"gang": {"minCount": workload.count}}}
            group = {"metadata": {"name": name, "labels": {MANAGED: "true"}}, "spec": policy}
            store.create(NATIVE_POD_GROUPS, group, namespace=SPACE)
