"""A stand-in for kube-controller-manager: it creates the pods of workloads, and deletes them with their workloads.

It follows ReplicaSets, ReplicationControllers, StatefulSets, Deployments and Jobs; `workloads` says which pods each
wants. Objects that a deleted workload controlled are deleted with it. Objects from a dump of a real cluster stay
unchanged until something about them changes. Pods without a controller are never adopted.
"""

import re

from muster.sandbox.errors import StatusError
from muster.sandbox.kinds import (
    DEPLOYMENTS,
    JOBS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from muster.sandbox.ledger import DELETED, Change, Entry, HorizonError, key_of
from muster.sandbox.objects import Object, metadata, name_of, namespace_of, set_condition, with_metadata
from muster.sandbox.registry import Kind
from muster.sandbox.store import ObjectStore
from muster.sandbox.workloads import (
    REVISION,
    Reconciliation,
    controller_of,
    deployment_status,
    job_plan,
    replica_set_of,
    replicas_plan,
    revision_of,
    rollout,
    stateful_plan,
    template_of,
)

_WORKLOADS = (DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS, JOBS)
_FOLLOWED = (*_WORKLOADS, PODS)
_SEEN = dict.fromkeys(_WORKLOADS, "observedGeneration") | {JOBS: "startTime"}
"""The field of the status that is set once a controller has handled a workload."""

_Place = tuple[Kind, str]
"""A kind and the key of one of its objects."""


class WorkloadControllers:
    """Controls the workloads of one store. `step` does all that is due and is called after every change."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._owned: dict[str, dict[_Place, Object]] = {}
        self._cursors: dict[Kind, int] = {}
        self._due: dict[_Place, None] = {}
        self._start_over()

    def step(self) -> None:
        """Brings everything that has changed since the last step closer to its workload's spec."""
        try:
            for kind in _FOLLOWED:
                changes, self._cursors[kind] = self._store.ledger.read(kind, self._cursors[kind])
                for change in changes:
                    self._note(change)
        except HorizonError:
            self._start_over()
        due, self._due = self._due, {}
        for kind, key in due:
            entry = self._store.ledger.get(kind, key)
            if entry is not None and not metadata(entry.obj).get("deletionTimestamp"):
                try:
                    self._look_after(kind, entry.obj)
                except StatusError as error:
                    self._due[kind, key] = None
                    self._report_failure(kind, key, str(error))

    def _start_over(self) -> None:
        """Reads which workload owns which objects; workloads that were never handled are due."""
        ledger = self._store.ledger
        self._owned.clear()
        for kind in _FOLLOWED:
            self._cursors[kind] = ledger.cursor(kind, ledger.revision)
            for entry in ledger.entries(kind):
                self._index(entry)
                if kind is not PODS and not (entry.obj.get("status") or {}).get(_SEEN[kind]):
                    self._due[kind, entry.key] = None

    def _note(self, change: Change) -> None:
        """Marks the changed workload and the one that controls it as due."""
        entry, owner = change.entry, controller_of(change.entry.obj)
        if entry.kind is not PODS:
            self._due[entry.kind, entry.key] = None
        if owner is not None:
            kind = self._store.kinds.by_type(owner["apiVersion"], owner["kind"])
            if kind in _WORKLOADS:
                self._due[kind, key_of(namespace_of(entry.obj), owner["name"])] = None
        if change.type != DELETED:
            self._index(entry)
            return
        if owner is not None:
            self._owned.get(owner["uid"], {}).pop((entry.kind, entry.key), None)
        for kind, key in self._owned.pop(metadata(entry.obj)["uid"], {}):
            dependent = self._store.ledger.get(kind, key)
            if dependent is not None and controller_of(dependent.obj) is not None:
                self._delete(kind, dependent.obj)

    def _index(self, entry: Entry) -> None:
        owner = controller_of(entry.obj)
        if owner is not None:
            self._owned.setdefault(owner["uid"], {})[entry.kind, entry.key] = entry.obj

    def _controlled(self, workload: Object) -> list[Object]:
        return list(self._owned.get(metadata(workload)["uid"], {}).values())

    def _look_after(self, kind: Kind, workload: Object) -> None:
        controlled = self._controlled(workload)
        if kind is DEPLOYMENTS:
            self._roll_out(workload, controlled)
        elif kind is JOBS:
            self._carry_out(kind, workload, job_plan(workload, controlled, self._store.now))
        elif kind is STATEFUL_SETS:
            self._carry_out(kind, workload, stateful_plan(workload, controlled))
        else:
            self._carry_out(kind, workload, replicas_plan(workload, controlled))

    def _carry_out(self, kind: Kind, workload: Object, plan: Reconciliation) -> None:
        for pod in plan.end:
            self._delete(PODS, pod)
        for pod in plan.make:
            self._store.create(PODS, pod, namespace=namespace_of(workload))
        self._report(kind, workload, plan.status)

    def _roll_out(self, deployment: Object, controlled: list[Object]) -> None:
        template = template_of(deployment)
        new = next((item for item in controlled if template_of(item) == template), None)
        if new is None:
            made = replica_set_of(deployment, max(map(revision_of, controlled), default=0) + 1)
            new = self._store.create(REPLICA_SETS, made, namespace=namespace_of(deployment)).obj
        old = [item for item in controlled if name_of(item) != name_of(new)]
        if old and revision_of(new) < max(map(revision_of, old)):
            annotations = (metadata(new).get("annotations") or {}) | {REVISION: str(max(map(revision_of, old)) + 1)}
            new = self._store.replace_stored(REPLICA_SETS, with_metadata(new, annotations=annotations)).obj
        for item, replicas in rollout(deployment, new, old):
            if item["spec"]["replicas"] != replicas:
                scaled = item | {"spec": item["spec"] | {"replicas": replicas}}
                self._store.update(REPLICA_SETS, name_of(item), scaled, namespace=namespace_of(item))
        revision = str(revision_of(new))
        annotations = metadata(deployment).get("annotations") or {}
        if annotations.get(REVISION) != revision:
            deployment = with_metadata(deployment, annotations=annotations | {REVISION: revision})
            deployment = self._store.replace_stored(DEPLOYMENTS, deployment).obj
        self._report(DEPLOYMENTS, deployment, deployment_status(deployment, new, old, self._store.now))

    def _report_failure(self, kind: Kind, key: str, message: str) -> None:
        """Writes the error into the status of a workload, which is tried again after the next change."""
        entry = self._store.ledger.get(kind, key)
        if entry is not None:
            status, name = entry.obj.get("status") or {}, name_of(entry.obj)
            message = re.sub(rf'"{re.escape(name)}-\w+"', f'"{name}-"', message)  # a made-up name is new each time
            condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
            condition |= {"lastTransitionTime": self._store.now}
            self._report(kind, entry.obj, status | {"conditions": set_condition(status.get("conditions"), condition)})

    def _report(self, kind: Kind, workload: Object, status: Object) -> None:
        if status != workload.get("status"):
            self._store.replace_stored(kind, workload | {"status": status})

    def _delete(self, kind: Kind, obj: Object) -> None:
        """Deletes an object of a workload, if it still exists."""
        if self._store.find(kind, name_of(obj), namespace=namespace_of(obj)) is not None:
            self._store.delete(kind, name_of(obj), namespace=namespace_of(obj))
