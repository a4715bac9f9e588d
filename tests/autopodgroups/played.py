"""Controllers that create pods for workloads on an API server in memory: its own, and those of other projects, played.

The sandbox has the controllers of Jobs and StatefulSets. Here are those of JobSets and LeaderWorkerSets, as far as they
create what others make pods of, and the garbage collector for what the sandbox's own does not know.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.sandbox.controllers import WorkloadControllers
from muster.sandbox.kinds import CUSTOM_RESOURCE_DEFINITIONS, JOBS, NATIVE_POD_GROUPS, PODS, STATEFUL_SETS
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind
from muster.sandbox.store import ObjectStore
from muster.sandbox.workloads import controller_of, owned_by
from tests.autopodgroups.objects import JOB_SET_NAME, SET_NAME

SPACE = "default"
_SIZE, _LEADER = "leaderworkerset.sigs.k8s.io/size", "leaderworkerset.sigs.k8s.io/leader-name"


class PlayedControllers:
    """All controllers of one store. `step` does what is due.

    Attributes:
        job_sets, leader_worker_sets: the kinds of other projects.
    """

    def __init__(self, store: ObjectStore, pod_groups: Kind) -> None:
        self._store = store
        self.job_sets = self._define("jobset.x-k8s.io", "v1alpha2", "JobSet")
        self.leader_worker_sets = self._define("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")
        self._own = WorkloadControllers(store)
        self._collected = (JOBS, STATEFUL_SETS, pod_groups, NATIVE_POD_GROUPS)

    def step(self) -> None:
        """Brings everything closer to what workloads want, and deletes what has lost its controller."""
        for workload in self._objects(self.job_sets):
            self._create_jobs(workload)
        for workload in self._objects(self.leader_worker_sets):
            self._create_replicas(workload)
        self._own.step()
        self._collect()

    def _define(self, group: str, version: str, kind: str) -> Kind:
        plural = f"{kind.lower()}s"
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
        names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
        self._store.create(CUSTOM_RESOURCE_DEFINITIONS, {"metadata": {"name": f"{plural}.{group}"}, "spec": spec})
        found = self._store.kinds.by_path(group, version, plural)
        assert found is not None
        return found

    def _objects(self, kind: Kind) -> Iterator[Object]:
        return (entry.obj for entry in self._store.ledger.entries(kind))

    def _create_jobs(self, job_set: Object) -> None:
        for part in job_set["spec"]["replicatedJobs"]:
            for index in range(part.get("replicas", 1)):
                labels = {JOB_SET_NAME: job_set["metadata"]["name"], "jobset.sigs.k8s.io/job-index": str(index)}
                name = f"{job_set['metadata']['name']}-{part['name']}-{index}"
                spec = part["template"]["spec"]
                spec = {**spec, "template": _labelled(spec["template"], labels)}
                self._create(JOBS, owned_by({"metadata": {"name": name, "labels": labels}, "spec": spec}, job_set))

    def _create_replicas(self, workload: Object) -> None:
        """The StatefulSet of the leaders; and for each leader, as early as the policy says, that of its workers."""
        name, spec = workload["metadata"]["name"], workload["spec"]
        templates = spec["leaderWorkerTemplate"]
        notes = {_SIZE: str(templates["size"])}
        leaders = templates.get("leaderTemplate") or templates["workerTemplate"]
        self._create_set(workload, name, spec["replicas"], _labelled(leaders, {SET_NAME: name, "role": name}, notes))
        for leader in [pod for pod in self._objects(PODS) if (controller_of(pod) or {}).get("name") == name]:
            if spec.get("startupPolicy") == "LeaderReady" and leader["status"]["phase"] != "Running":
                continue
            own = leader["metadata"]["name"]
            workers = _labelled(templates["workerTemplate"], {SET_NAME: name, "role": own}, {**notes, _LEADER: own})
            self._create_set(leader, own, templates["size"] - 1, workers)

    def _create_set(self, owner: Object, name: str, replicas: int, template: Object) -> None:
        selector = {"matchLabels": {"role": name}}
        spec = {"replicas": replicas, "podManagementPolicy": "Parallel", "selector": selector, "template": template}
        self._create(STATEFUL_SETS, owned_by({"metadata": {"name": name}, "spec": spec}, owner))
        known = self._store.get(STATEFUL_SETS, name, namespace=SPACE).obj
        if known["spec"]["replicas"] != replicas:
            scaled = known | {"spec": known["spec"] | {"replicas": replicas}}
            self._store.update(STATEFUL_SETS, name, scaled, namespace=SPACE)

    def _create(self, kind: Kind, obj: Object) -> None:
        if self._store.find(kind, obj["metadata"]["name"], namespace=SPACE) is None:
            self._store.create(kind, obj, namespace=SPACE)

    def _collect(self) -> None:
        kinds = (*self._collected, PODS, self.job_sets, self.leader_worker_sets)
        alive = {obj["metadata"]["uid"] for kind in kinds for obj in self._objects(kind)}
        for kind in self._collected:
            for obj in [*self._objects(kind)]:
                controller = controller_of(obj)
                if controller is not None and controller["uid"] not in alive:
                    self._store.delete(kind, obj["metadata"]["name"], namespace=SPACE)


def _labelled(template: Object, labels: Mapping[str, str], annotations: Mapping[str, str] = {}) -> dict[str, Any]:
    metadata = template.get("metadata") or {}
    marked = {"labels": {**(metadata.get("labels") or {}), **labels}, "annotations": {**annotations}}
    return {**template, "metadata": {**metadata, **marked}}
