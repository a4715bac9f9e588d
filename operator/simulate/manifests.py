"""The input of a simulation: pods and PodGroups of manifests, including pods that controllers would create."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from muster.framework.config import ConfigurationError, read_documents
from muster.framework.contract import WHOLE_NODES, EventResource, WatchedKind
from muster.framework.model.faults import FieldError, check, needed
from muster.framework.model.meta import from_plain
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import amounts
from muster.operator.podgroups.membership import GroupKinds

from . import admission as admitting
from .admission import AdmissionObjects
from .controllers import claim_from
from .defaults import with_defaults
from .replicas import REPLICAS, group_of_job, replicas, shown, template_name
from .requirements import refused_amounts
from .strict import misshapen, unknown_fields
from .whole import Written

_API_GROUPS = {
    "Node": "",
    "Pod": "",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "Job": "batch",
    "JobSet": "jobset.x-k8s.io",
}
"""The kinds that are read, with their API groups, because other projects have kinds of the same names."""

_WORKLOADS = "scheduling.k8s.io"
"""The API group of native groups: the API server sets their priorities, and the Job controller creates some."""

_CLUSTER_SCOPED = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "DeviceClass",
        "DeviceTaintRule",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "ResourceSlice",
        "RuntimeClass",
        "StorageClass",
        "VolumeAttachment",
        WHOLE_NODES.resource,
    }
)
"""The kinds of objects without a namespace."""
_DEFAULT = "default"

_NO_GROUPS = GroupKinds(())


class ManifestError(ValueError):
    """A manifest that cannot be used; the message names source, object and field."""


@dataclass(slots=True)
class Objects:
    """The objects of manifests or of a cluster, with their amounts checked.

    Attributes:
        nodes, pods: the objects.
        watched: the objects of further kinds: groups, and the kinds that plugins watch.
        skipped: the number of objects of each other kind, by `apiVersion kind`.
        made: the number of objects of further kinds that controllers would make for others, by key.
        admission: the objects that complete new pods.
        written: nodes and pods as they were written, for extenders; None without extenders.
    """

    nodes: list[Node] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    watched: dict[WatchedKind, list[Any]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    made: dict[WatchedKind, Counter[str]] = field(default_factory=dict)
    admission: AdmissionObjects = field(default_factory=AdmissionObjects)
    written: Written | None = None

    def extend(self, more: Objects) -> None:
        """Add the objects of another source."""
        self.nodes += more.nodes
        self.pods += more.pods
        for kind, objects in more.watched.items():
            self.watched.setdefault(kind, []).extend(objects)
        self.skipped += more.skipped
        for kind, keys in more.made.items():
            self.made.setdefault(kind, Counter()).update(keys)
        if more.written is not None:
            self.written = self.written or Written()
            self.written.extend(more.written)


def read(
    text: str | bytes,
    source: str,
    watched: Iterable[WatchedKind] = (),
    admission: AdmissionObjects | None = None,
    *,
    kinds: GroupKinds = _NO_GROUPS,
    namespace: str = _DEFAULT,
    whole: bool = False,
) -> Objects:
    """Read the objects of a YAML stream or JSON text, with the items of lists and the pods of templates.

    Args:
        text: the stream.
        source: the name of the stream in errors.
        watched: further kinds to read, which plugins watch. An object without an API version is of the first kind with
            its name.
        admission: the objects that complete new pods; such objects in the text are added.
        kinds: the kinds of groups, whose form is validated as at admission.
        namespace: the namespace of objects that name none.
        whole: whether to keep nodes and pods as they were written, too.

    Raises ManifestError for an invalid manifest, and for an object that the API server would reject.
    """
    found = Objects(
        watched={kind: [] for kind in watched},
        admission=admission or AdmissionObjects(),
        written=Written() if whole else None,
    )
    documents = [*_documents(text, source)]
    for document in documents:
        _take_for_admission(document, source, found.admission, namespace=namespace)
    for document in documents:
        if not (isinstance(document, msgspec.Raw) and _take_stored(document, found)):
            plain = msgspec.json.decode(document) if isinstance(document, msgspec.Raw) else document
            for each in _flat([plain], source, namespace=namespace):
                _take(each, source, found, kinds)
    return found


class _Type(msgspec.Struct):
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")


class _List(msgspec.Struct):
    kind: Literal["List"]
    items: list[msgspec.Raw]


def _documents(text: str | bytes, source: str) -> Iterator[Any]:
    """The text's documents as plain values, or the items of kubectl's list as raw JSON.

    JSON is YAML too, but a large dump is read as JSON in a hundredth of the time.
    """
    try:
        yield from _json_documents(text)
    except (msgspec.DecodeError, UnicodeError):
        try:
            yield from (document.value for document in read_documents(text, source))
        except ConfigurationError as error:
            raise ManifestError(str(error)) from error


def _json_documents(text: str | bytes) -> list[Any]:
    try:
        return [*msgspec.json.decode(text, type=_List).items]
    except msgspec.ValidationError:
        return [msgspec.json.decode(text)]


def _take_stored(document: msgspec.Raw, found: Objects) -> bool:
    """Add a node or bound pod as the API server printed it; a dump may have very many.

    Returns False for an item that needs all checks.
    """
    try:
        found_type = msgspec.json.decode(document, type=_Type)
        if not _counts(found_type.api_version, found_type.kind):
            return False
        if found_type.kind == "Node" and WHOLE_NODES not in found.watched:
            node = msgspec.json.decode(document, type=Node)
            check(node)
            _add_node(_checked_node(node), document, found)
            return True
        if found_type.kind == "Pod":
            pod = msgspec.json.decode(document, type=Pod)
            if pod.spec.node_name and pod.metadata.uid and pod.metadata.namespace:
                check(pod)
                _add_pod(_checked_pod(pod), document, found)
                return True
    except (msgspec.ValidationError, FieldError):
        pass
    return False


def _take_for_admission(document: object, source: str, admission: AdmissionObjects, *, namespace: str) -> None:
    """Add the objects that admission reads, before any pod, because a class may follow the pods that name it."""
    if isinstance(document, msgspec.Raw):
        try:
            if msgspec.json.decode(document, type=_Type).kind not in (*admitting.KINDS, "List"):
                return
        except msgspec.ValidationError:
            return
        document = msgspec.json.decode(document)
    for each in _flat([document], source, namespace=namespace):
        if each.get("kind") in admitting.KINDS:
            admission.add(each)


def _flat(documents: Iterable[Any], source: str, *, namespace: str) -> Iterator[Mapping[str, Any]]:
    """The objects and the items of lists, in `namespace` if they name none."""
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, Mapping):
            raise ManifestError(f"{source}: not a Kubernetes object: {shown(document)}")
        items = document.get("items")
        if isinstance(items, list):
            yield from _flat((_typed(item, document) for item in items), source, namespace=namespace)
        else:
            _check_form(document, source)
            yield document if document.get("kind") in _CLUSTER_SCOPED else _namespaced(document, namespace)


def _check_form(document: Mapping[str, Any], source: str) -> None:
    if problem := misshapen(document):
        kind, metadata = document.get("kind"), document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        named = [part for part in (kind, name) if isinstance(part, str)]
        raise ManifestError(": ".join((source, *([" ".join(named)] if named else []), problem)))


def _typed(item: Any, its_list: Mapping[str, Any]) -> Any:
    """An item with the type that a list of one kind omits."""
    kind = str(its_list.get("kind") or "").removesuffix("List")
    if not kind or not isinstance(item, Mapping):
        return item
    return {"apiVersion": its_list.get("apiVersion"), "kind": kind, **item}


def _counts(api_version: str, kind: str) -> bool:
    """Whether this kind is read; for an object without an API version, its kind alone decides."""
    group = api_version.rpartition("/")[0]
    return kind in _API_GROUPS and (not api_version or group == _API_GROUPS[kind])


def _take(document: Mapping[str, Any], source: str, found: Objects, kinds: GroupKinds) -> None:
    api_version, kind = (str(document.get(part) or "") for part in ("apiVersion", "kind"))
    if not kind:
        raise ManifestError(f"{source}: Object 'Kind' is missing in {shown(document)}")
    metadata = document.get("metadata") or {}
    name = metadata.get("name") or f"{metadata.get('generateName') or ''}{len(found.pods)}"
    its_kind = next((each for each in found.watched if each.describes(api_version, kind)), None)
    if kind in admitting.KINDS and its_kind is None:
        _reject_unknown_fields(document, f"{source}: {kind} {name}")
        return
    if its_kind is None and not _counts(api_version, kind):
        found.skipped[f"{api_version} {kind}".strip()] += 1
        return
    group_kind = None if its_kind is None else kinds.kind_of(its_kind)
    is_new = not metadata.get("uid")
    _reject_unknown_fields(document, f"{source}: {kind} {name}", {} if group_kind is None else group_kind.fields)
    try:
        if group_kind is not None and is_new and (wrong := group_kind.problems(_namespaced(document))):
            raise ValueError("; ".join(wrong))
        if its_kind is not None:
            found.watched[its_kind].append(_watched(_admitted(document, its_kind, found.admission), its_kind))
        if kind == "Node":
            _add_node(_checked_node(from_plain(document, Node)), document, found)
        elif kind == "Pod":
            _take_pod(document, name, found)
        elif kind in REPLICAS:
            if kind == "Job":
                _take_group_of_job(document, name, found)
            for replica in replicas(document, kind, name):
                _take_pod(replica, replica["metadata"]["name"], found)
    except ValueError as error:
        raise ManifestError(f"{source}: {kind} {name}: {error}") from error


def _reject_unknown_fields(
    document: Mapping[str, Any], where: str, known: Mapping[str, type[Any]] = MappingProxyType({})
) -> None:
    """Raise ManifestError for a new object with fields that its kind does not have."""
    if (document.get("metadata") or {}).get("uid"):
        return
    unknown = unknown_fields(document, known)
    if unknown:
        fields = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise ManifestError(f"{where}: strict decoding error: {fields}")


def _add_node(node: Node, document: object, found: Objects) -> None:
    found.nodes.append(node)
    if found.written is not None:
        found.written.nodes[node.metadata.name] = _as_raw(document)


def _add_pod(pod: Pod, document: object, found: Objects) -> None:
    found.pods.append(pod)
    if found.written is not None:
        found.written.pods[pod.metadata.key] = _as_raw(document)


def _add_made(made: Any, kind: WatchedKind, found: Objects) -> None:
    """Add an object that a controller would make for another object."""
    found.watched[kind].append(made)
    found.made.setdefault(kind, Counter())[made.metadata.key] += 1


def _as_raw(document: object) -> msgspec.Raw:
    if isinstance(document, msgspec.Raw):
        return document
    return msgspec.Raw(msgspec.json.encode(from_plain(document, dict)))


def _checked_node(node: Node) -> Node:
    if not node.metadata.name:
        raise FieldError("metadata.name: Required value: name or generateName is required")
    amounts(node.status.allocatable)
    return node


def _checked_pod(pod: Pod) -> Pod:
    PodInfo(pod)
    return pod


def _admitted(document: Mapping[str, Any], kind: WatchedKind, admission: AdmissionObjects) -> Mapping[str, Any]:
    """A new native group with the priority of its class, a new claim with a storage class; other objects unchanged."""
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    if kind.resource == EventResource.PERSISTENT_VOLUME_CLAIM and not metadata.get("uid"):
        return admission.claim(document)
    if kind.group != _WORKLOADS or metadata.get("uid"):
        return document
    given = admission.priority(f'podgroups.scheduling.k8s.io "{metadata.get("name")}" is forbidden: ', spec)
    return {**document, "spec": {**spec, **{name: value for name, value in given.items() if name == "priority"}}}


def _watched(document: Mapping[str, Any], kind: WatchedKind) -> Any:
    """An object as the API server would store it; the UID of a new one is made from its name."""
    named = dict(document) if kind.resource in _CLUSTER_SCOPED else _namespaced(document)
    metadata = named.get("metadata") or {}
    uid = metadata.get("uid") or f"{metadata.get('namespace') or ''}/{metadata.get('name')}"
    return from_plain({**named, "metadata": {**metadata, "uid": uid}}, kind.type)


def _take_pod(document: Mapping[str, Any], name: str, found: Objects) -> None:
    """Add a pod, with the claims that controllers create for its set and its ephemeral volumes."""
    completed = _completed(document, name, found.admission)
    pod = _checked_pod(from_plain(completed, Pod))
    if not (document.get("metadata") or {}).get("uid") and (refused := refused_amounts(pod)):
        raise FieldError(refused)
    _add_pod(pod, completed, found)
    kind = next((each for each in found.watched if each.resource == EventResource.PERSISTENT_VOLUME_CLAIM), None)
    if kind is None:
        return
    meta = pod.metadata
    for template in document.get("volumeClaimTemplates") or ():
        own = f"{template_name(template)}-{name}"
        _add_made(claim_from(found.admission.claim(template), own, meta.namespace), kind, found)
    for index, volume in enumerate((document.get("spec") or {}).get("volumes") or ()):
        if "ephemeral" in volume:
            template = (volume["ephemeral"] or {}).get("volumeClaimTemplate") or {}
            own = f"{name}-{needed(volume, 'name', f'spec.volumes[{index}]')}"
            _add_made(claim_from(found.admission.claim(template), own, meta.namespace, owner=meta.uid), kind, found)


def _take_group_of_job(document: Mapping[str, Any], name: str, found: Objects) -> None:
    """Add the group that the Job controller creates for a Job that requests one; all pods of the Job join it."""
    kind = next((each for each in found.watched if each.describes(_WORKLOADS + "/", "PodGroup")), None)
    group = None if kind is None else group_of_job(document, name)
    if kind is not None and group is not None:
        _add_made(_watched(group, kind), kind, found)


def _completed(document: Mapping[str, Any], name: str, admission: AdmissionObjects) -> dict[str, Any]:
    """A pod as the API server would store it."""
    named = _namespaced(document)
    metadata = named["metadata"]
    uid = metadata.get("uid") or f"{metadata['namespace']}/{name}"
    spec = with_defaults(document.get("spec") or {})
    if not metadata.get("uid"):
        spec = admission.pod(metadata["namespace"], name, spec)
    return {**named, "metadata": {**metadata, "name": name, "uid": uid}, "spec": spec}


def _namespaced(document: Mapping[str, Any], namespace: str = _DEFAULT) -> dict[str, Any]:
    metadata = document.get("metadata") or {}
    return {**document, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}
