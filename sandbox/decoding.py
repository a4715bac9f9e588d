"""Decoding of bodies, field by field: the values that kube-apiserver would decode, and the fields that it would refuse.

Decoding precedes all rules, so rules never meet a number in place of a list. Fields that a kind does not have are
dropped and named; the store refuses them, warns of them or ignores them, as the request asks. Quantities are converted
to the canonical form in which the API stores them. The sentences are those of kube-apiserver.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from muster.framework.model.canonical import canonical, canonical_amount
from muster.framework.model.quantity import QuantityError
from muster.sandbox.custom_resources import pruned
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind
from muster.sandbox.schema import KEY_DEFAULTS, LIST, MAP, Struct, Type, struct, struct_of

_METADATA = Type("meta.v1.ObjectMeta")
_INTEGERS = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_GO_NAMES = {
    "double": "float64",
    "quantity": "resource.Quantity",
    "time": "string",
    "bytes": "[]uint8",
    "any": "string",
}
_JSON_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


class UnreadableError(ValueError):
    """A field has a value of the wrong type; the text says which."""


def decoded(kind: Kind, obj: Object) -> tuple[Object, list[str]]:
    """An object with only the fields that its kind has, and the paths of those that it does not have.

    Raises `UnreadableError` where a value is of the wrong type; in a custom resource only the metadata can be, all else
    is for its schema to judge.
    """
    reading = _Reading()
    if kind.custom is None:
        known = struct_of(kind)
        return (reading.fields(known, obj, "", "") if known else obj), reading.unknown
    if obj.get("metadata") is not None:
        obj = obj | {"metadata": reading.value(_METADATA, obj["metadata"], "metadata", "", owner="")}
    return pruned(kind.custom.schema, obj, reading.unknown), reading.unknown


class _Reading:
    """One decoding. A `path` names a field with the indexes of lists, a `place` without, as Go's decoder does."""

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def fields(self, known: Struct, value: Object, path: str, place: str) -> Object:
        """The known fields of a struct."""
        result: Object = {}
        owner = known.name.rpartition(".")[2]
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            field = known.fields.get(key)
            if field is None:
                self.unknown.append(inner)
            elif item is None:
                result[key] = None
            else:
                result[key] = self.value(field, item, inner, f"{place}.{key}" if place else key, owner=owner)
        return result

    def value(self, wanted: Type, value: Any, path: str, place: str, *, owner: str) -> Any:
        """A value that is not null, where `owner` is the struct that has it."""
        name, item = wanted.name, wanted.item
        if name == "string":
            fits = isinstance(value, str)
        elif name == LIST and item is not None:
            if isinstance(value, list):
                items = [
                    self.value(item, entry, f"{path}[{index}]", place, owner=owner) if entry is not None else None
                    for index, entry in enumerate(value)
                ]
                return [_with_keys(wanted, entry) for entry in items] if wanted.keys else items
            fits = False
        elif name == MAP and item is not None:
            if isinstance(value, dict) and item.name == "quantity":
                return {key: _checked_quantity(amount, canonical_amount) for key, amount in value.items()}
            if isinstance(value, dict):
                return {
                    key: self.value(item, entry, f"{path}.{key}", place, owner=owner) if entry is not None else None
                    for key, entry in value.items()
                }
            fits = False
        elif (known := struct(name)) is not None:
            if isinstance(value, dict):
                return self.fields(known, value, path, place)
            fits = False
        else:
            return _scalar(wanted, value, place, owner)
        if not fits:
            raise _wrong_type(wanted, value, place, owner)
        return value


def _with_keys(wanted: Type, item: Any) -> Any:
    """An item of a list with the texts that identify it, which are empty where they are left out."""
    known = struct(wanted.item.name) if wanted.item else None
    if known is None or not isinstance(item, dict):
        return item
    texts = [key for key in wanted.keys if known.fields[key].name == "string" and key not in KEY_DEFAULTS]
    return dict.fromkeys(texts, "") | item


def _scalar(wanted: Type, value: Any, place: str, owner: str) -> Any:
    match wanted.name:
        case "int32" | "int64":
            fits = isinstance(value, int) and not isinstance(value, bool) and value in _INTEGERS[wanted.name]
        case "bool":
            fits = isinstance(value, bool)
        case "double":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case "int-or-string":
            fits = isinstance(value, int | str) and not isinstance(value, bool)
        case "quantity":
            return _checked_quantity(value, canonical)
        case "time":
            fits = isinstance(value, str)
            if fits:
                _check_time(value)
        case "bytes":
            fits = isinstance(value, str)
        case _:
            return value
    if not fits:
        raise _wrong_type(wanted, value, place, owner)
    return value


def _wrong_type(wanted: Type, value: Any, place: str, owner: str) -> UnreadableError:
    given = _JSON_NAMES[type(value)]
    if wanted.name in _INTEGERS and given == "number":
        given = f"number {value}"
    return UnreadableError(
        f"json: cannot unmarshal {given} into Go struct field {owner}.{place} of type {_go_name(wanted)}"
    )


def _go_name(wanted: Type) -> str:
    if wanted.item is not None:
        return ("[]" if wanted.name == LIST else "map[string]") + _go_name(wanted.item)
    if wanted.name == "int-or-string":
        return "int32"
    return _GO_NAMES.get(wanted.name, ".".join(wanted.name.split(".")[-2:]))


def _check_time(text: str) -> None:
    try:
        known = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        known = False
    if not known:
        raise UnreadableError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"')


def _checked_quantity(quantity: Any, write: Callable[[Any], str]) -> str:
    """A quantity as `write` writes it. Raises `UnreadableError` for no quantity."""
    try:
        if isinstance(quantity, bool) or not isinstance(quantity, str | int | float):
            raise QuantityError("quantities must match the regular expression, got a boolean or a container")
        return write(quantity)
    except QuantityError:
        pattern = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        raise UnreadableError(f"quantities must match the regular expression '{pattern}'") from None
