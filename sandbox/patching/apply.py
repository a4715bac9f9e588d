"""Server-side apply: which manager set which field, and what happens if two managers want different values.

Managers are tracked from the first apply on; the earlier contents of an object belong to `before-first-apply`, as in
kube-apiserver for objects that are older than its tracking. Called by the store for apply patches, and for every other
write to an object that has managers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.sandbox.errors import StatusError
from muster.sandbox.objects import Object, get_in, metadata, with_metadata
from muster.sandbox.patching.fieldset import Field, Fields, decode, dotted, encode, fields_of, step_of
from muster.sandbox.registry import Kind
from muster.sandbox.schema import Path, is_atomic_map, list_rule

_LAST_APPLIED = ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
_NOTHING: Fields = frozenset()


@dataclass(frozen=True, slots=True)
class Writer:
    """The author of a write: the manager's name, the subresource, and the time for `managedFields[].time`."""

    manager: str
    time: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class _Owner:
    manager: str
    operation: str
    subresource: str = ""
    time: str = ""


_Owners = dict[_Owner, Fields]


def apply(kind: Kind, live: Object, config: Object, writer: Writer, *, force: bool = False) -> Object:
    """`live` (empty for a new object) with `config` applied, and `metadata.managedFields` brought up to date.

    Fields that the manager applied before and now leaves out are removed, unless another one owns them too. Raises 409
    where the config changes a field of another manager and `force` is false.
    """
    wanted = fields_of(kind, config)
    owners = _owners(kind, live)
    own = _owner_among(owners, writer, "Apply")
    before = owners.pop(own, _NOTHING)
    conflicts = _conflicts(wanted, fields_of(kind, live), owners)
    if writer.manager == "kubectl":
        own_before = _last_applied(kind, live)
        conflicts = [(owner, field) for owner, field in conflicts if field not in own_before]
    if conflicts and not force:
        raise _conflict_error(kind, conflicts)
    for owner, field in conflicts:
        owners[owner] -= {field}
    merged = _merge(kind, live, config, ())
    taken = frozenset().union(*owners.values())
    for field in sorted(before - wanted.keys(), key=len):
        if not any(other[: len(field)] == field for other in taken):
            merged = _removed(kind, merged, field, ())
    time = own.time if merged == live and own.time else writer.time
    owners[_Owner(writer.manager, "Apply", writer.subresource, time)] = frozenset(wanted)
    return with_metadata(merged, managedFields=_encode_owners(kind, owners))


def record_update(kind: Kind, old: Object, new: Object, writer: Writer) -> Object:
    """`new` with its managers brought up to date for a write that was no apply; unchanged if it has no managers.

    The writer becomes the only owner of what it changed; what is gone has no owner.
    """
    if not _entries(new):
        return with_metadata(new, managedFields=None)
    before, after = fields_of(kind, old), fields_of(kind, new)
    changed = frozenset(field for field, value in after.items() if field not in before or before[field] != value)
    kept = frozenset(field[:length] for field in after for length in range(1, len(field) + 1))
    owners = _owners(kind, new)
    own = _owner_among(owners, writer, "Update")
    mine = owners.pop(own, _NOTHING)
    owners = {owner: (fields & kept) - _leaves(changed, after) for owner, fields in owners.items()}
    if changed or mine & kept:
        time = writer.time if changed else own.time
        owners[_Owner(writer.manager, "Update", writer.subresource, time)] = (mine & kept) | changed
    return with_metadata(new, managedFields=_encode_owners(kind, owners) or None)


def _entries(obj: Object) -> list[Object]:
    """The entries of `metadata.managedFields`; one without a manager is how a client asks to forget them all."""
    return [entry for entry in metadata(obj).get("managedFields") or () if entry.get("manager")]


def _owners(kind: Kind, live: Object) -> _Owners:
    entries = _entries(live)
    if not entries:
        return _first_owners(kind, live)
    return {
        _Owner(entry["manager"], entry["operation"], entry.get("subresource", ""), entry.get("time", "")): decode(
            entry.get("fieldsV1") or {}
        )
        for entry in entries
    }


def _first_owners(kind: Kind, live: Object) -> _Owners:
    """The owners of the fields of an object that is applied for the first time.

    The annotation names the fields that kubectl applied in its own way; they stay with that manager, and kubectl takes
    them over from it. The owners of all other fields are unknown.
    """
    applied = _last_applied(kind, live)
    if applied:
        annotation = tuple(f"f:{step}" for step in _LAST_APPLIED)
        return {_Owner("kubectl-client-side-apply", "Update"): applied | {annotation}}
    fields = frozenset(fields_of(kind, live))
    return {_Owner("before-first-apply", "Update"): fields} if fields else {}


def _owner_among(owners: _Owners, writer: Writer, operation: str) -> _Owner:
    key = (writer.manager, operation, writer.subresource)
    known = (owner for owner in owners if (owner.manager, owner.operation, owner.subresource) == key)
    return next(known, _Owner(*key))


def _encode_owners(kind: Kind, owners: _Owners) -> list[Object]:
    entries = []
    for owner, fields in sorted(owners.items(), key=lambda item: (item[0].operation, item[0].time, item[0].manager)):
        if fields:
            entry = {
                "manager": owner.manager,
                "operation": owner.operation,
                "apiVersion": kind.api_version,
                "time": owner.time,
                "fieldsType": "FieldsV1",
                "fieldsV1": encode(fields),
                "subresource": owner.subresource,
            }
            entries.append({key: value for key, value in entry.items() if value != ""})
    return entries


def _leaves(changed: Fields, values: Mapping[Field, Any]) -> Fields:
    """The changed fields that carry a value themselves; a changed list item is still there for its other owners."""
    return frozenset(field for field in changed if not (field[-1].startswith("k:") and isinstance(values[field], dict)))


def _conflicts(wanted: Mapping[Field, Any], live: Mapping[Field, Any], owners: _Owners) -> list[tuple[_Owner, Field]]:
    return [
        (owner, field)
        for owner, fields in owners.items()
        for field in wanted
        if field in fields and not field[-1].startswith("k:") and live.get(field) != wanted[field]
    ]


def _conflict_error(kind: Kind, conflicts: Sequence[tuple[_Owner, Field]]) -> StatusError:
    texts = {owner: _named(kind, owner) for owner, _ in conflicts}
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {texts[owner]}", "field": dotted(field)}
        for owner, field in conflicts
    ]
    if len(conflicts) == 1:
        ((owner, field),) = conflicts
        message = f"Apply failed with 1 conflict: conflict with {texts[owner]}: {dotted(field)}"
    else:
        lines = []
        for owner in sorted(texts, key=texts.__getitem__):
            lines.append(f"conflicts with {texts[owner]}:")
            lines += [f"- {dotted(field)}" for other, field in conflicts if other == owner]
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", message, details={"causes": causes})


def _named(kind: Kind, owner: _Owner) -> str:
    through = f' with subresource "{owner.subresource}"' if owner.subresource else ""
    using = f" using {kind.api_version}" if owner.operation == "Update" else ""
    return f'"{owner.manager}"{through}{using}'


def _last_applied(kind: Kind, live: Object) -> Fields:
    """The fields set by `kubectl apply` without `--server-side`; kubectl may take them over without a conflict."""
    text = get_in(live, _LAST_APPLIED)
    return frozenset(fields_of(kind, msgspec.json.decode(text))) if text else _NOTHING


def _merge(kind: Kind, live: Any, config: Any, path: Path) -> Any:
    if isinstance(config, dict) and isinstance(live, dict) and not is_atomic_map(kind, path):
        merged = {key: _merge(kind, live.get(key), value, (*path, key)) for key, value in config.items()}
        return live | merged
    rule = list_rule(kind, path) if isinstance(config, list) else None
    if rule is None or not isinstance(live, list) or not (rule.keys or rule.is_set):
        return config
    items = {step_of(rule, item): item for item in live}
    for item in config:
        step = step_of(rule, item)
        items[step] = _merge(kind, items.get(step), item, path) if isinstance(item, dict) else item
    return list(items.values())


def _removed(kind: Kind, value: Any, field: Field, path: Path) -> Any:
    """`value` without a field; the value itself where the field is gone already."""
    step, rest = field[0], field[1:]
    if step.startswith("f:") and isinstance(value, dict):
        key = step.removeprefix("f:")
        if key not in value:
            return value
        if rest:
            return value | {key: _removed(kind, value[key], rest, (*path, key))}
        return {name: item for name, item in value.items() if name != key}
    rule = list_rule(kind, path)
    if rule is None or not isinstance(value, list):
        return value
    if rest:
        return [_removed(kind, item, rest, path) if step_of(rule, item) == step else item for item in value]
    return [item for item in value if step_of(rule, item) != step]
