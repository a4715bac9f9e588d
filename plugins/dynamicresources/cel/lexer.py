"""From text to tokens. The parser calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .errors import CompileError
from .values import MAX_INT, MAX_UINT, MIN_INT, Uint

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<raw>(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*'))
  | (?P<text>[bB]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<integer>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
  | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
  | (?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_ESCAPE = re.compile(
    r"\\(?:(?P<x>[xX][0-9a-fA-F]{2})|(?P<u>u[0-9a-fA-F]{4})|(?P<U>U[0-9a-fA-F]{8})|(?P<o>[0-3][0-7]{2})|(?P<c>.))",
    re.DOTALL,
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {c: c for c in "\\?\"'`"}


class Token(NamedTuple):
    """A piece of text. `value` is that of a literal; `at` is where it begins."""

    kind: str
    text: str
    at: int
    value: object = None


def tokens(source: str) -> Iterator[Token]:
    """All tokens, ending with one of kind "end". Raises CompileError."""
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise CompileError(f"Syntax error: token recognition error at: {source[at : at + 10]!r}")
        kind, text = str(match.lastgroup), match.group()
        if kind != "space":
            yield Token(_KINDS.get(kind, kind), text, at, _value(kind, text))
        at = match.end()
    yield Token("end", "<EOF>", at)


_KINDS = {"text": "literal", "raw": "literal", "double": "literal", "integer": "literal"}


def _value(kind: str, text: str) -> object:
    match kind:
        case "integer":
            return _integer(text)
        case "double":
            return float(text)
        case "text" | "raw":
            return _string(text, raw=kind == "raw")
    return None


def _integer(text: str) -> int:
    digits = text.rstrip("uU")
    number = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)
    if digits != text:
        if number > MAX_UINT:
            raise CompileError(f"Syntax error: invalid uint literal {text}")
        return Uint(number)
    if number > -MIN_INT:
        raise CompileError(f"Syntax error: invalid int literal {text}")
    return number


def as_int_literal(number: int) -> int:
    """The number, unless it is the one that an int can be only with a minus in front."""
    if type(number) is int and number > MAX_INT:
        raise CompileError(f"Syntax error: invalid int literal {number}")
    return number


def _string(text: str, *, raw: bool) -> str | bytes:
    quote = next(index for index, char in enumerate(text) if char in "\"'")
    prefix, body = text[:quote].lower(), text[quote:]
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    body = body[width:-width]
    if "b" not in prefix:
        return body if raw else _ESCAPE.sub(_unescaped, body)
    if raw:
        return body.encode()
    pieces, at = bytearray(), 0
    for match in _ESCAPE.finditer(body):
        pieces += body[at : match.start()].encode()
        number = match["x"][1:] if match["x"] else None
        if number is not None:
            pieces.append(int(number, 16))
        elif match["o"]:
            pieces.append(int(match["o"], 8))
        else:
            pieces += _unescaped(match).encode()
        at = match.end()
    return bytes(pieces + body[at:].encode())


def _unescaped(match: re.Match[str]) -> str:
    for group in ("x", "u", "U"):
        if match[group]:
            return chr(int(match[group][1:], 16))
    if match["o"]:
        return chr(int(match["o"], 8))
    if match["c"] not in _SIMPLE:
        raise CompileError(f"Syntax error: unknown escape sequence \\{match['c']}")
    return _SIMPLE[match["c"]]
