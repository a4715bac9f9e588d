"""The objects of scheduler_perf's workloads, as they are posted: rendered from its templates, or its default ones.

`play` makes pods before it posts the first, so that rendering takes no time from what is measured. scheduler_perf reads
nodes, pods and volumes into types of Go, which know fields whatever the case of their letters; here their names begin
with a small letter, as the API has them.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from bench.scheduler_perf.operations import CreateNamespaces, CreateNodes, CreateObjects, CreatePods, UpdateObjects
from bench.scheduler_perf.template import Template

Object = dict[str, Any]

_FREE = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "capacity", "allocatable", "limits", "requests"}
)
"""Fields whose keys are not names of fields."""
_TEXTS = 16
_HOST = "kubernetes.io/hostname"
_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
_NODE_SIZE = {"pods": "110", "cpu": "4", "memory": "32Gi"}
_POD_SIZE = {"cpu": "100m", "memory": "500Mi"}
_VOLUME = "vol"


def rendered(path: Path, values: Mapping[str, Any]) -> Object:
    """The object of a template. Raises `TemplateError`, and `yaml.YAMLError` for what is not YAML then."""
    return deepcopy(_parsed(_template(path).render(values)))


def nodes(operation: CreateNodes, first: int) -> Iterator[Object]:
    """The nodes of an operation; names that are not given end with numbers, which begin with `first`."""
    for index in range(operation.count):
        values = {**operation.values, "Index": index, "Count": operation.count}
        node = _default_node(operation.prefix) if operation.template is None else _typed(operation.template, values)
        metadata = node["metadata"]
        generated = f"{metadata.pop('generateName', '')}{first + index:05}"
        name = metadata.setdefault("name", generated)
        labels = metadata.setdefault("labels", {})
        labels[_HOST] = name
        if operation.label is not None:
            key, each = operation.label
            labels[key] = each[index % len(each)]
        yield node


def storage_nodes(operation: CreateNodes, names: list[str]) -> Iterator[Object]:
    """How many volumes of which driver the nodes take, as objects beside the nodes."""
    if not operation.volumes:
        return
    for name in names:
        drivers = [
            {"name": driver, "nodeID": name, "allocatable": {"count": count}}
            for driver, count in operation.volumes.items()
        ]
        annotations = {_MIGRATED: ",".join(operation.migrated)}
        yield {"metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}


def namespaces(operation: CreateNamespaces) -> Iterator[Object]:
    """The namespaces of an operation."""
    for index in range(operation.count):
        made = {"metadata": {}} if operation.template is None else _typed(operation.template, {})
        made["metadata"]["name"] = f"{operation.prefix}-{index}"
        yield made


def pod(operation: CreatePods, index: int) -> Object:
    """One of the pods of an operation. Pods of a template have a label, which `alike` of them share."""
    if operation.template is None:
        made = _default_pod()
    else:
        made = _typed(operation.template, {**operation.values, "Index": index, "Count": operation.count})
        made["metadata"].setdefault("labels", {})["signature"] = f"signature-label-{index // operation.alike}"
    if operation.claim is not None:
        made["spec"]["volumes"] = [{"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim_name(index)}}]
    return made


def claim_name(index: int) -> str:
    """The name of the claim of a pod with a volume."""
    return f"pvc-{index}"


def claim_and_volume(operation: CreatePods, index: int) -> tuple[Object, Object]:
    """The claim of a pod and its volume, each naming the other. Raises `ValueError` without templates of both."""
    if operation.claim is None or operation.volume is None:
        raise ValueError(f"the pods of {operation.namespace} have no templates of volumes")
    claim, volume = _typed(operation.claim, {}), _typed(operation.volume, {})
    name = f"{operation.namespace}-{_VOLUME}-{index}"
    claim.setdefault("metadata", {})["name"] = claim_name(index)
    claim["spec"]["volumeName"] = name
    volume.setdefault("metadata", {})["name"] = name
    spec = volume["spec"]
    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": operation.namespace}
    spec["claimRef"] = {**reference, "name": claim_name(index)}
    if "csi" in spec:
        spec["csi"]["volumeHandle"] = name
    if "awsElasticBlockStore" in spec:
        spec["awsElasticBlockStore"]["volumeID"] = f"{_VOLUME}-{index}"
    return claim, volume


def any_objects(operation: CreateObjects | UpdateObjects) -> Iterator[Object]:
    """The objects of an operation on any kind."""
    given = operation.values if isinstance(operation, CreateObjects) else {}
    for index in range(operation.count):
        yield rendered(operation.template, {**given, "Index": index, "Count": operation.count})


def with_small_letters(value: Any) -> Any:
    """The value with names of fields that begin with a small letter."""
    if isinstance(value, list):
        return [with_small_letters(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name[:1].lower() + name[1:]: each if name in _FREE else with_small_letters(each) for name, each in value.items()
    }


def _typed(path: Path, values: Mapping[str, Any]) -> Object:
    made: Object = with_small_letters(rendered(path, values))
    made.setdefault("metadata", {})
    return made


@cache
def _template(path: Path) -> Template:
    return Template(path.read_text())


@lru_cache(_TEXTS)
def _parsed(text: str) -> Object:
    made: Object = yaml.load(text, yaml.CSafeLoader)
    return made


def _default_node(prefix: str) -> Object:
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"capacity": _NODE_SIZE, "allocatable": _NODE_SIZE, "phase": "Running", "conditions": conditions}
    return {"metadata": {"generateName": prefix}, "status": status}


def _default_pod() -> Object:
    container = {
        "name": "pause",
        "image": "pause",
        "ports": [{"containerPort": 80}],
        "resources": {"limits": _POD_SIZE, "requests": _POD_SIZE},
    }
    return {"metadata": {"generateName": "pod-"}, "spec": {"containers": [container]}}
