"""Pods that a controller creates from a template, as many as run at once by the manifest.

`manifests` reads them; in a cluster, controllers create them over time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from muster.framework.model.faults import needed

REPLICAS = {
    "Deployment": ("replicas",),
    "ReplicaSet": ("replicas",),
    "StatefulSet": ("replicas",),
    "Job": ("parallelism", "completions"),
    "JobSet": (),
}
"""The kinds with pod templates, and the fields whose least value is the number of pods at once; 1 without any."""
_JOB_SET_LABELS = "jobset.sigs.k8s.io/"
_CONTROLLERS = {"Job": "batch/v1", "StatefulSet": "apps/v1"}
"""The kinds whose pods may start together because of their controller."""

_LONGEST_SHOWN = 60


def replicas(document: Mapping[str, Any], kind: str, name: str) -> Iterator[dict[str, Any]]:
    """The pods of a controller as plain values; the pods of a set have the templates of the claims that they mount."""
    if kind == "JobSet":
        for own, job in _jobs(document, name):
            yield from replicas(job, "Job", own)
        return
    spec = document.get("spec") or {}
    template = spec.get("template") or {}
    namespace = (document.get("metadata") or {}).get("namespace")
    numbers = [_count(spec[field], field) for field in REPLICAS[kind] if spec.get(field) is not None]
    claims = (spec.get("volumeClaimTemplates") or ()) if kind == "StatefulSet" else ()
    for index in range(min(numbers, default=1)):
        own = f"{name}-{index}"
        metadata = {**(template.get("metadata") or {}), "namespace": namespace, "name": own}
        if kind in _CONTROLLERS:
            metadata["ownerReferences"] = [_controller(kind, name, namespace)]
        pod = dict(template.get("spec") or {})
        if claims:
            pod["volumes"] = [
                *(pod.get("volumes") or ()),
                *(_mounted(template_name(claim), own) for claim in claims),
            ]
        yield {"metadata": metadata, "spec": pod, "volumeClaimTemplates": claims}


def _jobs(document: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The Jobs of a JobSet by name; their pods have the labels that the JobSet controller sets."""
    namespace = (document.get("metadata") or {}).get("namespace")
    for position, replicated in enumerate((document.get("spec") or {}).get("replicatedJobs") or ()):
        part = needed(replicated, "name", f"spec.replicatedJobs[{position}]")
        number = replicated.get("replicas")
        spec = (replicated.get("template") or {}).get("spec") or {}
        template = spec.get("template") or {}
        metadata = template.get("metadata") or {}
        for index in range(1 if number is None else _count(number, f"replicatedJobs[{position}].replicas")):
            labels = {"jobset-name": name, "replicatedjob-name": part, "job-index": str(index)}
            own = {f"{_JOB_SET_LABELS}{key}": value for key, value in labels.items()}
            pod = {**template, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **own}}}
            yield f"{name}-{part}-{index}", {"metadata": {"namespace": namespace}, "spec": {**spec, "template": pod}}


def group_of_job(document: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The group that the Job controller creates for a Job that requests one, and that the Job's pods then name.

    Raises FieldError for a Job without a template.
    """
    spec = document.get("spec") or {}
    scheduling = spec.get("scheduling")
    if not scheduling:
        return None
    policy = {**(scheduling.get("schedulingPolicy") or {"basic": {}})}
    if "gang" in policy:
        policy["gang"] = {"minCount": spec.get("parallelism", 1), **(policy["gang"] or {})}
    needed(needed(spec, "template", "spec"), "spec", "spec.template")["schedulingGroup"] = {"podGroupName": name}
    namespace = (document.get("metadata") or {}).get("namespace")
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {**scheduling, "schedulingPolicy": policy}}


def template_name(claim: Mapping[str, Any]) -> str:
    """The name of a template of claims. Raises FieldError for a template without a name."""
    return str(needed(claim.get("metadata"), "name", "spec.volumeClaimTemplates[].metadata"))


def _controller(kind: str, name: str, namespace: str | None) -> dict[str, Any]:
    """The reference to the controller, with a UID made from its name, because it is not stored yet."""
    uid = f"{namespace or ''}/{name}"
    return {"apiVersion": _CONTROLLERS[kind], "kind": kind, "name": name, "uid": uid, "controller": True}


def _mounted(template: str, pod: str) -> dict[str, Any]:
    return {"name": template, "persistentVolumeClaim": {"claimName": f"{template}-{pod}"}}


def _count(value: int, field: str) -> int:
    if value < 0:
        raise ValueError(f"spec.{field}: Invalid value: {value}: must be greater than or equal to 0")
    return value


def shown(value: object) -> str:
    """A value of a manifest as JSON, cut if it is long."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
