"""CEL over devices with other names: of drivers, domains, attributes, capacities, their values, and variables.

The same rule is applied to every text and name, as to those of devices in a recording, so that what was equal remains
so. Functions, the fields of a device, numbers, and quantities in calls of `quantity` stay. An expression that depends
on the letters of a text would select other devices, so it is refused. Anonymous copies of recordings use this.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .cel.errors import EvaluationError
from .cel.functions import GLOBALS, TYPES
from .cel.lexer import Token, tokens
from .spelled import DEVICE, HEADS, check_spelling, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muster.framework.contract.recorded import Renamer

_CONSTANTS = frozenset({"true", "false", "null", "in"})
_OF_AMOUNTS = frozenset({"quantity", "isQuantity"})
_OF_VERSIONS = frozenset({"semver", "isSemver"})
_OPERAND_ENDS = frozenset({")", "]", "}"})


def renamed(expression: str, words: Renamer) -> str:
    """The expression with other names, and without comments. Raises SpelledOutError."""
    check_spelling(expression)
    return "".join(_pieces([*tokens(expression)], words))


def _pieces(found: Sequence[Token], words: Renamer) -> Iterator[str]:
    end = 0
    for at, token in enumerate(found[:-1]):
        if token.at > end:
            yield " "
        end = token.at + len(token.text)
        if token.kind == "literal" and isinstance(token.value, str):
            yield _literal(token, found[at - 2].text if at > 1 and found[at - 1].text == "(" else "", words)
        elif token.kind == "name" and not _kept(found, at):
            yield words.name(token.text)
        else:
            yield token.text


def _literal(token: Token, call: str, words: Renamer) -> str:
    """Rename a text; `call` is the function of which it is the first argument."""
    value = str(token.value)
    if call in _OF_AMOUNTS:
        _understood("quantity", value)
        return token.text
    before = ""
    if call in _OF_VERSIONS:
        _understood("semver", value, True)
        before = "v" if value.startswith("v") else ""
    return json.dumps(before + words.name(value.removeprefix(before)), ensure_ascii=False)


def _understood(function: str, *arguments: object) -> None:
    try:
        GLOBALS[function](*arguments)
    except EvaluationError:
        refuse(f"calls {function}() of what is none")


def _kept(found: Sequence[Token], at: int) -> bool:
    """Whether the name at this place is one of CEL, or a field of a device."""
    text = found[at].text
    if found[at + 1].text == "(":
        if text in _OF_AMOUNTS | _OF_VERSIONS and not _of_a_literal(found, at):
            refuse(f"calls {text}() of what is not written out")
        return True
    dot = _dot(found, at)
    if dot is None:
        return text in _CONSTANTS or text in TYPES or text == DEVICE or text in HEADS
    owner = found[dot - 1]
    if owner.text == "in" or (owner.kind in ("sign", "end") and owner.text not in _OPERAND_ENDS):
        refuse("has a name that begins with a dot")
    return owner.text == DEVICE and _dot(found, dot - 1) is None


def _dot(found: Sequence[Token], at: int) -> int | None:
    """The place of the dot that makes the name at this place a field; the token before the first one is the end."""
    before = at - 2 if found[at - 1].text == "?" else at - 1
    return before if found[before].text == "." else None


def _of_a_literal(found: Sequence[Token], at: int) -> bool:
    """Whether the first argument of the call at this place is a literal alone."""
    return isinstance(found[at + 2].value, str) and found[at + 3].text in (")", ",")
