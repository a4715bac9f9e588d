"""The expressions of Go's text/template, as far as scheduler_perf's templates use them.

`template` understands one for each action, and evaluates it for each object. An expression is made of fields of the
dot (`.Index`), the dot, variables, whole numbers, strings, `nil`, parentheses, pipes and `FUNCTIONS`. Anything else
raises `TemplateError`.
"""

import json
import math
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?\d+)|(?P<field>\.[A-Za-z]\w*)|(?P<dot>\.)|\$(?P<variable>\w+)'
    r"|(?P<word>[A-Za-z]\w*)|(?P<sign>[|()]))"
)
_PIPE, _CLOSE = ("sign", "|"), ("sign", ")")


class TemplateError(ValueError):
    """A template that is not understood, or that cannot be rendered with the values; the text names the place."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The value of the dot, and the variables of a block and of those around it."""

    dot: Any
    variables: dict[str, Any]

    def inner(self, dot: Any, variables: Mapping[str, Any] = {}) -> "Scope":
        """The scope of a block within; what it declares ends with it."""
        return Scope(dot, {**self.variables, **variables})


Expression = Callable[[Scope], Any]
_Tokens = deque[tuple[str, str]]


def parse(text: str) -> Expression:
    """The expression that a text stands for. Raises `TemplateError`, and so does what is returned."""
    tokens = _tokens(text)
    found = _pipeline(tokens, text)
    if tokens:
        raise TemplateError(f"{tokens[0][1]!r} is not understood in {text!r}")
    return found


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TemplateError(f"{value!r} is not a number")
    try:
        return float(value)
    except ValueError:
        raise TemplateError(f"{value!r} is not a number") from None


def _divided(first: Any, second: Any) -> int:
    if not (divisor := _float(second)):
        raise TemplateError(f"{first!r} is divided by zero")
    return int(_float(first) / divisor)


def _first_true(*values: Any) -> Any:
    return next(filter(None, values), values[-1])


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "AddInt": lambda *numbers: int(sum(map(_float, numbers))),
    "DivideInt": _divided,
    "Int": lambda value: int(_float(value)),
    "JSON": lambda value: json.dumps(value, sort_keys=True, ensure_ascii=False),
    "Mod": lambda first, second: int(math.fmod(int(_float(first)), int(_float(second)))),
    "eq": lambda first, second: first == second,
    "ge": lambda first, second: first >= second,
    "or": _first_true,
}
"""Functions by name: those that scheduler_perf adds, and those of text/template itself."""


def _tokens(text: str) -> _Tokens:
    found, at, text = _Tokens(), 0, text.strip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise TemplateError(f"{text[at:]!r} is not understood")
        found.append((token.lastgroup, token[token.lastgroup]))
        at = token.end()
    return found


def _pipeline(tokens: _Tokens, text: str) -> Expression:
    """Commands joined by pipes: each gets the value of the one before it as its last argument."""
    found = _command(tokens, text, None)
    while tokens and tokens[0] == _PIPE:
        tokens.popleft()
        found = _command(tokens, text, found)
    return found


def _command(tokens: _Tokens, text: str, piped: Expression | None) -> Expression:
    """A function with its arguments, or a single value."""
    function = None
    if tokens and tokens[0][0] == "word" and tokens[0][1] != "nil":
        name = tokens.popleft()[1]
        if (function := FUNCTIONS.get(name)) is None:
            raise TemplateError(f"{name} is not a function that is known, in {text!r}")
    arguments = []
    while tokens and tokens[0] not in (_PIPE, _CLOSE):
        arguments.append(_operand(tokens, text))
    if piped is not None:
        arguments.append(piped)
    if function is not None:
        return _call(function, arguments)
    if len(arguments) != 1:
        raise TemplateError(f"{text!r} has {len(arguments)} values where one is wanted")
    return arguments[0]


def _call(function: Callable[..., Any], arguments: list[Expression]) -> Expression:
    return lambda scope: function(*(argument(scope) for argument in arguments))


def _operand(tokens: _Tokens, text: str) -> Expression:
    kind, token = tokens.popleft()
    match kind:
        case "string":
            return _constant(json.loads(token))
        case "number":
            return _constant(int(token))
        case "field":
            return lambda scope: _field(scope, token[1:])
        case "dot":
            return lambda scope: scope.dot
        case "variable":
            return lambda scope: _variable(scope, token)
        case "word" if token == "nil":
            return _constant(None)
        case "sign" if token == "(":
            inner = _pipeline(tokens, text)
            if not tokens or tokens.popleft() != _CLOSE:
                raise TemplateError(f"a parenthesis is open in {text!r}")
            return inner
    raise TemplateError(f"{token!r} is not understood in {text!r}")


def _constant(value: Any) -> Expression:
    return lambda _: value


def _field(scope: Scope, name: str) -> Any:
    """The value of a field, or None, as Go's maps have it."""
    if not isinstance(scope.dot, Mapping):
        raise TemplateError(f".{name} is asked of {scope.dot!r}, which has no fields")
    return scope.dot.get(name)


def _variable(scope: Scope, name: str) -> Any:
    if name not in scope.variables:
        raise TemplateError(f"${name} is not declared")
    return scope.variables[name]
