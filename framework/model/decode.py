"""Wire structs of objects that hold nulls, as manifests of people and answers to old clients do.

The API server itself writes no null where a struct forbids it, so informers decode straight from JSON. Commands that
read manifests, and whoever gives an object that did not decode a second look, come here.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T")

_STRING_MAPS = frozenset({"annotations", "labels", "matchLabels", "nodeSelector"})


def from_plain(plain: object, kind: type[T]) -> T:
    """The struct that plain dicts and lists stand for, as the API server would read them.

    Null is the same as absent, or "" within a map of strings.
    Raises msgspec.ValidationError when they do not fit the struct.
    """
    return msgspec.convert(_without_nulls(plain), kind)


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _member(key, item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _member(key: str, item: object) -> object:
    if key in _STRING_MAPS and isinstance(item, dict):
        return {name: "" if text is None else text for name, text in item.items()}
    return _without_nulls(item)
