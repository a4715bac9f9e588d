"""Sharing: equal parts of pods are one object, so that a replica costs little more memory than its names.

`PodInfo` has it done to every pod it is made of. Nobody can tell: wire structs do not change, and a part is replaced by
an equal one. What was met lately is remembered, encoded.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from .label_set import LabelSet
from .pod import Pod, PodSpec

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_replace = msgspec.structs.force_setattr
_EMPTY: dict[str, str] = {}
_MOST = 1024
_met: dict[tuple[type[object], bytes], Any] = {}


def share_parts(pod: Pod, spec: PodSpec, label_set: LabelSet) -> None:
    """Put shared parts in place of the pod's own.

    Args:
        spec: what the pod's has in common with others of its signature; the parts of it are shared.
        label_set: that of the pod.
    """
    meta, own = pod.metadata, pod.spec
    if own.containers is not spec.containers:
        shared = msgspec.structs.replace(spec, node_name=own.node_name, volumes=_shared(own.volumes))
        if shared == own:
            _replace(pod, "spec", shared)
    _replace(pod, "status", _shared(pod.status))
    _replace(meta, "namespace", label_set.namespace)
    _replace(meta, "labels", label_set.labels)
    _replace(meta, "annotations", _shared(meta.annotations) if meta.annotations else _EMPTY)
    _replace(meta, "owner_references", _shared(meta.owner_references))


def _shared(part: T) -> T:
    """An equal part that was met before, or this one. An empty tuple is shared as it is."""
    if part == ():
        return part
    key = type(part), _encode(part)
    shared: T | None = _met.get(key)
    if shared is None:
        if len(_met) >= _MOST:
            _met.clear()
        shared = _met[key] = part
    return shared
