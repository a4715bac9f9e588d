"""Objects in requests, converted to what their kind understands, or refused.

The store takes every object, config and patched object from here before any rule sees it. An invalid object is an
`ApiError` with kube-apiserver's own words; unknown fields are dropped, and reported as the request asks.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from muster.sandbox import decoding, errors
from muster.sandbox.objects import Object, namespace_of, with_metadata
from muster.sandbox.registry import Kind

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The query of a write: `manager` is who writes (for field ownership), `force` overrides apply conflicts.

    `field_validation` says what happens to fields that a kind does not have: they are always dropped, `Warn` adds a
    sentence for each to `warnings`, and `Strict` refuses the write.
    """

    dry_run: bool = False
    manager: str = "unknown"
    force: bool = False
    subresource: str = ""
    field_validation: str = IGNORE
    warnings: list[str] = field(default_factory=list)


def addressed(kind: Kind, obj: Object, namespace: str) -> Object:
    """The object with its type and namespace as the request has them; 400 where it says otherwise."""
    api_version, name = (obj.get(field) or ("" if kind.custom else None) for field in ("apiVersion", "kind"))
    if "" in (name, api_version):
        missing = "apiVersion" if name else "Kind"
        why = f"Object '{missing}' is missing"
        raise errors.bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {why}")
    given = (api_version or kind.api_version, name or kind.kind)
    if given != (kind.api_version, kind.kind):
        raise errors.unreadable(*given, kind, f'no kind "{given[1]}" is registered for version "{given[0]}"')
    typed = {"apiVersion": kind.api_version, "kind": kind.kind}
    if not kind.namespaced:
        return with_metadata(obj, namespace=None) | typed
    own = namespace_of(obj)
    if own and namespace and own != namespace:
        message = "the namespace of the provided object does not match the namespace sent on the request"
        raise errors.bad_request(message)
    return with_metadata(obj, namespace=own or namespace or "default") | typed


def decoded(kind: Kind, obj: Object, options: WriteOptions) -> Object:
    """An object as its kind understands it; 400 for a wrong type, or for an unknown field if strict."""
    try:
        obj, unknown = decoding.decoded(kind, obj)
    except decoding.UnreadableError as error:
        raise errors.unreadable(kind.api_version, kind.kind, kind, str(error)) from error
    faults = [f'unknown field "{path}"' for path in unknown]
    if faults and options.field_validation == STRICT:
        why = f"strict decoding error: {', '.join(faults)}"
        raise errors.unreadable(kind.api_version, kind.kind, kind, why)
    if options.field_validation == WARN:
        options.warnings.extend(faults)
    return obj


def decoded_patch(kind: Kind, obj: Object, patch: Any, options: WriteOptions) -> Object:
    """A patched object as its kind understands it; 422 that shows the strategic patch, or else the object."""
    shown = patch or msgspec.json.encode(obj).decode()
    try:
        obj, unknown = decoding.decoded(kind, obj)
    except decoding.UnreadableError as error:
        raise errors.invalid_patch(shown, str(error)) from error
    faults = [f'unknown field "{path}"' for path in unknown]
    if faults and options.field_validation == STRICT:
        raise errors.invalid_patch(shown, f"strict decoding error: {', '.join(faults)}")
    if options.field_validation == WARN:
        options.warnings.extend(faults)
    return obj


def decoded_config(kind: Kind, config: Object, *, given: Object) -> Object:
    """An applied config as its kind understands it; 500 for unknown fields and wrong types, whatever is asked."""
    try:
        decoded_config, unknown = decoding.decoded(kind, config)
    except decoding.UnreadableError as error:
        raise errors.unreadable(kind.api_version, kind.kind, kind, str(error)) from error
    if unknown:
        raise errors.untyped_patch(kind, given, [f".{path}: field not declared in schema" for path in unknown])
    return decoded_config
