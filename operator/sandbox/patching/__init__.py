"""The four patch formats: each a pure function from an object and a patch to the patched object.

The store calls `patched` for the formats that know nothing of field managers, and `apply` for the one that does.
"""

from typing import Any

from muster.operator.sandbox.errors import bad_request, unsupported_media_type
from muster.operator.sandbox.kinds import Kind
from muster.operator.sandbox.objects import Object
from muster.operator.sandbox.patching import jsonpatch, strategic
from muster.operator.sandbox.patching.apply import Writer, apply, record_update
from muster.operator.sandbox.patching.merge import merge

__all__ = ["APPLY", "JSON", "MERGE", "STRATEGIC", "Writer", "apply", "formats", "patched", "record_update"]

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def formats(kind: Kind) -> tuple[str, ...]:
    """The content types of the patches that a kind takes; custom resources have no strategic merge."""
    return (JSON, MERGE, APPLY) if kind.custom else (JSON, MERGE, STRATEGIC, APPLY)


def patched(kind: Kind, content_type: str, current: Object, patch: Any) -> Object:
    """`current` with a JSON, merge or strategic merge patch applied; 415 for any other content type."""
    if content_type not in formats(kind):
        raise unsupported_media_type(formats(kind))
    if content_type == JSON:
        result = jsonpatch.apply(current, patch)
    elif not isinstance(patch, dict):
        raise bad_request("json: cannot unmarshal the patch into an object")
    elif content_type == MERGE:
        result = merge(current, patch)
    else:
        result = strategic.merge(kind, current, patch)
    if not isinstance(result, dict):
        raise bad_request("the patch does not leave an object")
    return result
