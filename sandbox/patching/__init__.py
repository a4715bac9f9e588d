"""The four patch formats: each a pure function from an object and a patch to the patched object.

The store calls `patched` for the formats that know nothing of field managers, and `apply` for the one that does. JSON
patches are left to the `jsonpatch` package; how lists of built-in kinds merge is this package's own knowledge.
"""

from typing import Any

import jsonpatch
import jsonpointer

from muster.sandbox.errors import bad_request, unprocessable, unsupported_media_type
from muster.sandbox.objects import Object
from muster.sandbox.patching import strategic
from muster.sandbox.patching.apply import Writer, apply, record_update
from muster.sandbox.registry import Kind

__all__ = ["APPLY", "JSON", "MERGE", "STRATEGIC", "Writer", "apply", "formats", "merge", "patched", "record_update"]

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
        result = _json_patched(current, patch)
    elif not isinstance(patch, dict):
        raise bad_request("json: cannot unmarshal the patch into an object")
    elif content_type == MERGE:
        result = merge(current, patch)
    else:
        result = strategic.merge(kind, current, patch)
    if not isinstance(result, dict):
        raise bad_request("the patch does not leave an object")
    return result


def merge(target: Any, patch: Any) -> Any:
    """`target` with a JSON merge patch (RFC 7386) merged into it: null removes, an object merges, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def _json_patched(document: Object, operations: Any) -> Any:
    """A copy of a document after all operations of a JSON patch (RFC 6902), carried out in order or not at all.

    Raises 400 for what is no patch, and 422 for a failed test or a path that does not exist.
    """
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise bad_request("json: cannot unmarshal the patch into a list of operations")
    try:
        return jsonpatch.apply_patch(document, [{"value": None} | operation for operation in operations])
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as error:
        raise unprocessable() from error
