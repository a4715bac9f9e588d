"""Functions of lists: those of cel-go's extension and of Kubernetes, and sets as lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from .errors import EvaluationError, no_such_overload
from .operators import add
from .ordering import below, ordered
from .values import contains, equal

_MAX_RANGE = 10_000


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise no_such_overload()


def _of_list(function: Callable[..., Any]) -> Callable[..., Any]:
    def checking(target: Any, *rest: Any) -> Any:
        return function(_list(target), *rest)

    return checking


def _extreme(items: list[Any], name: str, better: Callable[[Any, Any], bool]) -> Any:
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        if better(item, best):
            best = item
    return best


def _sum(items: list[Any]) -> Any:
    total: Any = items[0] if items else 0
    for item in items[1:]:
        total = add(total, item)
    return total


def _index(items: list[Any], wanted: Any) -> int:
    return next((at for at, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index(items: list[Any], wanted: Any) -> int:
    return next((at for at in range(len(items) - 1, -1, -1) if equal(items[at], wanted)), -1)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if type(start) is not int or type(end) is not int:
        raise no_such_overload()
    if start < 0 or end < 0 or start > end or end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth:
            flat.extend(_flatten(item, depth - 1))
        else:
            flat.append(item)
    return flat


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not contains(found, item):
            found.append(item)
    return found


def _range(count: int) -> list[int]:
    if type(count) is not int:
        raise no_such_overload()
    if count > _MAX_RANGE:
        raise EvaluationError("operation cancelled: actual cost limit exceeded")
    return list(range(count))


def _includes_all(left: Any, right: Any) -> bool:
    return all(contains(_list(left), item) for item in _list(right))


MEMBERS: Mapping[str, Callable[..., Any]] = {
    "isSorted": _of_list(lambda items: not any(below(b, a) for a, b in pairwise(items))),
    "sum": _of_list(_sum),
    "min": _of_list(lambda items: _extreme(items, "min", below)),
    "max": _of_list(lambda items: _extreme(items, "max", lambda a, b: below(b, a))),
    "indexOf": _of_list(_index),
    "lastIndexOf": _of_list(_last_index),
    "includes": lambda target, item: contains(target, item) if isinstance(target, list) else equal(target, item),
    "slice": _of_list(_slice),
    "flatten": _of_list(_flatten),
    "sort": _of_list(lambda items: ordered(items, key=lambda item: item)),
    "distinct": _of_list(_distinct),
    "reverse": _of_list(lambda items: items[::-1]),
}

NAMESPACES: Mapping[str, Callable[..., Any]] = {
    "lists.range": _range,
    "sets.contains": _includes_all,
    "sets.equivalent": lambda left, right: _includes_all(left, right) and _includes_all(right, left),
    "sets.intersects": lambda left, right: any(contains(_list(left), item) for item in _list(right)),
}
