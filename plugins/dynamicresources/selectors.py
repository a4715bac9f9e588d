"""Compiled selectors: each expression is compiled once, and so many are kept as are in use at a time."""

from __future__ import annotations

from cachetools import LRUCache

from .cel.compiler import Selector, compile_expression
from .cel.errors import CompileError

_MAX_EXPRESSIONS = 512
_compiled: LRUCache[str, Selector | CompileError] = LRUCache(_MAX_EXPRESSIONS)


def compiled(expression: str) -> Selector | CompileError:
    """The expression as a function of a device, or why it is none."""
    known = _compiled.get(expression)
    if known is None:
        try:
            known = compile_expression(expression)
        except CompileError as error:
            known = error
        _compiled[expression] = known
    return known
