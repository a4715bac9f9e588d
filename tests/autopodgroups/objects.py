"""Workloads and their pods for these tests, in the API's own JSON shape."""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from tests.builders import PodDict, make_pod

Object = dict[str, Any]

JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
SET_NAME = "leaderworkerset.sigs.k8s.io/name"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def template(labels: Mapping[str, str] = {}, *, scheduler: str = "muster", restart: str = "Never") -> Object:
    """The template of pods that ask for one core each."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": scheduler, "restartPolicy": restart, "containers": [container]}
    return {"metadata": {"labels": {**labels}}, "spec": spec}


def job(name: str, parallelism: int, *, labels: Mapping[str, str] = {}, **spec: Any) -> Object:
    """A Job that has to complete as many pods as it runs at a time, unless `spec` says otherwise."""
    given = {"parallelism": parallelism, "completions": parallelism, "template": template(labels), **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": given}


def job_set(name: str, *parts: tuple[str, int, int], **spec: Any) -> Object:
    """A JobSet of parts, each with its name, the number of its Jobs, and the pods of each Job."""
    replicated = [
        {"name": part, "replicas": replicas, "template": {"spec": job("", pods)["spec"]}}
        for part, replicas, pods in parts
    ]
    given = {"replicatedJobs": replicated, **spec}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name}, "spec": given}


def stateful_set(name: str, replicas: int, *, policy: str = "Parallel") -> Object:
    """A StatefulSet."""
    labels = {"app": name}
    spec = {
        "replicas": replicas,
        "podManagementPolicy": policy,
        "selector": {"matchLabels": labels},
        "template": template(labels, restart="Always"),
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


def leader_worker_set(name: str, replicas: int, size: int, **spec: Any) -> Object:
    """A LeaderWorkerSet."""
    templates = {"size": size, "workerTemplate": template(restart="Always")}
    given = {"replicas": replicas, "leaderWorkerTemplate": templates, **spec}
    kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    return {**kind, "metadata": {"name": name}, "spec": given}


def owned(name: str, kind: str, owner: str, *, labels: Mapping[str, str] = {}, api: str = "") -> PodDict:
    """A pod of one core with this controller."""
    version = api or {"Job": "batch/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Pod": "v1"}[kind]
    pod = make_pod(name).requests(cpu="1").labels(labels)
    reference = {"apiVersion": version, "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    pod["metadata"]["ownerReferences"] = [reference]
    return pod


def typed(pod: Mapping[str, Any]) -> PodInfo:
    """The pod as the engine knows it."""
    return PodInfo(msgspec.convert(pod, Pod))
