"""CEL over devices with other names: of drivers, attributes, capacities and their values.

Names of functions, amounts and the fields of a device stay. An expression with a function that depends on the letters
of a text, such as `startsWith`, would select other devices under other names, so it is refused. Anonymous copies of
recordings use it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from muster.framework.contract.recorded import Renamer, SpelledOutError
from muster.framework.model.quantity import QuantityError, nanos

from .cel.errors import CompileError
from .cel.functions import NAMESPACES, TYPES
from .cel.lexer import Token, tokens
from .cel.strings import MEMBERS as OF_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DEVICE = "device"
_OF_DEVICE = frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})
_CONSTANTS = frozenset({"true", "false", "null", "in"})
_HEADS = frozenset({name.partition(".")[0] for name in NAMESPACES}) | {"cel"}
_SPELLED = frozenset({*OF_TEXTS, "matches"})


def renamed(expression: str, words: Renamer) -> str:
    """The expression with other names. Raises SpelledOutError."""
    try:
        found = [*tokens(expression)]
    except CompileError:
        return words.name(expression)
    return "".join(_pieces(expression, found, words))


def _pieces(expression: str, found: Sequence[Token], words: Renamer) -> Iterator[str]:
    at = 0
    for index, token in enumerate(found):
        yield expression[at : token.at]
        at = token.at
        if token.kind == "end":
            continue
        at += len(token.text)
        if token.kind == "literal" and isinstance(token.value, str | bytes):
            yield _literal(token, words)
        elif token.kind == "name" and not _kept(found, index, words):
            yield words.name(token.text)
        else:
            yield token.text


def _literal(token: Token, words: Renamer) -> str:
    if not isinstance(token.value, str):
        return words.name(token.text)
    value = token.value
    try:
        nanos(value)
    except QuantityError:
        return json.dumps(value if words.of_the_api(value) else words.name(value), ensure_ascii=False)
    return token.text


def _kept(found: Sequence[Token], at: int, words: Renamer) -> bool:
    """Whether the name at this place is one of CEL, or of devices in it."""
    text = found[at].text
    before = [token.text for token in found[max(0, at - 2) : at]]
    behind = [token.text for token in found[at + 1 : at + 4]]
    if behind[:1] == ["("]:
        if text in _SPELLED:
            raise SpelledOutError(
                f"a selector calls {text}(), which goes by the letters of names, and a copy has other names"
            )
        return True
    if before[-1:] != ["."]:
        calls = text in _HEADS and behind[:1] == ["."] and behind[2:] == ["("]
        return text in _CONSTANTS or text in TYPES or text == _DEVICE or calls
    if before == ["]", "."] and found[at - 3].kind == "literal":
        return words.of_the_api(str(found[at - 3].value))
    return before[0] != "]" and text in _OF_DEVICE
