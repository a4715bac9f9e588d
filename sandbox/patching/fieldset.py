"""Sets of fields, as `metadata.managedFields` writes them down.

A field is a path of steps in the wire's own spelling: `f:name` for a field, `k:{"name":"a"}` for an item of a list with
keys, `v:"x"` for an item of a set. A set of fields is a frozenset of such paths; the trie with `.` marks that FieldsV1
is exists only on the wire.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind
from muster.sandbox.schema import Path, Type, is_atomic_map, list_rule

Field = tuple[str, ...]
Fields = frozenset[Field]

_IDENTITY = {("f:apiVersion",), ("f:kind",)}
_SYSTEM = {
    "name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
}  # fmt: skip


def fields_of(kind: Kind, obj: Object) -> dict[Field, Any]:
    """Every field that an object sets, with its value; list items with keys count as fields of their own.

    What only the server sets, and what identifies the object, is left out: it has no owner.
    """
    system = {("f:metadata", f"f:{name}") for name in _SYSTEM}
    return {field: value for field, value in _walk(kind, obj, (), ()) if field and field[:2] not in system}


def _walk(kind: Kind, value: Any, path: Path, field: Field) -> Iterator[tuple[Field, Any]]:
    if field in _IDENTITY:
        return
    if isinstance(value, dict) and value and not is_atomic_map(kind, path):
        for key, item in value.items():
            yield from _walk(kind, item, (*path, key), (*field, f"f:{key}"))
    elif isinstance(value, list) and (rule := list_rule(kind, path)) and (rule.keys or rule.is_set):
        for item in value:
            item_field = (*field, step_of(rule, item))
            yield item_field, item
            if isinstance(item, dict):
                yield from _walk(kind, item, path, item_field)
    else:
        yield field, value


def step_of(rule: Type, item: Any) -> str:
    """The step that names an item of a list with keys, or of a set."""
    if rule.keys:
        return "k:" + msgspec.json.encode(rule.identity(item), order="sorted").decode()
    return "v:" + msgspec.json.encode(item).decode()


def encode(fields: Fields) -> Object:
    """The FieldsV1 object of a set of fields."""
    root: Object = {}
    for field in sorted(fields):
        node = root
        for step in field:
            node = node.setdefault(step, {})
        if field[-1].startswith("k:"):
            node.setdefault(".", {})
    return root


def decode(trie: Object) -> Fields:
    """The set of fields of a FieldsV1 object."""
    return frozenset(_decode(trie, ()))


def _decode(trie: Object, prefix: Field) -> Iterator[Field]:
    for step, below in trie.items():
        if step == ".":
            yield prefix
        elif below:
            yield from _decode(below, (*prefix, step))
        else:
            yield (*prefix, step)


def dotted(field: Field) -> str:
    """A field as a conflict message names it: `.spec.containers[name="a"].image`."""
    return "".join(_dotted_step(step) for step in field)


def _dotted_step(step: str) -> str:
    kind, _, rest = step.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "v":
        return f"[={rest}]"
    keys = msgspec.json.decode(rest)
    return "[" + ",".join(f"{key}={msgspec.json.encode(value).decode()}" for key, value in keys.items()) + "]"
