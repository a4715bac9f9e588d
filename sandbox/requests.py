"""Requests: path and query as values, the body as JSON.

The HTTP edge reads the bytes, this module says what they mean; it is pure. Refusals are `ApiError`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from muster.sandbox import protobuf
from muster.sandbox.errors import (
    NOT_SUPPORTED,
    InvalidField,
    bad_request,
    invalid_of,
    no_such_path,
    unsupported_media_type,
)
from muster.sandbox.incoming import WARN, WriteOptions
from muster.sandbox.kinds import NAMESPACES
from muster.sandbox.lifecycle import DeleteOptions
from muster.sandbox.listing import ListOptions
from muster.sandbox.objects import Object, get_in
from muster.sandbox.registry import Kind, Registry
from muster.sandbox.watching import WatchOptions

Query = Mapping[str, str]

_JSON_TYPES = ("application/json", "application/yaml")
_FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_TRUE = ("1", "true", "True")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The object, list or subresource at a path; `name` is empty for a list."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target(kinds: Registry, path: str) -> RequestTarget:
    """The target of a path below `/api/` or `/apis/`; 404 for an unknown path."""
    steps = path.strip("/").split("/")
    if steps[0] == "api" and len(steps) > 2:
        return _inside(kinds, "", steps[1], steps[2:])
    if steps[0] == "apis" and len(steps) > 3:
        return _inside(kinds, steps[1], steps[2], steps[3:])
    raise no_such_path()


def _inside(kinds: Registry, group: str, version: str, steps: Sequence[str]) -> RequestTarget:
    namespace = ""
    if steps[0] == NAMESPACES.resource and len(steps) > 2 and kinds.by_path(group, version, steps[2]):
        namespace, steps = steps[1], steps[2:]
    kind = kinds.by_path(group, version, steps[0])
    if kind is None or len(steps) > 3 or (namespace and not kind.namespaced):
        raise no_such_path()
    name, subresource = [*steps[1:], "", ""][:2]
    if (subresource and subresource not in kind.subresources) or (name and kind.namespaced and not namespace):
        raise no_such_path()
    return RequestTarget(kind, namespace, name, subresource)


def is_true(query: Query, name: str) -> bool:
    """Whether a boolean parameter is given and true."""
    return query.get(name, "") in _TRUE


def _number(query: Query, name: str) -> int | None:
    text = query.get(name, "")
    try:
        return int(text) if text else None
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def list_options(query: Query) -> ListOptions:
    """The parameters of a list."""
    return ListOptions(
        limit=_number(query, "limit") or 0,
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
    )


def watch_options(query: Query) -> WatchOptions:
    """The parameters of a watch."""
    return WatchOptions(
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        initial=is_true(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
        bookmarks=is_true(query, "allowWatchBookmarks"),
    )


def timeout_seconds(query: Query, default: float) -> float:
    """The longest time of a watch."""
    return _number(query, "timeoutSeconds") or default


def write_options(query: Query, user_agent: str, subresource: str, options_kind: str) -> WriteOptions:
    """The parameters of a create, update or patch; `options_kind` is what a refusal of them names."""
    validation = query.get("fieldValidation", "")
    if validation not in _FIELD_VALIDATIONS:
        names = ", ".join(f'"{name}"' for name in _FIELD_VALIDATIONS)
        wrong = InvalidField(NOT_SUPPORTED, "fieldValidation", f"supported values: {names}", value=validation)
        raise invalid_of(options_kind, "", [wrong], group="meta.k8s.io")
    return WriteOptions(
        dry_run=query.get("dryRun") == "All",
        manager=query.get("fieldManager") or user_agent.partition("/")[0] or "unknown",
        force=is_true(query, "force"),
        subresource=subresource,
        field_validation=validation or WARN,
    )


def delete_options(query: Query, options: Object) -> DeleteOptions:
    """The parameters of a delete: those of a `DeleteOptions` body where there is one, else of the query."""
    if options:
        policy = options.get("propagationPolicy") or query.get("propagationPolicy")
        return DeleteOptions(
            grace=options.get("gracePeriodSeconds"),
            uid=get_in(options, ("preconditions", "uid")) or "",
            resource_version=get_in(options, ("preconditions", "resourceVersion")) or "",
            dry_run="All" in (options.get("dryRun") or ()) or query.get("dryRun") == "All",
            orphan=policy == "Orphan",
        )
    return DeleteOptions(
        grace=_number(query, "gracePeriodSeconds"),
        dry_run=query.get("dryRun") == "All",
        orphan=query.get("propagationPolicy") == "Orphan",
    )


class _Loader(yaml.SafeLoader):
    """YAML as JSON has it: times stay texts."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def body(content_type: str, data: bytes) -> Object:
    """The object that a request carries; 415 for an unknown content type, 400 for anything but an object."""
    media = content_type.partition(";")[0].strip()
    if media == protobuf.CONTENT_TYPE:
        return protobuf.decode(data)
    if media and media not in (*_JSON_TYPES, "*/*"):
        raise unsupported_media_type(_JSON_TYPES)
    value = decoded(data)
    if not isinstance(value, dict):
        raise bad_request("the request body is not an object")
    return value


def decoded(data: bytes) -> Any:
    """JSON, or else YAML; 400 for neither."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        pass
    try:
        return yaml.load(data, Loader=_Loader)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "it is neither JSON nor YAML"
        raise bad_request(f"error decoding the request body: {problem}") from None
