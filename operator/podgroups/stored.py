"""A PodGroup as the API server has it: read from an event or an answer, compared with what it should say, patched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import ValidationError

from muster.framework.model.meta import Wire
from muster.operator.kube.references import ObjectReference
from muster.plugins.coscheduling.api import PodGroupSpec
from muster.plugins.coscheduling.model import GROUP, KIND, PLURAL, VERSION, PodGroupStatus

API_VERSION = f"{GROUP}/{VERSION}"
LIST_PATH = f"/apis/{API_VERSION}/{PLURAL}"


class _Identity(Wire):
    name: str
    namespace: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0


class _Body(Wire):
    metadata: _Identity
    spec: PodGroupSpec = PodGroupSpec()
    status: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """One version of a PodGroup. The status stays JSON until it is asked for, as there may be many groups.

    Attributes:
        namespace, name, uid, version, generation: of the metadata; `version` is the resource version.
        min_member: 0 where the spec names none.
        timeout_seconds: None where the spec names none.
        status_json: `status`.
    """

    namespace: str
    name: str
    uid: str
    version: str
    generation: int
    min_member: int
    timeout_seconds: int | None
    status_json: bytes

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def status_path(self) -> str:
        """Where the status is written."""
        return f"/apis/{API_VERSION}/namespaces/{self.namespace}/{PLURAL}/{self.name}/status"

    @property
    def reference(self) -> ObjectReference:
        """The reference that events carry. It names no version, so that an event which repeats is the same event."""
        return ObjectReference(
            kind=KIND, namespace=self.namespace, name=self.name, uid=self.uid, api_version=API_VERSION
        )

    def status(self) -> PodGroupStatus:
        """The status; one that cannot be read counts as empty."""
        try:
            return PodGroupStatus.model_validate_json(self.status_json)
        except ValidationError:
            return PodGroupStatus()


def read(body: bytes) -> StoredGroup:
    """The PodGroup of a JSON object. Raises msgspec.ValidationError when it is none."""
    decoded = _decode(body)
    meta, spec = decoded.metadata, decoded.spec
    return StoredGroup(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        generation=meta.generation,
        min_member=spec.min_member,
        timeout_seconds=spec.schedule_timeout_seconds,
        status_json=bytes(decoded.status),
    )


def patch(group: StoredGroup, status: PodGroupStatus) -> bytes | None:
    """The merge patch that gives the group this status; None when it has it.

    It holds only if the group is still at the version that was read.
    """
    before, after = _fields(group.status()), _fields(status)
    changes = {name: after.get(name) for name in before | after if before.get(name) != after.get(name)}
    if not changes:
        return None
    return _encode({"metadata": {"resourceVersion": group.version}, "status": changes})


def _fields(status: PodGroupStatus) -> dict[str, Any]:
    return status.model_dump(by_alias=True, exclude_none=True)


_decode = msgspec.json.Decoder(_Body).decode
_encode = msgspec.json.Encoder().encode
