"""Workloads, as pure functions: which pods to create and to delete, the steps of a rollout, and the status.

`controllers` calls it and carries the result out. The numbers are those of kube-controller-manager's controllers, as
far as they concern containers that start at once and never fail.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from muster.sandbox.objects import Object, get_in, metadata, name_of, set_condition, with_metadata, without

TEMPLATE_HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_HASH_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The pods to make, the pods to end, and the status that the workload should have."""

    status: Object
    make: list[Object] = field(default_factory=list)
    end: list[Object] = field(default_factory=list)


def controller_of(obj: Object) -> Object | None:
    """The owner reference of the controller of an object, or None."""
    owners = metadata(obj).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def owned_by(obj: Object, owner: Object) -> Object:
    """An object with a reference to the workload that controls it."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": metadata(owner)["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return with_metadata(obj, ownerReferences=[reference])


def _pod(owner: Object, *, name: str = "", **annotations: str) -> Object:
    """A pod from the template of a workload, with a name or one that the store generates."""
    template = owner["spec"]["template"]
    given = metadata(template)
    named = {"name": name} if name else {"generateName": f"{name_of(owner)}-"}
    fields = {key: given[key] for key in ("labels", "annotations", "finalizers") if given.get(key)}
    return owned_by({"metadata": fields | named, "spec": template["spec"]}, owner)


def _is_active(pod: Object) -> bool:
    return not metadata(pod).get("deletionTimestamp") and get_in(pod, ("status", "phase")) not in _ENDED


def _is_ready(pod: Object) -> bool:
    conditions = get_in(pod, ("status", "conditions")) or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def _youth(pod: Object) -> tuple[bool, bool, str]:
    """The order in which pods are deleted: pods without a node, then those that are not ready, then the newest."""
    return bool(get_in(pod, ("spec", "nodeName"))), _is_ready(pod), _reversed(metadata(pod)["creationTimestamp"])


def _reversed(text: str) -> str:
    return "".join(chr(0x10FFFF - ord(letter)) for letter in text)


def replicas_plan(workload: Object, pods: Iterable[Object]) -> Reconciliation:
    """A ReplicaSet or ReplicationController: a number of like pods."""
    active = [pod for pod in pods if _is_active(pod)]
    wanted, ready = workload["spec"].get("replicas", 1), sum(map(_is_ready, active))
    status = _replica_status(workload, len(active), ready) | {"fullyLabeledReplicas": len(active)}
    make = [_pod(workload) for _ in range(wanted - len(active))]
    end = sorted(active, key=_youth)[: max(len(active) - wanted, 0)]
    return Reconciliation(_without_zeros(status), make, end)


def stateful_plan(workload: Object, pods: Iterable[Object]) -> Reconciliation:
    """A StatefulSet: pods with ordinals, one after another unless they may start side by side.

    A changed template counts for new pods only; there is no rolling update.
    """
    name, wanted = name_of(workload), workload["spec"].get("replicas", 1)
    known = {name_of(pod): pod for pod in pods}
    active = [pod for pod in known.values() if _is_active(pod)]
    names = [f"{name}-{ordinal}" for ordinal in range(wanted)]
    parallel = workload["spec"].get("podManagementPolicy") == "Parallel"
    make: list[Object] = []
    for ordinal, pod_name in enumerate(names):
        if pod_name not in known:
            make.append(_numbered(workload, pod_name, ordinal))
        if not parallel and (pod_name not in known or not _is_ready(known[pod_name])):
            break
    ready = sum(map(_is_ready, active))
    counted = {"currentReplicas": len(active), "updatedReplicas": len(active), "collisionCount": 0}
    status = _replica_status(workload, len(active), ready) | {"availableReplicas": ready} | counted
    return Reconciliation(status, make, [pod for pod in active if name_of(pod) not in names])


def _numbered(workload: Object, name: str, ordinal: int) -> Object:
    pod = _pod(workload, name=name)
    numbered = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
    spec = pod["spec"] | {"hostname": name}
    if workload["spec"].get("serviceName"):
        spec["subdomain"] = workload["spec"]["serviceName"]
    return with_metadata(pod, labels=(metadata(pod).get("labels") or {}) | numbered) | {"spec": spec}


def _replica_status(workload: Object, total: int, ready: int) -> Object:
    observed = metadata(workload)["generation"]
    return {"replicas": total, "readyReplicas": ready, "availableReplicas": ready, "observedGeneration": observed}


def _without_zeros(status: Object) -> Object:
    return {key: value for key, value in status.items() if value or key in ("replicas", "observedGeneration")}


def job_plan(job: Object, pods: Sequence[Object], now: str) -> Reconciliation:
    """A Job: pods until enough of them have succeeded or too many have failed."""
    spec, before = job["spec"], job.get("status") or {}
    active = [pod for pod in pods if _is_active(pod)]
    succeeded = [pod for pod in pods if get_in(pod, ("status", "phase")) == "Succeeded"]
    failed = [pod for pod in pods if get_in(pod, ("status", "phase")) == "Failed"]
    counted = {
        "active": len(active),
        "ready": sum(map(_is_ready, active)),
        "succeeded": max(len(succeeded), before.get("succeeded") or 0),
        "failed": max(len(failed), before.get("failed") or 0),
    }
    status = without(before, *counted) | {key: value for key, value in counted.items() if value or key == "ready"}
    if any(item["type"] in ("Complete", "Failed") for item in before.get("conditions") or ()):
        return Reconciliation(status, end=active)
    if spec["suspend"]:
        halted = _with_condition(without(status, "startTime"), "Suspended", "JobSuspended", "Job suspended", now=now)
        return Reconciliation(halted, end=active)
    if any(item["type"] == "Suspended" and item["status"] == "True" for item in before.get("conditions") or ()):
        status = _with_condition(status, "Suspended", "JobResumed", "Job resumed", now=now, is_true=False)
    status |= {"startTime": status.get("startTime", now), "uncountedTerminatedPods": {}}
    if counted["failed"] > spec["backoffLimit"]:
        reason, message = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        return Reconciliation(_with_condition(status, "Failed", reason, message, now=now), end=active)
    wanted = spec.get("completions")
    if counted["succeeded"] and counted["succeeded"] >= (wanted or 1) and (wanted or not active):
        reason, message = "CompletionsReached", "Reached expected number of succeeded pods"
        done = _with_condition(status, "SuccessCriteriaMet", reason, message, now=now)
        return Reconciliation(
            _with_condition(done, "Complete", reason, message, now=now) | {"completionTime": now}, end=active
        )
    allowed = spec["parallelism"]
    if wanted is not None:
        allowed = min(allowed, wanted - counted["succeeded"])
    elif counted["succeeded"]:
        allowed = 0
    excess = sorted(active, key=_youth)[: max(len(active) - allowed, 0)]
    return Reconciliation(status, _job_pods(job, pods, allowed - len(active)), excess)


def _job_pods(job: Object, pods: Sequence[Object], count: int) -> list[Object]:
    if job["spec"]["completionMode"] != "Indexed":
        return [_pod(job) for _ in range(count)]
    taken = {metadata(pod).get("annotations", {}).get(COMPLETION_INDEX) for pod in pods if not _has_failed(pod)}
    free = [index for index in range(job["spec"]["completions"]) if str(index) not in taken]
    return [_indexed(job, index) for index in free[: max(count, 0)]]


def _has_failed(pod: Object) -> bool:
    return get_in(pod, ("status", "phase")) == "Failed" or bool(metadata(pod).get("deletionTimestamp"))


def _indexed(job: Object, index: int) -> Object:
    pod, mark = _pod(job), {COMPLETION_INDEX: str(index)}
    pod = with_metadata(
        pod,
        generateName=f"{name_of(job)}-{index}-",
        labels=(metadata(pod).get("labels") or {}) | mark,
        annotations=(metadata(pod).get("annotations") or {}) | mark,
    )
    return pod | {"spec": pod["spec"] | {"hostname": f"{name_of(job)}-{index}"}}


def _with_condition(status: Object, type: str, reason: str, message: str, *, now: str, is_true: bool = True) -> Object:
    condition = {"type": type, "status": str(is_true), "reason": reason, "message": message}
    condition |= {"lastProbeTime": now, "lastTransitionTime": now}
    return status | {"conditions": set_condition(status.get("conditions"), condition)}


def template_of(workload: Object) -> Object:
    """The template of a workload without the label that distinguishes the ReplicaSets of a Deployment."""
    template: Object = workload["spec"]["template"]
    labels = without(metadata(template).get("labels") or {}, TEMPLATE_HASH)
    return with_metadata(template, labels=labels)


def revision_of(replica_set: Object) -> int:
    """Which revision of its Deployment a ReplicaSet belongs to; 0 if it has none."""
    return int((metadata(replica_set).get("annotations") or {}).get(REVISION, 0))


def replica_set_of(deployment: Object, revision: int) -> Object:
    """The ReplicaSet that a Deployment makes for its present template, with no pods yet."""
    template = template_of(deployment)
    digest = hashlib.sha256(msgspec.json.encode(template, order="sorted")).digest()
    mark = {TEMPLATE_HASH: "".join(_HASH_LETTERS[byte % len(_HASH_LETTERS)] for byte in digest[:10])}
    labels = (metadata(template).get("labels") or {}) | mark
    selector = deployment["spec"]["selector"]
    return owned_by(
        {
            "metadata": {
                "name": f"{name_of(deployment)}-{mark[TEMPLATE_HASH]}",
                "labels": labels,
                "annotations": {REVISION: str(revision)},
            },
            "spec": {
                "replicas": 0,
                "selector": selector | {"matchLabels": (selector.get("matchLabels") or {}) | mark},
                "template": with_metadata(template, labels=labels),
            },
        },
        deployment,
    )


def rollout(deployment: Object, new: Object, old: Sequence[Object]) -> list[tuple[Object, int]]:
    """The next step of a rollout: how many replicas each ReplicaSet should have now, the new one first."""
    wanted = deployment["spec"]["replicas"]
    running = sum(get_in(item, ("status", "replicas")) or 0 for item in old)
    if deployment["spec"]["strategy"]["type"] == "Recreate":
        return [(new, new["spec"]["replicas"] if running else wanted), *((item, 0) for item in old)]
    limits = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    surge = _share(limits.get("maxSurge", "25%"), wanted, up=True)
    unavailable = _share(limits.get("maxUnavailable", "25%"), wanted, up=False)
    if not surge and not unavailable:
        unavailable = 1
    others = sum(item["spec"]["replicas"] for item in old)
    steps = [(new, max(min(wanted, wanted + surge - others), min(new["spec"]["replicas"], wanted)))]
    available = sum(get_in(item, ("status", "availableReplicas")) or 0 for item in (new, *old))
    spare = max(available - (wanted - unavailable), 0)
    for item in old:
        ready = get_in(item, ("status", "availableReplicas")) or 0
        kept = max(ready - spare, 0)
        spare -= ready - kept
        steps.append((item, min(kept, item["spec"]["replicas"])))
    return steps


def _share(limit: int | str, total: int, *, up: bool) -> int:
    """A number, or a percentage of the total, rounded up or down."""
    if isinstance(limit, int):
        return limit
    share = int(limit.removesuffix("%")) * total
    return -(-share // 100) if up else share // 100


def deployment_status(deployment: Object, new: Object, old: Sequence[Object], now: str) -> Object:
    """The status of a Deployment, from those of its ReplicaSets."""
    every, wanted = (new, *old), deployment["spec"]["replicas"]
    total, ready, available = (
        sum(get_in(item, ("status", name)) or 0 for item in every)
        for name in ("replicas", "readyReplicas", "availableReplicas")
    )
    counts = {
        "replicas": total,
        "updatedReplicas": get_in(new, ("status", "replicas")) or 0,
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": max(wanted - available, 0),
    }
    enough = available >= wanted
    condition = {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    }
    known = get_in(deployment, ("status", "conditions"))
    if any(item["type"] == "Available" and item["status"] == condition["status"] for item in known or ()):
        conditions = known
    else:
        conditions = set_condition(known, condition)
    observed = {"observedGeneration": metadata(deployment)["generation"], "conditions": conditions}
    return {key: value for key, value in counts.items() if value} | observed
