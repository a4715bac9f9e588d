"""Optional values: their functions, which `functions` has in its tables, and their macros, which `macros` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .activation import Activation, Evaluate, Macro, Scope, variable_name
from .errors import CompileError, EvaluationError, no_such_overload
from .parser import Call
from .values import OptionalValue, QuantityValue, SemverValue


def _of_non_zero(value: Any) -> OptionalValue:
    return OptionalValue(True, value) if value or isinstance(value, (QuantityValue, SemverValue)) else OptionalValue()


def _held(value: OptionalValue) -> Any:
    if not value.present:
        raise EvaluationError("optional.none() dereference")
    return value.held


def _unwrapped(values: Any) -> list[Any]:
    """The values that a list of optional values holds."""
    if not isinstance(values, list) or not all(isinstance(value, OptionalValue) for value in values):
        raise no_such_overload()
    return [value.held for value in values if value.present]


def _item(target: Any, place: int) -> OptionalValue:
    """The first (0) or last (-1) item of a list, if it has one."""
    if not isinstance(target, list):
        raise no_such_overload()
    return OptionalValue(True, target[place]) if target else OptionalValue()


def _only_optional(function: Callable[..., Any]) -> Callable[..., Any]:
    def checking(target: Any, *rest: Any) -> Any:
        if not isinstance(target, OptionalValue):
            raise no_such_overload()
        return function(target, *rest)

    return checking


def _optional(compiler: Scope, call: Call, *, flat: bool) -> Evaluate:
    """`optMap` and `optFlatMap`."""
    if call.target is None:
        raise CompileError(f"undeclared reference to '{call.function}' (in container '')")
    target, name = compiler.compile(call.target), variable_name(call.arguments[0])
    body = compiler.within(name).compile(call.arguments[1])

    def evaluate(activation: Activation) -> OptionalValue:
        held = target(activation)
        if not isinstance(held, OptionalValue):
            raise no_such_overload()
        if not held.present:
            return held
        before = activation.variables.get(name)
        activation.variables[name] = held.held
        try:
            value = body(activation)
        finally:
            activation.variables[name] = before
        if not flat:
            return OptionalValue(True, value)
        if isinstance(value, OptionalValue):
            return value
        raise no_such_overload()

    return evaluate


def _otherwise(compiler: Scope, call: Call, *, is_optional: bool) -> Evaluate:
    """`or` and `orValue`, which evaluate their argument only if the target has no value."""
    if call.target is None:
        raise CompileError(f"undeclared reference to '{call.function}' (in container '')")
    target, other = compiler.compile(call.target), compiler.compile(call.arguments[0])

    def evaluate(activation: Activation) -> Any:
        held = target(activation)
        if not isinstance(held, OptionalValue):
            raise no_such_overload()
        if not held.present:
            return other(activation)
        return held if is_optional else held.held

    return evaluate


MEMBERS: Mapping[str, Callable[..., Any]] = {
    "hasValue": _only_optional(lambda target: target.present),
    "value": _only_optional(_held),
    "unwrapOpt": _unwrapped,
    "first": lambda target: _item(target, 0),
    "last": lambda target: _item(target, -1),
}

NAMESPACES: Mapping[str, Callable[..., Any]] = {
    "optional.of": lambda value: OptionalValue(True, value),
    "optional.none": OptionalValue,
    "optional.ofNonZeroValue": _of_non_zero,
    "optional.unwrap": _unwrapped,
}

MACROS: Mapping[tuple[str, int, object], Macro] = {
    ("or", 1, True): partial(_otherwise, is_optional=True),
    ("orValue", 1, True): partial(_otherwise, is_optional=False),
    ("optMap", 2, True): partial(_optional, flat=False),
    ("optFlatMap", 2, True): partial(_optional, flat=True),
}
