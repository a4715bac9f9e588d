"""References to objects in Bindings and Events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from muster.framework.model.meta import ObjectMeta


class ObjectReference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`core/v1 ObjectReference`: a version of an object. Hashable."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


def pod_reference(meta: ObjectMeta) -> ObjectReference:
    """The reference to a pod, as in kube-scheduler's Events."""
    return ObjectReference(
        kind="Pod",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        api_version="v1",
        resource_version=meta.resource_version,
    )
