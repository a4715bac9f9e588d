"""From tokens to a tree. The compiler calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .errors import CompileError
from .lexer import Token, as_int_literal, tokens


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, bytes, bool or null."""

    value: object


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or a name of a type."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or with `optional` `operand.?field`."""

    operand: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`, or with `optional` `operand[?key]`."""

    operand: Node
    key: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`target.function(arguments)`, or without a target `function(arguments)`. Operators are calls as well."""

    function: str
    arguments: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[item, ?item]`: items with whether they are optional."""

    items: tuple[tuple[Node, bool], ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{key: value, ?key: value}`: entries with whether they are optional."""

    entries: tuple[tuple[Node, Node, bool], ...]


Node: TypeAlias = Literal | Name | Select | Index | Call | ListOf | MapOf

_CONSTANTS = {"true": True, "false": False, "null": None}
_RELATIONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_LEVELS = (frozenset({"+", "-"}), frozenset({"*", "/", "%"}))


def parse(source: str) -> Node:
    """The tree of an expression. Raises CompileError."""
    parser = _Parser(list(tokens(source)))
    node = parser.expression()
    parser.expect_end()
    return node


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    def expression(self) -> Node:
        condition = self._joined("||", lambda: self._joined("&&", self._relation))
        if not self._take("?"):
            return condition
        then = self._joined("||", lambda: self._joined("&&", self._relation))
        self._expect(":")
        return Call("?:", (condition, then, self.expression()))

    def expect_end(self) -> None:
        if self._now.kind != "end":
            raise self._unexpected()

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _joined(self, sign: str, operand: Callable[[], Node]) -> Node:
        node = operand()
        while self._take(sign):
            node = Call(sign, (node, operand()))
        return node

    def _relation(self) -> Node:
        node = self._binary(0)
        while (sign := self._now.text) in _RELATIONS and self._now.kind in ("sign", "name"):
            self._at += 1
            node = Call(sign, (node, self._binary(0)))
        return node

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        node = self._binary(level + 1)
        while self._now.kind == "sign" and self._now.text in _LEVELS[level]:
            sign = self._now.text
            self._at += 1
            node = Call(sign, (node, self._binary(level + 1)))
        return node

    def _unary(self) -> Node:
        if self._take("!"):
            return Call("!", (self._unary(),))
        if self._take("-"):
            value = self._now.value
            if self._now.kind == "literal" and type(value) in (int, float):
                self._at += 1
                return self._members(Literal(-value))  # type: ignore[operator]  # the line above says: a number
            return Call("-", (self._unary(),))
        return self._members(self._primary())

    def _members(self, node: Node) -> Node:
        while True:
            if self._take("."):
                optional = self._take("?")
                field = self._name()
                if not optional and self._take("("):
                    node = Call(field, self._arguments(), node)
                else:
                    node = Select(node, field, optional)
            elif self._take("["):
                optional = self._take("?")
                node = Index(node, self.expression(), optional)
                self._expect("]")
            else:
                return node

    def _primary(self) -> Node:
        token = self._now
        if token.kind == "literal":
            self._at += 1
            return Literal(as_int_literal(token.value) if isinstance(token.value, int) else token.value)
        if self._take("("):
            node = self.expression()
            self._expect(")")
            return node
        if self._take("["):
            return ListOf(tuple(self._several("]", self._item)))
        if self._take("{"):
            return MapOf(tuple(self._several("}", self._entry)))
        self._take(".")
        name = self._name()
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name])
        return Call(name, self._arguments()) if self._take("(") else Name(name)

    def _arguments(self) -> tuple[Node, ...]:
        return tuple(self._several(")", self.expression))

    def _item(self) -> tuple[Node, bool]:
        optional = self._take("?")
        return self.expression(), optional

    def _entry(self) -> tuple[Node, Node, bool]:
        optional = self._take("?")
        key = self.expression()
        self._expect(":")
        return key, self.expression(), optional

    def _several(self, closing: str, one: Callable[[], object]) -> list:  # type: ignore[type-arg]  # what `one` makes
        found: list[object] = []
        while not self._take(closing):
            found.append(one())
            if not self._take(","):
                self._expect(closing)
                break
        return found

    def _name(self) -> str:
        token = self._now
        if token.kind != "name" or token.text == "in":
            raise self._unexpected()
        self._at += 1
        return token.text

    def _take(self, sign: str) -> bool:
        if self._now.kind == "sign" and self._now.text == sign:
            self._at += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unexpected()

    def _unexpected(self) -> CompileError:
        return CompileError(f"Syntax error: mismatched input {self._now.text!r} at position {self._now.at}")
