"""The metadata that every Kubernetes object carries, as far as Muster reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import dataclass_transform

import msgspec


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


class ObjectMeta(Wire):
    """`metadata`, without annotations and owners. Timestamps stay RFC 3339 strings; None means absent."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}


def rfc3339(seconds: float) -> str:
    """Seconds since the epoch as the API writes them, to the second."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%dT%H:%M:%SZ}"
