"""From a tree to a function of a device. Compiling is the only costly step; evaluating is a few nested calls.

Types are not checked beforehand: the API server has done so when the expression was written. An unknown name or
function is an error of the compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .activation import Activation, Evaluate, Macro
from .errors import CompileError, EvaluationError, no_such_key, no_such_overload
from .functions import GLOBALS, MEMBERS, NAMESPACES, TYPES
from .macros import MACROS
from .operators import OPERATORS, boolean
from .parser import Call, Index, ListOf, Literal, MapOf, Name, Node, Select, parse
from .values import OptionalValue, find, lookup

DEVICE_FIELDS = frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})


class CompiledSelector:
    """A compiled expression.

    Attributes:
        steps: how much work the last evaluation was.
    """

    __slots__ = ("_evaluate", "steps")

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self.steps = 0

    def __call__(self, device: Mapping[str, Any]) -> bool:
        """Whether it selects the device. Raises EvaluationError."""
        activation = Activation({"device": device})
        try:
            verdict = self._evaluate(activation)
        except RecursionError:
            raise EvaluationError("the expression is nested too deeply") from None
        finally:
            self.steps = activation.spent
        if not isinstance(verdict, bool):
            raise EvaluationError("CEL result could not be converted to bool")
        return verdict


def compile_expression(source: str) -> CompiledSelector:
    """Compile an expression over the variable `device`. Raises CompileError."""
    try:
        return CompiledSelector(Compiler(frozenset({"device"})).compile(parse(source)))
    except RecursionError:
        raise CompileError("the expression is nested too deeply") from None


class Compiler:
    """Compiles trees within a scope of variables."""

    def __init__(self, variables: frozenset[str]) -> None:
        self.variables = variables

    def within(self, *names: str) -> Compiler:
        """A compiler that knows more variables."""
        return Compiler(self.variables | set(names))

    def compile(self, node: Node) -> Evaluate:
        """Raises CompileError."""
        evaluate = self._compiled(node)
        if isinstance(node, (Literal, Name)):
            return evaluate

        def counted(activation: Activation) -> Any:
            activation.spend(1)
            return evaluate(activation)

        return counted

    def _compiled(self, node: Node) -> Evaluate:
        match node:
            case Literal(value):
                return lambda _: value
            case Name(name):
                return self._name(name)
            case Select(operand, field, optional):
                return self._select(operand, field, optional)
            case Index(operand, key, optional):
                return self._index(operand, key, optional)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Call():
                return self._call(node)

    def present(self, node: Node) -> Evaluate:
        """`has(node)`."""
        if not isinstance(node, Select) or node.optional:
            raise CompileError("invalid argument to has() macro")
        operand, field = self.compile(node.operand), node.field

        def test(activation: Activation) -> bool:
            held = operand(activation)
            if isinstance(held, OptionalValue):
                if not held.present:
                    return False
                held = held.held
            return find(held, field)[0]

        return test

    def _name(self, name: str) -> Evaluate:
        if name in self.variables:
            return lambda activation: activation.variables[name]
        if name in TYPES:
            value = TYPES[name]
            return lambda _: value
        raise CompileError(f"undeclared reference to '{name}' (in container '')")

    def _select(self, operand: Node, field: str, optional: bool) -> Evaluate:
        if operand == Name("device") and field not in DEVICE_FIELDS:
            raise CompileError(f"undefined field '{field}'")
        return _access(self.compile(operand), lambda _: field, optional)

    def _index(self, operand: Node, key: Node, optional: bool) -> Evaluate:
        return _access(self.compile(operand), self.compile(key), optional)

    def _list(self, node: ListOf) -> Evaluate:
        items = [(self.compile(item), optional) for item, optional in node.items]

        def make(activation: Activation) -> list[Any]:
            made: list[Any] = []
            for item, optional in items:
                value = item(activation)
                if not optional:
                    made.append(value)
                elif not isinstance(value, OptionalValue):
                    raise no_such_overload()
                elif value.present:
                    made.append(value.held)
            return made

        return make

    def _map(self, node: MapOf) -> Evaluate:
        entries = [(self.compile(key), self.compile(value), optional) for key, value, optional in node.entries]

        def make(activation: Activation) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key_of, value_of, optional in entries:
                key, value = key_of(activation), value_of(activation)
                if not isinstance(key, (str, int)):
                    raise EvaluationError("unsupported key type")
                if key in made:
                    raise EvaluationError(f"insert failed: key {key} already exists")
                if not optional:
                    made[key] = value
                elif not isinstance(value, OptionalValue):
                    raise no_such_overload()
                elif value.present:
                    made[key] = value.held
            return made

        return make

    def _call(self, node: Call) -> Evaluate:
        name, count = node.function, len(node.arguments)
        namespace = node.target.name if isinstance(node.target, Name) else ""
        macro: Macro | None = MACROS.get((name, count, "cel" if namespace == "cel" else node.target is not None))
        if macro is not None:
            return macro(self, node)
        if node.target is None:
            if name in OPERATORS:
                return OPERATORS[name](*map(self.compile, node.arguments))
            return self._applied(GLOBALS.get(name), name, node.arguments)
        if f"{namespace}.{name}" in NAMESPACES and namespace not in self.variables:
            return self._applied(NAMESPACES[f"{namespace}.{name}"], name, node.arguments)
        return self._applied(MEMBERS.get(name), name, (node.target, *node.arguments))

    def _applied(self, function: Callable[..., Any] | None, name: str, arguments: tuple[Node, ...]) -> Evaluate:
        if function is None:
            raise CompileError(f"undeclared reference to '{name}' (in container '')")
        compiled = [self.compile(argument) for argument in arguments]

        def call(activation: Activation) -> Any:
            values = [argument(activation) for argument in compiled]
            activation.spend_on(*values)
            try:
                return function(*values)
            except TypeError:
                raise no_such_overload() from None

        return call


def _access(operand: Evaluate, key: Evaluate, optional: bool) -> Evaluate:
    def access(activation: Activation) -> Any:
        held, at = operand(activation), key(activation)
        if isinstance(held, OptionalValue):
            if not held.present:
                return held
            found, value = find(held.held, at)
            return OptionalValue(True, value) if found else OptionalValue()
        if optional:
            found, value = find(held, at)
            return OptionalValue(True, value) if found else OptionalValue()
        return lookup(held, at)

    return access


__all__ = ["CompiledSelector", "Compiler", "boolean", "compile_expression", "no_such_key"]
