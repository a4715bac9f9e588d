"""Fields of a manifest that its kind does not have, as kubectl's strict validation finds them.

A mistyped field would be ignored and change the answer, so `manifests` refuses it. The fields of Kubernetes' own kinds
are those of the official client's models; kinds that neither the client nor Muster knows are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from muster.plugins.coscheduling.api import API_VERSION, KIND, PodGroupSpec, PodGroupStatus

_GROUPS = frozenset(
    {"", "apps", "batch", "node.k8s.io", "policy", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io"}
)
_CONTAINED = re.compile(r"(List|Dict)\[(?:str, )?(\w+)\]")


def unknown_fields(document: Mapping[str, Any]) -> list[str]:
    """The paths of fields that the object's kind does not have, such as `spec.template.spec.schedulerNam`."""
    api_version, kind = str(document.get("apiVersion") or ""), str(document.get("kind") or "")
    if (api_version, kind) == (API_VERSION, KIND):
        return [*_of_pod_group(document)]
    group, _, version = api_version.rpartition("/")
    model = _model(f"{version[:1].upper()}{version[1:]}{kind}") if version and group in _GROUPS else None
    return [] if model is None else [*_unknown(document, model, "")]


def _of_pod_group(document: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in document if name not in ("apiVersion", "kind", "metadata", "spec", "status"))
    metadata = document.get("metadata")
    if isinstance(metadata, Mapping):
        yield from _unknown(metadata, _model("V1ObjectMeta"), "metadata")
    for part, struct in (("spec", PodGroupSpec), ("status", PodGroupStatus)):
        known = {field.encode_name for field in msgspec.structs.fields(struct)}
        value = document.get(part)
        yield from (f"{part}.{name}" for name in (value if isinstance(value, Mapping) else ()) if name not in known)


def _unknown(value: Mapping[str, Any], model: Any, path: str) -> Iterator[str]:
    types = {model.attribute_map[name]: type_ for name, type_ in model.openapi_types.items()}
    for name, item in value.items():
        where = f"{path}.{name}" if path else str(name)
        if name in types:
            yield from _inside(item, types[name], where)
        else:
            yield where


def _inside(value: Any, type_: str, path: str) -> Iterator[str]:
    contained = _CONTAINED.fullmatch(type_)
    model = _model(type_ if contained is None else contained[2])
    if model is None:
        return
    if contained is None:
        if isinstance(value, Mapping):
            yield from _unknown(value, model, path)
    elif contained[1] == "List" and isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, Mapping):
                yield from _unknown(each, model, f"{path}[{index}]")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, Mapping):
                yield from _unknown(each, model, f"{path}[{key}]")


def _model(name: str) -> Any:
    """The client's model of this name; None where it has none."""
    from kubernetes.client import models  # takes a second to import, and few commands read manifests

    return getattr(models, name, None)
