"""Values of expressions that Python lacks, and when two values are equal or ordered.

Int is `int`, double `float`, string `str`, bytes `bytes`, list `list`, map `dict`, null `None`, bool `bool`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from muster.framework.model.quantity import NANO_PER_UNIT, QuantityError, nanos

from .errors import EvaluationError, no_such_key, no_such_overload

MAX_INT, MIN_INT, MAX_UINT = 2**63 - 1, -(2**63), 2**64 - 1


class Uint(int):
    """An unsigned integer of 64 bits."""


class DomainMaps(dict[str, Any]):
    """The maps of a device by domain. An unknown domain has an empty map, though it is not `in` them."""


@dataclass(frozen=True, slots=True)
class TypeValue:
    """The result of `type()`, and the value of the names of types."""

    name: str


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """A value that may be absent (`present` is False)."""

    present: bool = False
    held: Any = None


@total_ordering
@dataclass(frozen=True, slots=True)
class QuantityValue:
    """A Kubernetes quantity, in nano units."""

    nanos: int

    def __lt__(self, other: QuantityValue) -> bool:
        return self.nanos < other.nanos

    @property
    def integer(self) -> int | None:
        """The whole number it is, if it is one of 64 bits."""
        whole, rest = divmod(self.nanos, NANO_PER_UNIT)
        return whole if not rest and MIN_INT <= whole <= MAX_INT else None


_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class SemverValue:
    """A semantic version. Build metadata counts for nothing."""

    numbers: tuple[int, int, int]
    pre_release: tuple[str, ...] = ()
    build: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemverValue) and self._order() == other._order()

    def __hash__(self) -> int:
        return hash(self._order())

    def __lt__(self, other: SemverValue) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[object, ...]:
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre_release)
        return self.numbers, not parts, parts


def parse_quantity(text: str) -> QuantityValue:
    """Raises EvaluationError for what is not a quantity."""
    try:
        return QuantityValue(nanos(text))
    except QuantityError:
        raise EvaluationError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


def parse_semver(text: str) -> SemverValue:
    """Raises EvaluationError for what is not a semantic version."""
    match = _SEMVER.fullmatch(text)
    pre = tuple(match[4].split(".")) if match and match[4] else ()
    if match is None or any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in pre):
        raise EvaluationError(f"failed to parse semver {text!r}")
    return SemverValue((int(match[1]), int(match[2]), int(match[3])), pre, match[5] or "")


def is_number(value: object) -> bool:
    """Whether it is an int, a uint or a double."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """`==`: values of different types are unequal, except that numbers are compared as numbers."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(key in right and equal(left[key], right[key]) for key in left)
    if isinstance(left, OptionalValue) and isinstance(right, OptionalValue):
        return left.present == right.present and (not left.present or equal(left.held, right.held))
    if isinstance(left, dict) or isinstance(right, dict):
        return False
    return type(left) is type(right) and bool(left == right)


def less(left: Any, right: Any) -> bool:
    """`<`. Raises EvaluationError for values without an order."""
    if (is_number(left) and is_number(right)) or (type(left) is type(right) and isinstance(left, (str, bytes, bool))):
        return bool(left < right)
    raise no_such_overload()


def find(container: Any, key: Any) -> tuple[bool, Any]:
    """`(found, value)` of an index or a field. Raises EvaluationError where there is nothing to look into."""
    if isinstance(container, dict):
        if isinstance(key, (list, dict)):
            raise no_such_overload()
        if key in container:
            return True, container[key]
        return isinstance(container, DomainMaps), {}
    if isinstance(container, list):
        if not is_number(key) or key != int(key):
            raise no_such_overload()
        at = int(key)
        return (True, container[at]) if 0 <= at < len(container) else (False, None)
    raise no_such_overload()


def lookup(container: Any, key: Any) -> Any:
    """An index or field. Raises EvaluationError where there is none."""
    found, value = find(container, key)
    if found:
        return value
    raise EvaluationError(f"index out of bounds: {key}") if isinstance(container, list) else no_such_key(key)


def contains(container: Any, item: Any) -> bool:
    """`in`."""
    if isinstance(container, dict):
        return not isinstance(item, (list, dict)) and item in container
    if isinstance(container, list):
        return any(equal(each, item) for each in container)
    raise no_such_overload()


def checked(number: int, kind: type[int]) -> int:
    """A result of integer arithmetic. Raises EvaluationError when it does not fit."""
    if kind is Uint:
        if not 0 <= number <= MAX_UINT:
            raise EvaluationError("unsigned integer overflow")
        return Uint(number)
    if not MIN_INT <= number <= MAX_INT:
        raise EvaluationError("integer overflow")
    return int(number)


def type_name(value: Any) -> str:
    """The name of a value's type."""
    return _NAMES.get(type(value), "map" if isinstance(value, dict) else type(value).__name__)


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    TypeValue: "type",
    OptionalValue: "optional_type",
    QuantityValue: "kubernetes.Quantity",
    SemverValue: "kubernetes.Semver",
}
