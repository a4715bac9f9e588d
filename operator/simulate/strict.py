"""Checks of a manifest's form, by the path of the field, as in kubectl's strict validation.

A mistyped field would be ignored and change the result, and a list in place of an object could not be read, so
`manifests` rejects both. The fields of Kubernetes' own kinds are those of the official client's models. For kinds that
the client does not know, only metadata is checked, and that spec and status are objects; for a JobSet its Jobs, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from muster.framework.model.faults import type_of

_GROUPS = frozenset(
    {"", "apps", "batch", "node.k8s.io", "policy", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io"}
)
_VERSIONS = {
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "LimitRange": "v1",
    "Node": "v1",
    "Pod": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "ReplicaSet": "apps/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "StatefulSet": "apps/v1",
}
"""The API versions to assume for objects without one, or with one that the client does not know."""
_PARTS = {"metadata": "V1ObjectMeta", "spec": "Struct", "status": "Struct"}
_SCALARS = {
    "int": ("integer", ("integer",)),
    "float": ("number", ("integer", "number")),
    "bool": ("boolean", ("boolean",)),
    "str": ("string", ("string", "integer", "number", "boolean")),
    "datetime": ("string", ("string",)),
}
"""Each scalar type of the models with its name for people, and what may stand there: a quantity is a `str` that may be
a number."""
_JOB_SET = "JobSet"
_JOBS = "spec.replicatedJobs"
_JOB_TEMPLATE = "V1JobTemplateSpec"
_CONTAINED = re.compile(r"(List|Dict)\[(?:str, )?(.+)\]")


def unknown_fields(document: Mapping[str, Any], known: Mapping[str, type[Any]]) -> list[str]:
    """The paths of fields that the object's kind does not have, such as `spec.template.spec.schedulerNam`.

    `known` are the structs that have all fields of its parts, for a kind that the official client does not know.
    """
    if known and document.get("apiVersion"):
        return [*_besides(known, document)]
    if _type(document)[1] == _JOB_SET:
        return [path for where, each in _job_templates(document) for path in _inside(each, _JOB_TEMPLATE, where)]
    model = _model_of(document) or (None if document.get("apiVersion") else _model_by_kind(document))
    return [] if model is None else [*_unknown(document, model, "")]


def misshapen(document: Mapping[str, Any]) -> str | None:
    """The first field of a wrong type, as a text: `spec.containers: must be of type array, …`."""
    for part in ("apiVersion", "kind"):
        if not isinstance(document.get(part, ""), str | None):
            return _not("string", document[part], part)
    group, default = _type(document)[0].rpartition("/")[0], _VERSIONS.get(_type(document)[1], "")
    model = _model_of(document)
    if model is None and group in ("", default.rpartition("/")[0]):
        model = _model_by_kind(document)
    if model is not None:
        return next(_ill_typed(document, model, ""), None)
    parts = (_fits(document[part], type_, part) for part, type_ in _PARTS.items() if document.get(part) is not None)
    return next(chain(chain.from_iterable(parts), _ill_formed_jobs(document)), None)


def _ill_formed_jobs(document: Mapping[str, Any]) -> Iterator[str]:
    """The faults of the Jobs in a JobSet, whose other fields the client does not know."""
    if _type(document)[1] != _JOB_SET:
        return
    jobs = (document.get("spec") or {}).get("replicatedJobs")
    faults = [] if jobs is None else [*_fits(jobs, "List[Struct]", _JOBS)]
    yield from faults
    for index, job in enumerate(() if faults else jobs or ()):
        for part, type_ in (("name", "str"), ("replicas", "int"), ("template", _JOB_TEMPLATE)):
            if job.get(part) is not None:
                yield from _fits(job[part], type_, f"{_JOBS}[{index}].{part}")


def _job_templates(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for index, job in enumerate((document.get("spec") or {}).get("replicatedJobs") or ()):
        yield f"{_JOBS}[{index}].template", job.get("template")


def _type(document: Mapping[str, Any]) -> tuple[str, str]:
    return str(document.get("apiVersion") or ""), str(document.get("kind") or "")


def _model_of(document: Mapping[str, Any]) -> Any:
    api_version, kind = _type(document)
    group, _, version = api_version.rpartition("/")
    return _model(f"{version[:1].upper()}{version[1:]}{kind}") if version and group in _GROUPS else None


def _model_by_kind(document: Mapping[str, Any]) -> Any:
    return _model_of({**document, "apiVersion": _VERSIONS.get(_type(document)[1], "")})


def _ill_typed(value: Mapping[str, Any], model: Any, path: str) -> Iterator[str]:
    types = {model.attribute_map[name]: type_ for name, type_ in model.openapi_types.items()}
    for name, item in value.items():
        if name in types and item is not None:
            yield from _fits(item, types[name], f"{path}.{name}" if path else str(name))


def _fits(value: Any, type_: str, path: str) -> Iterator[str]:
    """The fault of a value that should have this type, as a text."""
    contained = _CONTAINED.fullmatch(type_)
    if contained is not None:
        yield from _container_fits(value, contained[1], contained[2], path)
    elif type_ in _SCALARS:
        name, fitting = _SCALARS[type_]
        if type_of(value) not in fitting:
            yield _not(name, value, path)
    elif type_ == "Struct" or (model := _model(type_)) is not None:
        if not isinstance(value, Mapping):
            yield _not("object", value, path)
        elif type_ != "Struct":
            yield from _ill_typed(value, model, path)


def _container_fits(value: Any, container: str, type_: str, path: str) -> Iterator[str]:
    """The faults of a list or a map, in which only texts and numbers may be null."""
    items: Iterable[tuple[Any, Any]]
    if container == "List" and isinstance(value, list):
        items = enumerate(value)
    elif container == "Dict" and isinstance(value, Mapping):
        items = value.items()
    else:
        yield _not("array" if container == "List" else "object", value, path)
        return
    for key, each in items:
        if each is not None or type_ not in _SCALARS:
            yield from _fits(each, type_, f"{path}[{key}]")


def _not(wanted: str, value: Any, path: str) -> str:
    return f"{path}: must be of type {wanted}, not {type_of(value)}"


def _besides(parts: Mapping[str, type[Any]], document: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in document if name not in ("apiVersion", "kind", "metadata", *parts))
    metadata = document.get("metadata")
    if isinstance(metadata, Mapping):
        yield from _unknown(metadata, _model("V1ObjectMeta"), "metadata")
    for part, struct in parts.items():
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
    """The client's model of this name; None if there is none."""
    from kubernetes.client import models  # takes a second to import, and few commands read manifests

    return getattr(models, name, None)
