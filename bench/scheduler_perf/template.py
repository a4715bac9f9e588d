"""Go's text/template, as far as scheduler_perf's templates use it: text and values in, text out.

`objects` renders every node, pod and other object with it. Known are expressions (`expression`), declared variables,
`if` with `else`, and `range` over a number. Anything else raises `TemplateError`, and so does an expression without a
value where it would be written: no template renders to less than in scheduler_perf.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.scheduler_perf.expression import Expression, Scope, TemplateError, parse

_ACTION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_DECLARATION = re.compile(r"\$(\w+)\s*:=\s*(.+)", re.DOTALL)
_KEYWORDS = frozenset({"else", "end", "with", "define", "template", "block", "break", "continue"})
_Part = Callable[[Scope], str]


class Template:
    """A template, understood once and rendered as often as there are objects."""

    def __init__(self, text: str) -> None:
        """Raises `TemplateError`."""
        self._part, _ = _Parser(text).block()

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with these values. Raises `TemplateError`."""
        return self._part(Scope(values, {}))


class _Parser:
    """Takes a text apart, from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._pieces = deque(enumerate(_ACTION.split(text)))
        """Texts, and between them actions."""

    def block(self, *ends: str) -> tuple[_Part, str]:
        """What is rendered up to one of the actions `ends`, and which of them it was."""
        parts: list[_Part] = []
        while self._pieces:
            number, piece = self._pieces.popleft()
            if number % 2 == 0:
                parts.append(_text(piece))
                continue
            action = piece.strip()
            if action in ends:
                return _in_turn(parts), action
            parts.append(self._action(action))
        if ends:
            raise TemplateError(f"the template ends before {' or '.join(ends)}")
        return _in_turn(parts), ""

    def _action(self, action: str) -> _Part:
        word, _, rest = action.partition(" ")
        if word == "if":
            return self._if(parse(rest))
        if word == "range":
            return self._range(rest)
        if word in _KEYWORDS:
            raise TemplateError(f"{{{{{action}}}}} is not understood here")
        if declared := _DECLARATION.fullmatch(action):
            return _declaration(declared[1], parse(declared[2]))
        return _shown(action, parse(action))

    def _if(self, condition: Expression) -> _Part:
        then, end = self.block("else", "end")
        otherwise = self.block("end")[0] if end == "else" else _text("")
        return lambda scope: (then if condition(scope) else otherwise)(scope.inner(scope.dot))

    def _range(self, over: str) -> _Part:
        declared = _DECLARATION.fullmatch(over)
        count = parse(declared[2] if declared else over)
        body, _ = self.block("end")

        def repeated(scope: Scope) -> str:
            times = count(scope)
            if isinstance(times, bool) or not isinstance(times, int):
                raise TemplateError(f"{{{{range {over}}}}} is over {times!r}, which is not a number")
            return "".join(body(scope.inner(each, {declared[1]: each} if declared else {})) for each in range(times))

        return repeated


def _text(text: str) -> _Part:
    return lambda _: text


def _in_turn(parts: Sequence[_Part]) -> _Part:
    return lambda scope: "".join(part(scope) for part in parts)


def _declaration(name: str, value: Expression) -> _Part:
    def declared(scope: Scope) -> str:
        scope.variables[name] = value(scope)
        return ""

    return declared


def _shown(action: str, value: Expression) -> _Part:
    def shown(scope: Scope) -> str:
        found = value(scope)
        if isinstance(found, bool) or not isinstance(found, int | str):
            raise TemplateError(f"{{{{{action}}}}} is {found!r}, which is neither a text nor a whole number")
        return str(found)

    return shown
