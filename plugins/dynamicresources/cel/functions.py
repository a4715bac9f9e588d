"""Functions by name: conversions of the language itself, and the tables that the other modules of functions fill.

A function receives its arguments as values (a member function its target first) and raises EvaluationError; a
TypeError, also from a wrong number of arguments, means "no such overload".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import kubernetes, lists, optionals, strings
from .errors import EvaluationError, no_such_overload
from .ordering import ordered
from .values import (
    MAX_INT,
    MIN_INT,
    TypeValue,
    Uint,
    checked,
    is_number,
    type_name,
)

Function = Callable[..., Any]


def _int(value: Any) -> int:
    if isinstance(value, float):
        if not float(MIN_INT) < value < float(MAX_INT):
            raise EvaluationError("integer overflow")
        return int(value)
    if isinstance(value, str):
        return _number(value, int)
    if is_number(value):
        return checked(int(value), int)
    raise no_such_overload()


def _uint(value: Any) -> int:
    if isinstance(value, str):
        return Uint(_number(value, Uint))
    if is_number(value):
        return checked(int(value), Uint)
    raise no_such_overload()


def _number(text: str, kind: type[int]) -> int:
    if not text.isascii() or not text.lstrip("+-").isdigit():
        raise EvaluationError(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return checked(int(text), kind)


def _double(value: Any) -> float:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise EvaluationError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None
    if is_number(value):
        return float(value)
    raise no_such_overload()


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, float):
        return strings.double_text(value)
    if isinstance(value, (str, int)):
        return str(value)
    raise no_such_overload()


def _bytes(value: Any) -> bytes:
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    raise no_such_overload()


_TRUTH = {
    **dict.fromkeys(("1", "t", "true", "TRUE", "True", "T"), True),
    **dict.fromkeys(("0", "f", "false", "FALSE", "False", "F"), False),
}


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise no_such_overload()
    if value not in _TRUTH:
        raise EvaluationError(f'strconv.ParseBool: parsing "{value}": invalid syntax')
    return _TRUTH[value]


def _size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise no_such_overload()


def _matches(text: str, pattern: str) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise no_such_overload()
    return strings.compiled(pattern).search(text) is not None


TYPES: Mapping[str, TypeValue] = {
    name: TypeValue(name)
    for name in ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")
}
"""Names that stand for types."""

GLOBALS: Mapping[str, Function] = {
    "int": _int,
    "uint": _uint,
    "double": _double,
    "string": _string,
    "bytes": _bytes,
    "bool": _bool,
    "dyn": lambda value: value,
    "type": lambda value: TypeValue(type_name(value)),
    "size": _size,
    "matches": _matches,
    **kubernetes.GLOBALS,
}
"""Called by name alone."""

MEMBERS: Mapping[str, Function] = {
    "size": _size,
    "matches": _matches,
    **strings.MEMBERS,
    **lists.MEMBERS,
    **optionals.MEMBERS,
    **kubernetes.MEMBERS,
    "reverse": lists.MEMBERS["reverse"],
    "indexOf": lambda target, *rest: (strings if isinstance(target, str) else lists).MEMBERS["indexOf"](target, *rest),
    "lastIndexOf": lambda target, *rest: (strings if isinstance(target, str) else lists).MEMBERS["lastIndexOf"](
        target, *rest
    ),
}
"""Called on a target, which is the first argument here."""

NAMESPACES: Mapping[str, Function] = {
    "strings.quote": strings.quote,
    **lists.NAMESPACES,
    **optionals.NAMESPACES,
}
"""Called by a name with a dot in it."""

__all__ = ["GLOBALS", "MEMBERS", "NAMESPACES", "TYPES", "ordered"]
