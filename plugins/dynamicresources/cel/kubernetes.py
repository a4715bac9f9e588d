"""Functions that Kubernetes adds: quantities and semantic versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muster.framework.model.quantity import NANO_PER_UNIT

from .errors import EvaluationError, no_such_overload
from .values import QuantityValue, SemverValue, parse_quantity, parse_semver


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise no_such_overload()


def _is(parse: Callable[..., Any]) -> Callable[..., bool]:
    def check(*arguments: Any) -> bool:
        _text(arguments[0])
        try:
            parse(*arguments)
        except EvaluationError:
            return False
        return True

    return check


def _quantity(value: Any) -> QuantityValue:
    return parse_quantity(_text(value))


def _semver(value: Any, normalize: bool = False) -> SemverValue:
    text = _text(value)
    return parse_semver(_normalized(text) if normalize else text)


def _normalized(text: str) -> str:
    """The version in full: without a `v` in front or leading zeros, and with the numbers that are left out."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and set(parts[-1]) & set("+-"):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1].isdigit() and rest.isascii() else f"0{rest}"


def _pair(left: Any, right: Any) -> None:
    if not isinstance(left, (QuantityValue, SemverValue)) or type(left) is not type(right):
        raise no_such_overload()


def _greater(left: Any, right: Any) -> bool:
    _pair(left, right)
    return bool(left > right)


def _less(left: Any, right: Any) -> bool:
    _pair(left, right)
    return bool(left < right)


def _compare(left: Any, right: Any) -> int:
    _pair(left, right)
    return int(left > right) - int(left < right)


def _of_quantity(function: Callable[..., Any]) -> Callable[..., Any]:
    def checking(target: Any, *rest: Any) -> Any:
        if not isinstance(target, QuantityValue):
            raise no_such_overload()
        return function(target, *rest)

    return checking


def _part(index: int) -> Callable[[Any], int]:
    def part(version: Any) -> int:
        if not isinstance(version, SemverValue):
            raise no_such_overload()
        return version.numbers[index]

    return part


def _amount(other: Any) -> int:
    if isinstance(other, QuantityValue):
        return other.nanos
    if type(other) is int:
        return other * NANO_PER_UNIT
    raise no_such_overload()


def _as_integer(quantity: QuantityValue) -> int:
    whole = quantity.integer
    if whole is None:
        raise EvaluationError("cannot convert value to integer")
    return whole


def _sign(quantity: QuantityValue) -> int:
    return (quantity.nanos > 0) - (quantity.nanos < 0)


GLOBALS: Mapping[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": _is(_quantity),
    "sign": _of_quantity(_sign),
    "semver": _semver,
    "isSemver": _is(_semver),
}

MEMBERS: Mapping[str, Callable[..., Any]] = {
    "isGreaterThan": _greater,
    "isLessThan": _less,
    "compareTo": _compare,
    "sign": _of_quantity(_sign),
    "asInteger": _of_quantity(_as_integer),
    "isInteger": _of_quantity(lambda quantity: quantity.integer is not None),
    "asApproximateFloat": _of_quantity(lambda quantity: quantity.nanos / NANO_PER_UNIT),
    "add": _of_quantity(lambda quantity, other: QuantityValue(quantity.nanos + _amount(other))),
    "sub": _of_quantity(lambda quantity, other: QuantityValue(quantity.nanos - _amount(other))),
    "major": _part(0),
    "minor": _part(1),
    "patch": _part(2),
}
