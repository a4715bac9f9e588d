"""Compiled selectors: each expression is compiled once, and the ones in use are kept.

The total length of kept expressions is bounded too, because claims may contain expressions of ten thousand characters.
"""

from __future__ import annotations

from typing import NamedTuple

from cachetools import LRUCache

from .cel.compiler import CompiledSelector, compile_expression
from .cel.errors import CompileError

_MAX_EXPRESSIONS = 512
_USUAL_LENGTH = 256
_MOST_CHARACTERS = _MAX_EXPRESSIONS * _USUAL_LENGTH


class _Kept(NamedTuple):
    selector: CompiledSelector | CompileError
    characters: int


_compiled: LRUCache[str, _Kept] = LRUCache(_MOST_CHARACTERS, getsizeof=lambda kept: kept.characters)


def compiled(expression: str) -> CompiledSelector | CompileError:
    """The expression as a function of a device, or why it is none."""
    known = _compiled.get(expression)
    if known is not None:
        return known.selector
    selector: CompiledSelector | CompileError
    try:
        selector = compile_expression(expression)
    except CompileError as error:
        selector = error.with_traceback(None)
    _compiled[expression] = _Kept(selector, min(max(len(expression), _USUAL_LENGTH), _MOST_CHARACTERS))
    return selector
