"""Metadata as the API writes it, and wire structs of objects that contain nulls.

The API server writes no null where a struct forbids it, so informers decode straight from JSON. Commands that read
manifests, and code that decodes an object again after an error, use `from_plain`.
"""

from __future__ import annotations

from typing import TypeVar, dataclass_transform

import msgspec

from .faults import FieldError, check, fault
from .integers import Int64
from .times import Time


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of all wire structs: immutable, camelCase on the wire, unknown fields ignored when decoding.

    `gc=False` is safe because wire structs never hold reference cycles; it keeps the collector from walking them.
    """


class OwnerReference(Wire):
    """`metadata.ownerReferences[]`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Identity(Wire):
    """The part of `metadata` that identifies one version of one object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone of what has no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ObjectMeta(Identity):
    """`metadata`, without annotations and owners. Timestamps stay RFC 3339 strings; None means absent."""

    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = {}


class OwnedMeta(ObjectMeta):
    """`metadata` with the owners of the object."""

    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object; None for an object that nothing manages."""
        return next((owner for owner in self.owner_references if owner.controller), None)


T = TypeVar("T")

_STRING_MAPS = frozenset({"annotations", "labels", "matchLabels", "nodeSelector"})


def from_plain(plain: object, kind: type[T]) -> T:
    """The struct that plain dicts and lists stand for, as the API server would read them.

    Null is the same as absent, or "" within a map of strings.
    Raises FieldError when they do not fit the struct, or hold a malformed quantity or time.
    """
    try:
        found = msgspec.convert(_without_nulls(plain), kind)
    except msgspec.ValidationError as error:
        raise FieldError(fault(error)) from error
    check(found)
    return found


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _member(key, item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _member(key: str, item: object) -> object:
    if key in _STRING_MAPS and isinstance(item, dict):
        return {name: "" if text is None else text for name, text in item.items()}
    return _without_nulls(item)
