"""A pod with what scheduling derives from it, computed once for all pods of the same signature.

The informers' handlers make a `PodInfo` of every pod they see; cache, queue, cycles and plugins pass it on. What is
derived from the spec alone lives in its `PodSignature`, which equal specs share, so a thousand replicas cost one parse.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

from .affinity_terms import PodTerms, pod_terms
from .label_selector import LabelSet, label_set_of
from .node_selector import NodeRequirement, required_of
from .pod import Pod, PodResourceClaim, PodSpec, PodStatus, Volume
from .requests import CPU, MEMORY, nonzero_requests, pod_requests, scoring_requests

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_replace, _with = msgspec.structs.force_setattr, msgspec.structs.replace
_EMPTY: dict[str, str] = {}
_WITHOUT_CONTENT = _encode({})
_MOST = 1024
_LARGEST = 2048
_met: dict[tuple[type[object], bytes], Any] = {}


def share_parts(pod: Pod, spec: PodSpec, label_set: LabelSet) -> None:
    """Put shared parts in place of the pod's own.

    Args:
        spec: what the pod's has in common with others of its signature; the parts of it are shared.
        label_set: that of the pod.
    """
    meta, own = pod.metadata, pod.spec
    if own.containers is not spec.containers and not own.resource_claims:
        volumes = _shared(own.volumes) if own.volumes else ()
        group, node_name = own.scheduling_group, own.node_name
        _replace(pod, "spec", _with(spec, node_name=node_name, volumes=volumes, scheduling_group=group))
    _replace(pod, "status", _shared(pod.status))
    _replace(meta, "namespace", label_set.namespace)
    _replace(meta, "labels", label_set.as_written)
    _replace(meta, "annotations", _shared(meta.annotations) if meta.annotations else _EMPTY)
    if meta.owner_references:
        _replace(meta, "owner_references", _shared(meta.owner_references))


def _shared(part: T) -> T:
    """An equal part that was met before, or this one. One without content is kept as it is.

    A large one is not shared: what is remembered stays when its pods are gone.
    """
    if part == ():
        return part
    key = type(part), _encode(part)
    if key[1] == _WITHOUT_CONTENT or len(key[1]) > _LARGEST:
        return part
    shared: T | None = _met.get(key)
    if shared is None:
        if len(_met) >= _MOST:
            _met.clear()
        shared = _met[key] = part
    return shared


class HostPort(NamedTuple):
    """A claim on a port of the node. `ip` "0.0.0.0" stands for every address."""

    ip: str
    protocol: str
    port: int


class PodSignature:
    """The properties that follow from a pod's spec (less its node, its claims and its group) alone.

    Pods of one scheduling class share one instance, so identity is equality: `signature is other.signature`.

    Attributes:
        requests: effective request by resource; milli-cores for cpu, whole units otherwise.
        scoring: what NodeResourcesFit scores the pod by: the same without pod-level resources, and with 100m/200Mi for
            each container that names no cpu or memory.
        nonzero: `(cpu, memory)` that the pod counts on its node where other pods are scored, also with defaults.
        host_ports: ports claimed of the node, sidecars' included.
        images: the image of each init container, container and image volume.
        spec: what the pods' specs have in common.
    """

    __slots__ = ("__weakref__", "_required", "_terms", "host_ports", "images", "nonzero", "requests", "scoring", "spec")

    def __init__(self, pod: Pod) -> None:
        requests = pod_requests(pod)
        self.requests: Mapping[str, int] = MappingProxyType(requests)
        self.scoring: Mapping[str, int] = MappingProxyType(scoring_requests(pod, requests))
        counted = nonzero_requests(pod)
        self.nonzero = (counted.get(CPU, 0), counted.get(MEMORY, 0))
        self.host_ports = _host_ports(pod)
        self.images = _images(pod)
        self.spec = _common(pod.spec)
        self._terms: dict[str, PodTerms] = {}
        self._required: NodeRequirement | None = None

    @property
    def required(self) -> NodeRequirement:
        """The node requirement of the pods."""
        if self._required is None:
            self._required = required_of(self.spec)
        return self._required

    def terms_in(self, namespace: str) -> PodTerms:
        """The terms of inter-pod affinity that the pods have in this namespace."""
        known = self._terms.get(namespace)
        if known is None:
            known = self._terms[namespace] = pod_terms(self.spec.affinity, namespace)
        return known


class PodInfo:
    """A pod and its signature. Immutable; a changed pod is a new PodInfo.

    Attributes:
        label_set: its namespace and labels.
        terminating: whether the pod is being deleted. It still counts against its node.

    Raises QuantityError when a request of the pod is not a quantity.
    """

    __slots__ = (
        "key",
        "label_set",
        "labels",
        "name",
        "namespace",
        "node_name",
        "pod",
        "priority",
        "signature",
        "terminating",
        "uid",
    )

    def __init__(self, pod: Pod) -> None:
        meta = pod.metadata
        self.pod = pod
        self.name = meta.name
        self.uid = meta.uid
        self.key = f"{meta.namespace}/{meta.name}"
        self.node_name = pod.spec.node_name
        self.priority = pod.spec.priority or 0
        self.signature = signature_of(pod)
        self.terminating = meta.deletion_timestamp is not None
        self.label_set: LabelSet = label_set_of(meta.namespace, meta.labels, terminating=self.terminating)
        self.namespace, self.labels = self.label_set.namespace, self.label_set.labels
        share_parts(pod, self.signature.spec, self.label_set)

    @property
    def terms(self) -> PodTerms:
        """The pod's terms of inter-pod affinity."""
        return self.signature.terms_in(self.namespace)

    def __repr__(self) -> str:
        return f"PodInfo({self.key}, uid={self.uid}, node={self.node_name or None})"


_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_signatures: WeakValueDictionary[bytes, PodSignature] = WeakValueDictionary()


def signature_of(pod: Pod) -> PodSignature:
    """The one PodSignature of all pods with one spec, less node, claims and group, if no status changes what counts.

    So a pod keeps its signature when a kubelet starts it and reports the resources it was given, unless they differ.
    """
    key = _encode(_common(pod.spec))
    given = _given_resources(pod.status)
    if given is not None:
        key += _encode(given)
    signature = _signatures.get(key)
    if signature is None:
        signature = PodSignature(pod)
        if given is not None:
            plain = signature_of(Pod(pod.metadata, pod.spec))
            if _amounts(signature) == _amounts(plain):
                signature = plain
        _signatures[key] = signature
    return signature


def _common(spec: PodSpec) -> PodSpec:
    """The properties that pods of one signature share: not the node, and of volumes just images, which scores count.

    Claims differ from replica to replica, and what becomes of them does not follow from the spec. Of those for devices
    their number stays.
    """
    if not (spec.node_name or spec.volumes or spec.resource_claims or spec.scheduling_group):
        return spec
    images: tuple[Volume, ...] = ()
    if spec.volumes:
        images = tuple(Volume(image=volume.image) for volume in spec.volumes if volume.image is not None)
    claims = (PodResourceClaim(),) * len(spec.resource_claims)
    return _with(spec, node_name="", volumes=images, resource_claims=claims, scheduling_group=None)


def _amounts(signature: PodSignature) -> tuple[object, ...]:
    return signature.requests, signature.scoring, signature.nonzero


def _given_resources(status: PodStatus) -> tuple[object, ...] | None:
    """The part of the status that the effective request depends on; None if there is none."""
    reported = (*status.container_statuses, *status.init_container_statuses)
    containers = [s for s in reported if s.resources is not None or s.allocated_resources]
    pending = [c.reason for c in status.conditions if c.type == "PodResizePending"]
    if not containers and not pending and status.resources is None:
        return None
    return containers, pending, status.resources, status.allocated_resources


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    sidecars = (c for c in pod.spec.init_containers if c.restart_policy == "Always")
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def _images(pod: Pod) -> tuple[str, ...]:
    containers = (container.image for container in (*pod.spec.init_containers, *pod.spec.containers))
    return (*containers, *(volume.image.reference for volume in pod.spec.volumes if volume.image is not None))


_Common = tuple[PodSignature, LabelSet, tuple[tuple[str, str, str], ...]]


class EquivalenceClass:
    """Pods with the same signature, namespace, labels and controllers. Identity is equality."""

    __slots__ = ("__weakref__",)


_classes: WeakValueDictionary[_Common, EquivalenceClass] = WeakValueDictionary()


def equivalence_class_of(pod: PodInfo) -> EquivalenceClass:
    """The one class of all pods that are like this one."""
    owners = pod.pod.metadata.owner_references
    controllers = tuple((owner.api_version, owner.kind, owner.name) for owner in owners if owner.controller)
    common = (pod.signature, pod.label_set, controllers)
    known = _classes.get(common)
    if known is None:
        known = _classes[common] = EquivalenceClass()
    return known
