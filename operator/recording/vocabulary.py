"""The words of Muster's messages: every word in the string literals of its code and of the enabled plugins.

A recorded message consists of such words and of names, which `words` distinguishes.
"""

from __future__ import annotations

import ast
import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from muster.plugins.catalog import IN_TREE

from .words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from muster.framework.contract import Plugin

_OURS = ("muster.framework", "muster.plugins")


def vocabulary(registry: Mapping[str, type[Plugin]]) -> frozenset[str]:
    """The words of these plugins' messages, and of the code that calls them."""
    others = {plugin.__module__ for name, plugin in registry.items() if name not in IN_TREE}
    packages = {module.rpartition(".")[0] or module for module in others}
    return frozenset(word for package in (*_OURS, *packages) for word in _words_in(package))


@cache
def _words_in(package: str) -> frozenset[str]:
    return frozenset(word for module in _modules(package) for text in _texts(module) for word in words_of(text))


def _modules(package: str) -> Iterator[str]:
    yield package
    for found in pkgutil.walk_packages(getattr(import_module(package), "__path__", ()), f"{package}."):
        yield found.name


def _texts(module: str) -> Iterator[str]:
    """The string literals in the code of a module, without docstrings."""
    spec = find_spec(module)
    source = getattr(spec and spec.loader, "get_source", lambda name: None)(module)
    tree = ast.parse(source or "")
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.value
