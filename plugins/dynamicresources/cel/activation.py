"""What an evaluation has at hand: the variables in scope, and how much work it may still do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .errors import EvaluationError

_BUDGET = 1_000_000
"""Steps in all; what Kubernetes allows a selector (CELSelectorExpressionMaxCost) is of the same order."""


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


Evaluate: TypeAlias = Callable[[Activation], Any]
