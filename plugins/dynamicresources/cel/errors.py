"""The errors of expressions. Texts that users see are those of cel-go."""

from __future__ import annotations


class CompileError(Exception):
    """The text is not an expression that can be evaluated here."""


class EvaluationError(Exception):
    """Evaluation came to an error. `&&`, `||` and the quantifiers may absorb it."""


def no_such_overload() -> EvaluationError:
    """An operator or function does not take values of these types."""
    return EvaluationError("no such overload")


def no_such_key(key: object) -> EvaluationError:
    """A map does not have the key."""
    return EvaluationError(f"no such key: {key}")
