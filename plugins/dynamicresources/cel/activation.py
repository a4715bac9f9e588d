"""The context of an expression: the scope in which a macro is compiled, and the state and budget of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from .errors import CompileError, EvaluationError
from .parser import Call, Name, Node

_BUDGET = 15_000
"""Steps in all, milliseconds of work: an evaluation cannot be divided. Kubernetes allows a selector more
(CELSelectorExpressionMaxCost); what real ones need is hundreds."""


class Activation:
    """The state of one evaluation."""

    __slots__ = ("_left", "variables")

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.variables = dict(variables)
        self._left = _BUDGET

    @property
    def spent(self) -> int:
        """How much work it has done."""
        return _BUDGET - self._left

    def spend(self, steps: int) -> None:
        """Raises EvaluationError when the evaluation has done too much work."""
        self._left -= steps
        if self._left < 0:
            raise EvaluationError("operation cancelled: actual cost limit exceeded")

    def spend_on(self, *values: object) -> None:
        """Spend what it takes to look at all of these values, whatever lists and maps are in them."""
        for value in values:
            if isinstance(value, (str, bytes)):
                self.spend(len(value) // 10)
            elif isinstance(value, (list, dict)):
                self.spend(len(value))
                self.spend_on(*(value if isinstance(value, list) else value.values()))


Evaluate: TypeAlias = Callable[[Activation], Any]


class Scope(Protocol):
    """The context in which a macro compiles its arguments: the compiler, and the variables that it knows."""

    def within(self, *names: str) -> Scope:
        """A scope that knows more variables."""
        ...

    def compile(self, node: Node) -> Evaluate:
        """Raises CompileError."""
        ...

    def present(self, node: Node) -> Evaluate:
        """`has(node)`."""
        ...


Macro: TypeAlias = Callable[[Scope, Call], Evaluate]


def variable_name(node: Node) -> str:
    """The variable that an argument of a macro introduces. Raises CompileError."""
    if isinstance(node, Name):
        return node.name
    raise CompileError("argument must be a simple name")
