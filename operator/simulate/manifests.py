"""What is to be simulated: pods and PodGroups out of manifests, also pods that controllers would make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import yaml

from muster.framework.model.decode import from_plain
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError
from muster.framework.model.requests import amounts
from muster.plugins.coscheduling.api import PodGroup

from .defaults import with_defaults

_REPLICAS = {
    "Deployment": ("replicas",),
    "ReplicaSet": ("replicas",),
    "StatefulSet": ("replicas",),
    "Job": ("parallelism", "completions"),
}
"""Kinds with a pod template, and the fields of which the least says how many pods run at once; 1 without any."""


class ManifestError(ValueError):
    """A manifest that cannot be used; the message names source, object and field."""


@dataclass(slots=True)
class Objects:
    """What was read, of the kinds that count here, its amounts checked. Objects of other kinds are passed over."""

    nodes: list[Node] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    groups: list[PodGroup] = field(default_factory=list)

    def extend(self, more: Objects) -> None:
        """Take in what was read elsewhere."""
        self.nodes += more.nodes
        self.pods += more.pods
        self.groups += more.groups


def read(text: str | bytes, source: str) -> Objects:
    """The objects of a YAML stream or JSON text, lists taken apart and templates filled in.

    Raises ManifestError for what is not a manifest.
    """
    found = Objects()
    try:
        for document in _documents(text):
            if not isinstance(document, msgspec.Raw):
                _take_all(document, source, found)
            elif not _take_stored(document, found):
                _take_all(msgspec.json.decode(document), source, found)
    except yaml.YAMLError as error:
        raise ManifestError(f"{source}: {' '.join(str(error).split())}") from error
    return found


class _Kind(msgspec.Struct):
    kind: str = ""


class _List(msgspec.Struct):
    kind: Literal["List"]
    items: list[msgspec.Raw]


def _documents(text: str | bytes) -> Iterator[Any]:
    """The text's documents as plain values, or the items of kubectl's list as they stand.

    JSON is YAML, but a large dump is read as JSON in a hundredth of the time.
    """
    try:
        yield from msgspec.json.decode(text, type=_List).items
    except msgspec.ValidationError:
        yield msgspec.json.decode(text)
    except msgspec.DecodeError:
        yield from yaml.safe_load_all(text)


def _take_stored(document: msgspec.Raw, found: Objects) -> bool:
    """Take a node or bound pod as the API server printed it, of which a dump may hold very many.

    False for what needs a closer look.
    """
    try:
        kind = msgspec.json.decode(document, type=_Kind).kind
        if kind == "Node":
            found.nodes.append(_checked_node(msgspec.json.decode(document, type=Node)))
            return True
        if kind == "Pod":
            pod = msgspec.json.decode(document, type=Pod)
            if pod.spec.node_name and pod.metadata.uid and pod.metadata.namespace:
                found.pods.append(_checked_pod(pod))
                return True
    except (msgspec.ValidationError, QuantityError):
        pass
    return False


def _take_all(document: object, source: str, found: Objects) -> None:
    for each in _flat([document]):
        _take(each, source, found)


def _flat(documents: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for document in documents:
        if isinstance(document, Mapping):
            items = document.get("items")
            if isinstance(items, list):
                kind = str(document.get("kind") or "").removesuffix("List")
                yield from _flat({"kind": kind, **item} if isinstance(item, Mapping) else item for item in items)
            else:
                yield document


def _take(document: Mapping[str, Any], source: str, found: Objects) -> None:
    kind = document.get("kind")
    metadata = document.get("metadata") or {}
    name = metadata.get("name") or f"{metadata.get('generateName') or ''}{len(found.pods)}"
    try:
        if kind == "Node":
            found.nodes.append(_checked_node(from_plain(document, Node)))
        elif kind == "PodGroup":
            found.groups.append(from_plain(_namespaced(document), PodGroup))
        elif kind == "Pod":
            found.pods.append(_pod(document, name))
        elif kind in _REPLICAS:
            found.pods += _replicas(document, kind, name)
    except (msgspec.ValidationError, QuantityError, AttributeError, TypeError) as error:
        raise ManifestError(f"{source}: {kind} {name}: {error}") from error


def _checked_node(node: Node) -> Node:
    amounts(node.status.allocatable)
    return node


def _checked_pod(pod: Pod) -> Pod:
    PodInfo(pod)
    return pod


def _replicas(document: Mapping[str, Any], kind: str, name: str) -> Iterator[Pod]:
    spec = document.get("spec") or {}
    template = spec.get("template") or {}
    namespace = (document.get("metadata") or {}).get("namespace")
    numbers = [int(spec[field]) for field in _REPLICAS[kind] if spec.get(field) is not None]
    for index in range(min(numbers, default=1)):
        metadata = {**(template.get("metadata") or {}), "namespace": namespace}
        yield _pod({"metadata": metadata, "spec": template.get("spec") or {}}, f"{name}-{index}")


def _pod(document: Mapping[str, Any], name: str) -> Pod:
    named = _namespaced(document)
    metadata = named["metadata"]
    uid = metadata.get("uid") or f"{metadata['namespace']}/{name}"
    spec = with_defaults(document.get("spec") or {})
    return _checked_pod(from_plain({**named, "metadata": {**metadata, "name": name, "uid": uid}, "spec": spec}, Pod))


def _namespaced(document: Mapping[str, Any]) -> dict[str, Any]:
    metadata = document.get("metadata") or {}
    return {**document, "metadata": {**metadata, "namespace": metadata.get("namespace") or "default"}}
