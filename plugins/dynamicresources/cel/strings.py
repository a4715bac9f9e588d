"""Functions of strings: those of the language, of cel-go's extension for strings, and of Kubernetes for patterns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # it brings no stubs

from .errors import EvaluationError, no_such_overload
from .values import TypeValue, type_name

_MAX_PATTERNS = 256


@lru_cache(_MAX_PATTERNS)
def compiled(pattern: str) -> Any:
    """The compiled pattern. Raises EvaluationError for what is not one."""
    try:
        return re2.compile(pattern, _quiet())
    except re2.error as error:
        said = error.args[0]
        raise EvaluationError(f"Illegal regex: {said.decode() if isinstance(said, bytes) else said}") from None


def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


def double_text(value: float) -> str:
    """A double as text: without an exponent as long as that is short."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


def quote(text: str) -> str:
    """The text in double quotes, with what is not plain escaped."""
    escapes = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r"}
    return '"' + "".join({**escapes, "\t": "\\t", "\v": "\\v"}.get(char, char) for char in _text(text)) + '"'


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise no_such_overload()


def _of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` for targets that are text and nothing else."""

    def checking(target: Any, *rest: Any) -> Any:
        return function(_text(target), *rest)

    return checking


def _within(text: str, at: int, *, end: bool = True) -> int:
    if type(at) is not int:
        raise no_such_overload()
    if not 0 <= at < len(text) + end:
        raise EvaluationError(f"index out of range: {at}")
    return at


def _substring(text: str, start: int, end: int | None = None) -> str:
    start, end = _within(text, start), _within(text, len(text) if end is None else end)
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _last_index(text: str, part: str, at: int | None = None) -> int:
    last = len(text) if at is None else _within(text, at)
    return text.rfind(_text(part), 0, last + len(part))


def _replace(text: str, old: str, new: str, times: int = -1) -> str:
    return text.replace(_text(old), _text(new), times)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator == "":
        return list(text) if limit < 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
    return text.split(_text(separator), limit - 1 if limit > 0 else -1)


def _cased(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(char) if char.isascii() else char for char in text)


def _join(items: Any, separator: str = "") -> str:
    if not isinstance(items, list):
        raise no_such_overload()
    return _text(separator).join(map(_text, items))


def _find(text: str, pattern: str) -> str:
    match = compiled(_text(pattern)).search(text)
    return str(match.group()) if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [str(match.group()) for match in compiled(_text(pattern)).finditer(text)]
    return found if limit < 0 else found[:limit]


def _format(text: str, arguments: Any) -> str:
    if not isinstance(arguments, list):
        raise no_such_overload()
    left = iter(arguments)
    made: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "%":
            made.append(text[at])
            at += 1
            continue
        match = _CLAUSE.match(text, at)
        if match is None:
            raise EvaluationError("could not parse formatting clause")
        at = match.end()
        if match["verb"] == "%":
            made.append("%")
            continue
        try:
            value = next(left)
        except StopIteration:
            raise EvaluationError(f"index {len(arguments)} out of range") from None
        made.append(_formatted(match["verb"], match["precision"], value))
    return "".join(made)


_CLAUSE = re2.compile(r"%(?:\.(?P<precision>[0-9]+))?(?P<verb>[sdfebxXo%])")


def _formatted(verb: str, precision: str | None, value: Any) -> str:
    if verb == "s":
        return _shown(value)
    if verb in "fe" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return format(float(value), f".{precision or 6}{verb}")
    if verb in "db" and isinstance(value, bool):
        return str(int(value))
    if verb in "dbxXo" and isinstance(value, int):
        return format(int(value), verb)
    if verb in "xX" and isinstance(value, (str, bytes)):
        shown = (value.encode() if isinstance(value, str) else value).hex()
        return shown.upper() if verb == "X" else shown
    raise EvaluationError(f"error during formatting: a value of type {type_name(value)} does not fit %{verb}")


def _shown(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            return double_text(value)
        case list():
            return "[" + ", ".join(map(_shown, value)) + "]"
        case dict():
            return "{" + ", ".join(sorted(f"{_shown(key)}: {_shown(item)}" for key, item in value.items())) + "}"
        case bytes():
            return value.decode(errors="replace")
        case TypeValue():
            return value.name
        case str() | int():
            return str(value)
    raise EvaluationError(f"error during formatting: a value of type {type_name(value)} does not fit %s")


MEMBERS: Mapping[str, Callable[..., Any]] = {
    "contains": _of_text(lambda text, part: _text(part) in text),
    "startsWith": _of_text(lambda text, part: text.startswith(_text(part))),
    "endsWith": _of_text(lambda text, part: text.endswith(_text(part))),
    "charAt": _of_text(lambda text, at: text[_within(text, at) : at + 1]),
    "indexOf": _of_text(lambda text, part, at=0: text.find(_text(part), _within(text, at))),
    "lastIndexOf": _of_text(_last_index),
    "lowerAscii": _of_text(lambda text: _cased(text, str.lower)),
    "upperAscii": _of_text(lambda text: _cased(text, str.upper)),
    "replace": _of_text(_replace),
    "split": _of_text(_split),
    "substring": _of_text(_substring),
    "trim": _of_text(str.strip),
    "join": _join,
    "format": _of_text(_format),
    "find": _of_text(_find),
    "findAll": _of_text(_find_all),
}
