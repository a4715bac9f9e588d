"""Whether a selector decides the same when every name and text in it and in devices is replaced, each by one other.

It does if it only looks its texts up and compares whole texts. One that goes by their letters, as `startsWith`, `+`,
`size()` and `<` may, is refused, and so is one for which that cannot be told. Anonymous copies of recordings ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from muster.framework.contract.recorded import SpelledOutError

from .cel import kubernetes
from .cel.compiler import compile_expression
from .cel.errors import CompileError
from .cel.functions import NAMESPACES, TYPES
from .cel.operators import OPERATORS
from .cel.parser import Call, Index, ListOf, Literal, MapOf, Name, Node, Select, parse
from .cel.strings import MEMBERS as OF_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

DEVICE = "device"
HEADS = frozenset({name.partition(".")[0] for name in NAMESPACES}) | {"cel"}
"""Names of namespaces."""
_SPELLED = frozenset({*OF_TEXTS, "matches", "string", "bytes", "quote"})
_SPELLED_OF_TEXTS = frozenset({"size", "double", "bool"})
_ORDERS = frozenset({"<", "<=", ">", ">="})
_ORDERS_LISTS = frozenset({"sort", "min", "max", "sum", "isSorted"})
_QUANTIFIERS = frozenset({"has", "hasValue", "all", "exists", "exists_one", "existsOne"})
_LISTS = frozenset({"filter", "map", "transformList", "transformMap", "distinct", "slice", "flatten"})
_NEVER_TEXT = frozenset(
    {*OPERATORS, *kubernetes.GLOBALS, *kubernetes.MEMBERS, *_QUANTIFIERS, *_LISTS, "int", "uint", "double", "bool"}
    | {"size", "type"}
) - {"+", "?:"}
"""Functions and operators whose result is no text."""


def check_spelling(expression: str) -> None:
    """Raises SpelledOutError."""
    try:
        compile_expression(expression)
    except CompileError as error:
        raise SpelledOutError(f"a selector cannot be understood, nor then its names: {error}") from error
    _check(parse(expression))


def refuse(does: str) -> NoReturn:
    """Raises SpelledOutError; `does` continues a sentence about the selector."""
    raise SpelledOutError(f"a selector {does}, which goes by the letters of names, and a copy has other names")


def _check(node: Node) -> None:
    match node:
        case Literal(value) if isinstance(value, bytes):
            refuse("has bytes in it")
        case Name(name) if name == DEVICE or name in HEADS:
            refuse(f"uses {name} as a value")
        case Select(Name(name)) if name == DEVICE:
            return
        case Call():
            _check_call(node)
    for part in _parts(node):
        _check(part)


def _check_call(call: Call) -> None:
    name = call.function
    operands = call.arguments if call.target is None else (call.target, *call.arguments)
    if name in _SPELLED and (not _in_namespace(call) or name == "quote"):
        refuse(f"calls {name}()")
    if name in _SPELLED_OF_TEXTS and any(map(_may_be_text, operands)):
        refuse(f"calls {name}() of a text")
    if name == "+" and _may_be_text(call):
        refuse("joins texts by +")
    if name in _ORDERS and all(map(_may_be_text, operands)):
        refuse(f"compares texts by {name}")
    if name in _ORDERS_LISTS and _may_have_texts(operands[0]):
        refuse(f"calls {name}() of texts")
    if name == "sortBy" and _may_be_text(call.arguments[-1]):
        refuse("calls sortBy() by texts")


def _in_namespace(call: Call) -> bool:
    return isinstance(call.target, Name) and (
        f"{call.target.name}.{call.function}" in NAMESPACES or (call.target.name, call.function) == ("cel", "bind")
    )


def _parts(node: Node) -> Iterator[Node]:
    match node:
        case Select(operand):
            yield operand
        case Index(operand, key):
            yield from (operand, key)
        case Call(_, arguments, target):
            if target is not None and not _in_namespace(node):
                yield target
            yield from arguments
        case ListOf(items):
            yield from (item for item, _ in items)
        case MapOf(entries):
            yield from (part for key, value, _ in entries for part in (key, value))


def _may_be_text(node: Node) -> bool:
    """Whether its value may be a text, as far as its form shows."""
    match node:
        case Literal(value):
            return isinstance(value, str)
        case Name(name):
            return name not in TYPES
        case Select() | Index():
            field, depth = _of_device(node)
            return depth == 0 if field == "driver" else field == "" or (field == "attributes" and depth > 1)
        case Call("?:", (_, then, otherwise)):
            return _may_be_text(then) or _may_be_text(otherwise)
        case Call("+", operands):
            return all(map(_may_be_text, operands))
        case Call(function):
            return function not in _NEVER_TEXT
    return False


def _may_have_texts(node: Node) -> bool:
    """Whether its value may be a list with texts in it."""
    match node:
        case ListOf(items):
            return any(_may_be_text(item) for item, _ in items)
        case Call("map" | "transformList", arguments):
            return _may_be_text(arguments[-1])
    return True


def _of_device(node: Node) -> tuple[str, int]:
    """The field of the device that this is in, and how deep; an empty one for what is in no field."""
    match node:
        case Select(Name(name), field) if name == DEVICE:
            return field, 0
        case Select(operand) | Index(operand):
            field, depth = _of_device(operand)
            return field, depth + 1
    return "", 0
