"""Strategic merge patch: JSON merge patch that knows how lists merge, and takes directives.

`kubectl apply`, `edit`, `label`, `taint` and schedulers' status updates send these for built-in kinds. Supported are
`$patch` (replace, delete, merge), `$setElementOrder/…`, `$deleteFromPrimitiveList/…` and `$retainKeys`.
"""

from collections.abc import Sequence
from typing import Any

from muster.sandbox.errors import bad_request
from muster.sandbox.objects import Object, without
from muster.sandbox.registry import Kind
from muster.sandbox.schema import Path, Type, is_replaced, list_rule

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def merge(kind: Kind, target: Object, patch: Object) -> Object:
    """`target`, an object of `kind`, with a patch merged into it; neither is changed. 400 for a bad directive."""
    return _Merge(kind).maps(target, patch, ())


class _Merge:
    """One merge; holds the kind whose lists it has to know."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def maps(self, target: Object, patch: Object, path: Path) -> Object:
        directive = patch.get(_PATCH)
        if directive == "delete":
            return {}
        if directive == "replace" or is_replaced(self._kind, path):
            return {key: _stripped(value) for key, value in without(patch, _PATCH).items() if value is not None}
        if directive not in (None, "merge"):
            raise bad_request(f"Unknown patch type found: {directive}")
        merged = dict(target)
        if _RETAIN in patch:
            merged = {key: value for key, value in merged.items() if key in patch[_RETAIN]}
        for key, value in patch.items():
            if key.startswith(_DELETE):
                field = key.removeprefix(_DELETE)
                merged[field] = [item for item in merged.get(field) or () if item not in value]
        for key, value in patch.items():
            if not key.startswith("$"):
                self._field(merged, key, value, (*path, key))
        for key, order in patch.items():
            if key.startswith(_ORDER):
                self._reorder(merged, target, (*path, key.removeprefix(_ORDER)), order)
        return merged

    def _field(self, merged: Object, key: str, value: Any, path: Path) -> None:
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = self.maps(old if isinstance(old, dict) else {}, value, path)
        elif isinstance(value, list) and (rule := list_rule(self._kind, path)) is not None:
            merged[key] = self._lists(old if isinstance(old, list) else [], value, rule, path)
        else:
            merged[key] = _stripped(value)

    def _lists(self, target: list[Any], patch: list[Any], rule: Type, path: Path) -> list[Any]:
        if rule.merges and not rule.merge_key:
            merged = [*target, *(item for item in dict.fromkeys(patch) if item not in target)]
            return _ordered(merged, patch, target, "")
        if not rule.merges:
            return [_stripped(item) for item in patch]
        if any(item.get(_PATCH) == "replace" for item in patch):
            return [_stripped(item) for item in patch if _PATCH not in item]
        merged = list(target)
        plain = [item for item in patch if _PATCH not in item]
        for item in patch:
            if rule.merge_key not in item:
                raise bad_request(f"map: {item} does not contain declared merge key: {rule.merge_key}")
            position = _position(merged, rule.merge_key, item[rule.merge_key])
            if item.get(_PATCH) == "delete":
                merged = [old for old in merged if old.get(rule.merge_key) != item[rule.merge_key]]
            elif position is None:
                merged.append(self.maps({}, item, path))
            else:
                merged[position] = self.maps(merged[position], item, path)
        return _ordered(merged, plain, target, rule.merge_key)

    def _reorder(self, merged: Object, target: Object, path: Path, order: Sequence[Any]) -> None:
        rule, field = list_rule(self._kind, path), path[-1]
        if rule is None or field not in merged:
            return
        merged[field] = _ordered(merged[field], order, target.get(field) or [], rule.merge_key)


def _ordered(items: list[Any], wanted: Sequence[Any], before: list[Any], key: str) -> list[Any]:
    """Items of a merged list in their final order.

    Those that `wanted` names come in its order, the others in the order that they had `before`. Where the two meet, one
    of the others goes first only if it stood before the other one already.
    """
    identities = [_identity(item, key) for item in wanted]
    places = {_identity(item, key): place for place, item in enumerate(before)}
    named = sorted(
        (item for item in items if _identity(item, key) in identities),
        key=lambda item: identities.index(_identity(item, key)),
    )
    others = [item for item in items if _identity(item, key) not in identities]
    ordered: list[Any] = []
    while named and others:
        first, other = places.get(_identity(named[0], key)), places.get(_identity(others[0], key))
        behind = first is not None and other is not None and other < first
        ordered.append((others if behind else named).pop(0))
    return ordered + named + others


def _identity(item: Any, key: str) -> Any:
    return item.get(key) if key else item


def _position(items: list[Any], key: str, value: Any) -> int | None:
    return next((index for index, item in enumerate(items) if item.get(key) == value), None)


def _stripped(value: Any) -> Any:
    """A new value without nulls and directives, which mean nothing where there is nothing to merge with."""
    if isinstance(value, dict):
        return {key: _stripped(item) for key, item in value.items() if item is not None and not key.startswith("$")}
    if isinstance(value, list):
        return [_stripped(item) for item in value if not (isinstance(item, dict) and item.get(_PATCH) == "delete")]
    return value
