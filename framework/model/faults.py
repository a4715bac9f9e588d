"""The problem with an object that users wrote, by the field's path: `spec.priority: must be of type integer, …`.

Code that decodes an object for users, or reports why it was left out, words the error here. Types and ranges are
checked while an object is decoded. The API server checks that quantities and times are well formed; a second check
would cost an informer half of its time, so only readers of files ask for it, by `check`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import DecodeError, inspect

READ = "read"
"""Key of `Meta.extra` of a string's type: how such a string is read, raising ValueError for one that is malformed."""

_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `(\w+)`| (<=|>=) (-?\d+))")
_REQUIRED = re.compile(r"Object missing required field `([^`]+)`")
_AT = re.compile(r" - at `(?:key in )?\$([^`]*)`$")
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "bytes": "string"}
_JSON_TYPES = ((int, "integer"), (float, "number"), (str, "string"), (Mapping, "object"), (list, "array"))
_BOUNDS = {"<=": "less than or equal to", ">=": "greater than or equal to"}

_Check = Callable[[Any, str], Iterator[str]]


class FieldError(ValueError):
    """A field of an object does not hold what it has to; the message begins with the field's path."""


def fault(error: DecodeError | UnicodeDecodeError, *, under: str = "") -> str:
    """A msgspec.DecodeError or UnicodeDecodeError in words, after the field's path where a field is to blame.

    `under` is the field in which the object came, such as `object` in an event of a watch: paths begin below it.
    """
    text = "not valid UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
    at = _AT.search(text)
    path = at[1].removeprefix(f".{under}" if under else "").removeprefix(".") if at else ""
    problem = text[: at.start()] if at else text
    if found := _REQUIRED.match(problem):
        return f"{path}.{found[1]}: Required value" if path else f"{found[1]}: Required value"
    if found := _EXPECTED.match(problem):
        problem = f"must be of type {_types(found[1])}, not {_types(found[2])}" if found[2] else _bound(found)
    return f"{path}: {problem}" if path else problem


def type_of(value: object) -> str:
    """JSON's name for a value's type, with `integer` for whole numbers."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "boolean"
    for kind, name in _JSON_TYPES:
        if isinstance(value, kind):
            return name
    return type(value).__name__


def needed(holder: Mapping[str, Any] | None, field: str, path: str) -> Any:
    """The value of a required field of the object at `path`. Raises FieldError if it is missing."""
    found = (holder or {}).get(field)
    if found is None:
        raise FieldError(f"{path}.{field}: Required value")
    return found


def check(obj: Any) -> None:
    """The object is a msgspec struct. Raises FieldError where a quantity or a time in the object is malformed."""
    kind: Any = type(obj)
    for problem in _checks_of(kind)(obj, ""):
        raise FieldError(problem)


def _bound(found: re.Match[str]) -> str:
    return f"must be {_BOUNDS[found[3]]} {found[4]}"


def _types(names: str) -> str:
    given = [_TYPES.get(name, name) for name in names.split(" | ")]
    some = [name for name in dict.fromkeys(given) if name != "null"]
    return " or ".join(some) or "null"


@cache
def _checks_of(kind: Any) -> _Check:
    return _of(inspect.type_info(kind)) or _nothing


def _nothing(value: Any, path: str) -> Iterator[str]:
    return iter(())


def _of(type_: inspect.Type) -> _Check | None:
    """The check for values of this type; None for a type that needs none."""
    match type_:
        case inspect.Metadata(extra={"read": read}):
            return _reading(read)
        case inspect.Metadata():
            return _of(type_.type)
        case inspect.StructType():
            return _of_fields([(f.name, f.encode_name, found) for f in type_.fields if (found := _of(f.type))])
        case inspect.VarTupleType() | inspect.ListType():
            return _of_items(_of(type_.item_type))
        case inspect.DictType():
            return _of_values(_of(type_.value_type))
        case inspect.UnionType():
            return next((found for each in type_.types if (found := _of(each))), None)
    return None


def _reading(read: Callable[[Any], object]) -> _Check:
    def checked(value: Any, path: str) -> Iterator[str]:
        try:
            if value is not None:
                read(value)
        except ValueError as error:
            yield f"{path}: {error}"

    return checked


def _of_fields(fields: list[tuple[str, str, _Check]]) -> _Check | None:
    def checked(value: Any, path: str) -> Iterator[str]:
        for name, wire_name, of_field in fields:
            if (inner := getattr(value, name)) is not None:
                yield from of_field(inner, f"{path}.{wire_name}" if path else wire_name)

    return checked if fields else None


def _of_items(of_item: _Check | None) -> _Check | None:
    def checked(values: Any, path: str) -> Iterator[str]:
        for index, value in enumerate(values):
            yield from inside(value, f"{path}[{index}]")

    if of_item is None:
        return None
    inside = of_item
    return checked


def _of_values(of_value: _Check | None) -> _Check | None:
    def checked(values: Any, path: str) -> Iterator[str]:
        for key, value in values.items():
            yield from inside(value, f"{path}[{key}]")

    if of_value is None:
        return None
    inside = of_value
    return checked
