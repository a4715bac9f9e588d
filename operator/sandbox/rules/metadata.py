"""What holds for the metadata of every object, at creation and at each change."""

from collections.abc import Iterator

from muster.operator.sandbox.errors import FORBIDDEN, INVALID, REQUIRED, FieldError
from muster.operator.sandbox.objects import Object, metadata
from muster.operator.sandbox.rules import syntax

_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")


def validate(obj: Object, valid_name: syntax.Check) -> Iterator[FieldError]:
    """What is wrong with the metadata of an object whose name has to pass `valid_name`."""
    fields = metadata(obj)
    name = fields.get("name")
    if not name:
        yield FieldError(REQUIRED, "metadata.name", "name or generateName is required")
    else:
        for reason in valid_name(name):
            yield FieldError(INVALID, "metadata.name", reason, value=name)
    yield from labels(fields.get("labels"), "metadata.labels")
    for key in fields.get("annotations") or {}:
        for reason in syntax.qualified_name(key.lower()):
            yield FieldError(INVALID, "metadata.annotations", reason, value=key)
    for index, owner in enumerate(fields.get("ownerReferences") or ()):
        for field in _OWNER_FIELDS:
            if not owner.get(field):
                yield FieldError(REQUIRED, f"metadata.ownerReferences[{index}].{field}", "must not be empty")


def validate_update(new: Object, old: Object) -> Iterator[FieldError]:
    """What a change of the metadata may not do; names and system fields are settled before this is asked."""
    if metadata(old).get("deletionTimestamp"):
        known = metadata(old).get("finalizers") or []
        added = [item for item in metadata(new).get("finalizers") or [] if item not in known]
        if added:
            reason = f"no new finalizers can be added if the object is being deleted, found new finalizers {added}"
            yield FieldError(FORBIDDEN, "metadata.finalizers", reason.replace("'", '"'))


def labels(labels: Object | None, path: str) -> Iterator[FieldError]:
    """What is wrong with the keys and values of a map of labels."""
    for key, value in (labels or {}).items():
        for reason in syntax.qualified_name(key):
            yield FieldError(INVALID, path, reason, value=key)
        for reason in syntax.label_value(value):
            yield FieldError(INVALID, path, reason, value=value)
