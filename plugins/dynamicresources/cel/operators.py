"""Operators: arithmetic with overflow, comparison, and the connectives that absorb errors of one side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .activation import Activation, Evaluate
from .errors import EvaluationError, no_such_overload
from .values import Uint, checked, contains, equal, less


def boolean(value: Any) -> bool:
    """The value, which must be a bool. Raises EvaluationError."""
    if isinstance(value, bool):
        return value
    raise no_such_overload()


def either(left: Evaluate, right: Evaluate, decisive: bool) -> Evaluate:
    """`||` (decisive True) and `&&` (False): an error on one side does not matter when the other side decides.

    Of two errors, the left one is reported.
    """

    def evaluate(activation: Activation) -> bool:
        try:
            if boolean(left(activation)) is decisive:
                return decisive
        except EvaluationError as failure:
            try:
                decided = boolean(right(activation)) is decisive
            except EvaluationError:
                raise failure from None
            if decided:
                return decisive
            raise
        return boolean(right(activation))

    return evaluate


def _conditional(condition: Evaluate, then: Evaluate, otherwise: Evaluate) -> Evaluate:
    return lambda activation: (then if boolean(condition(activation)) else otherwise)(activation)


def _strict(function: Callable[..., Any]) -> Callable[..., Evaluate]:
    def build(*operands: Evaluate) -> Evaluate:
        if len(operands) == 1:
            (only,) = operands
            return lambda activation: function(only(activation))
        left, right = operands

        def evaluate(activation: Activation) -> Any:
            one, other = left(activation), right(activation)
            activation.spend_on(one, other)
            return function(one, other)

        return evaluate

    return build


def _kind(left: Any, right: Any) -> type:
    """The type that both are of. Raises EvaluationError."""
    kind = type(left)
    if kind is not type(right) or kind is bool:
        raise no_such_overload()
    return kind


def add(left: Any, right: Any) -> Any:
    """`+`."""
    kind = _kind(left, right)
    if kind in (int, Uint):
        return checked(int(left) + int(right), kind)
    if kind in (float, str, bytes, list):
        return left + right
    raise no_such_overload()


def _subtract(left: Any, right: Any) -> Any:
    kind = _kind(left, right)
    if kind in (int, Uint):
        return checked(int(left) - int(right), kind)
    if kind is float:
        return left - right
    raise no_such_overload()


def _multiply(left: Any, right: Any) -> Any:
    kind = _kind(left, right)
    if kind in (int, Uint):
        return checked(int(left) * int(right), kind)
    if kind is float:
        return left * right
    raise no_such_overload()


def _divide(left: Any, right: Any) -> Any:
    kind = _kind(left, right)
    if kind is float:
        if right == 0:
            return (
                math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
            )
        return left / right
    if kind not in (int, Uint):
        raise no_such_overload()
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(int(left)) // abs(int(right))
    return checked(quotient if (left < 0) == (right < 0) else -quotient, kind)


def _modulo(left: Any, right: Any) -> Any:
    kind = _kind(left, right)
    if kind not in (int, Uint):
        raise no_such_overload()
    if right == 0:
        raise EvaluationError("modulus by zero")
    rest = abs(int(left)) % abs(int(right))
    return checked(-rest if left < 0 else rest, kind)


def _negate(value: Any) -> Any:
    if type(value) is int:
        return checked(-value, int)
    if type(value) is float:
        return -value
    raise no_such_overload()


OPERATORS: Mapping[str, Callable[..., Evaluate]] = {
    "||": lambda left, right: either(left, right, True),
    "&&": lambda left, right: either(left, right, False),
    "?:": _conditional,
    "!": _strict(lambda value: not boolean(value)),
    "-": lambda *operands: _strict(_negate if len(operands) == 1 else _subtract)(*operands),
    "+": _strict(add),
    "*": _strict(_multiply),
    "/": _strict(_divide),
    "%": _strict(_modulo),
    "==": _strict(equal),
    "!=": _strict(lambda left, right: not equal(left, right)),
    "<": _strict(less),
    "<=": _strict(lambda left, right: less(left, right) or equal(left, right)),
    ">": _strict(lambda left, right: less(right, left)),
    ">=": _strict(lambda left, right: less(right, left) or equal(left, right)),
    "in": _strict(lambda item, container: contains(container, item)),
}
