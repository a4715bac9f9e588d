"""Macros: calls whose arguments are not evaluated beforehand, such as quantifiers over lists and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from . import optionals
from .activation import Activation, Evaluate, Macro, Scope, variable_name
from .errors import CompileError, EvaluationError, no_such_overload
from .functions import ordered
from .operators import boolean
from .parser import Call


def _items(container: Any, variables: int) -> Iterator[tuple[Any, ...]]:
    """The values of a quantifier's variables, one after another: elements or keys, or each with its value."""
    if isinstance(container, dict):
        return iter(container.items()) if variables == 2 else ((key,) for key in container)
    if isinstance(container, list):
        return iter(enumerate(container)) if variables == 2 else ((item,) for item in container)
    raise no_such_overload()


Step: TypeAlias = Callable[[Activation, tuple[Any, ...]], Any]
Fold: TypeAlias = Callable[[Iterator[tuple[Any, ...]], Activation, list[Evaluate], bool], Any]


def _quantifier(fold: Fold, variables: int) -> Macro:
    """A macro over a container: names of variables first, then expressions in which they are known."""

    def build(compiler: Scope, call: Call) -> Evaluate:
        if call.target is None:
            raise CompileError(f"undeclared reference to '{call.function}' (in container '')")
        names = [variable_name(node) for node in call.arguments[:variables]]
        inner = compiler.within(*names)
        container = compiler.compile(call.target)
        bodies = [inner.compile(node) for node in call.arguments[variables:]]

        def evaluate(activation: Activation) -> Any:
            held = container(activation)
            before = {name: activation.variables.get(name) for name in names}

            def bound() -> Iterator[tuple[Any, ...]]:
                for item in _items(held, variables):
                    activation.spend(1)
                    activation.variables.update(zip(names, item, strict=True))
                    yield item

            try:
                return fold(bound(), activation, bodies, isinstance(held, dict))
            finally:
                activation.variables.update(before)

        return evaluate

    return build


def _decided(items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], decisive: bool) -> bool:
    """`exists` (decisive True) and `all` (False): as `||` and `&&` over the items, errors included."""
    failure: EvaluationError | None = None
    for _ in items:
        try:
            if boolean(bodies[0](activation)) is decisive:
                return decisive
        except EvaluationError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not decisive


def _all(items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool) -> bool:
    return _decided(items, activation, bodies, False)


def _exists(items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool) -> bool:
    return _decided(items, activation, bodies, True)


def _exists_one(items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool) -> bool:
    return sum(boolean(bodies[0](activation)) for _ in items) == 1


def _filter(items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool) -> list[Any]:
    return [item[0] for item in items if boolean(bodies[0](activation))]


def _map(items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool) -> list[Any]:
    *conditions, transform = bodies
    return [transform(activation) for _ in items if all(boolean(each(activation)) for each in conditions)]


def _transform_map(
    items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool
) -> dict[Any, Any]:
    *conditions, transform = bodies
    return {item[0]: transform(activation) for item in items if all(boolean(each(activation)) for each in conditions)}


def _transform_map_entry(
    items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool
) -> dict[Any, Any]:
    *conditions, transform = bodies
    made: dict[Any, Any] = {}
    for _variables in items:
        if not all(boolean(each(activation)) for each in conditions):
            continue
        entries = transform(activation)
        if not isinstance(entries, dict):
            raise no_such_overload()
        activation.spend(len(entries))
        for key, value in entries.items():
            if key in made:
                raise EvaluationError(f"insert failed: key {key} already exists")
            made[key] = value
    return made


def _sort_by(items: Iterator[tuple[Any, ...]], activation: Activation, bodies: list[Evaluate], _: bool) -> list[Any]:
    keyed = [(bodies[0](activation), item[0]) for item in items]
    return [item for _, item in ordered(keyed, key=lambda pair: pair[0])]


def _bind(compiler: Scope, call: Call) -> Evaluate:
    """`cel.bind(name, value, expression)`."""
    name = variable_name(call.arguments[0])
    value, body = compiler.compile(call.arguments[1]), compiler.within(name).compile(call.arguments[2])

    def evaluate(activation: Activation) -> Any:
        before = activation.variables.get(name)
        bound = value(activation)
        activation.variables[name] = bound
        try:
            return body(activation)
        finally:
            activation.variables[name] = before

    return evaluate


def _has(compiler: Scope, call: Call) -> Evaluate:
    return compiler.present(call.arguments[0])


MACROS: Mapping[tuple[str, int, object], Macro] = {
    ("has", 1, False): _has,
    ("bind", 3, "cel"): _bind,
    ("all", 2, True): _quantifier(_all, 1),
    ("all", 3, True): _quantifier(_all, 2),
    ("exists", 2, True): _quantifier(_exists, 1),
    ("exists", 3, True): _quantifier(_exists, 2),
    ("exists_one", 2, True): _quantifier(_exists_one, 1),
    ("exists_one", 3, True): _quantifier(_exists_one, 2),
    ("existsOne", 2, True): _quantifier(_exists_one, 1),
    ("existsOne", 3, True): _quantifier(_exists_one, 2),
    ("filter", 2, True): _quantifier(_filter, 1),
    ("map", 2, True): _quantifier(_map, 1),
    ("map", 3, True): _quantifier(_map, 1),
    ("sortBy", 2, True): _quantifier(_sort_by, 1),
    ("transformList", 3, True): _quantifier(_map, 2),
    ("transformList", 4, True): _quantifier(_map, 2),
    ("transformMap", 3, True): _quantifier(_transform_map, 2),
    ("transformMap", 4, True): _quantifier(_transform_map, 2),
    ("transformMapEntry", 3, True): _quantifier(_transform_map_entry, 2),
    ("transformMapEntry", 4, True): _quantifier(_transform_map_entry, 2),
    **optionals.MACROS,
}
"""By name, number of arguments and whether there is a target ("cel" for that namespace)."""
