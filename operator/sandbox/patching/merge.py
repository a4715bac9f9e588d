"""JSON merge patch (RFC 7386), the only simple one of the patch formats."""

from typing import Any


def merge(target: Any, patch: Any) -> Any:
    """`target` with `patch` merged into it: null removes, an object merges, all else replaces. Neither is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged
