"""The types that the code decodes: every type that is read from JSON or plain values anywhere, found in the sources."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any

import muster.framework
import muster.operator
import muster.plugins
from muster.plugins.catalog import IN_TREE

_READERS = {
    "Decoder": 0,
    "Listed": 1,
    "_decoded": 1,
    "convert": 1,
    "decode": 1,
    "from_plain": 1,
    "read_object": 2,
}
"""Names of what turns bytes or plain values into a type, with the place of the type among the arguments: msgspec's own
functions, and those that are built on them."""
_BUILT_IN = {kind.__name__: kind for kind in (dict, float, int, list, str, tuple)}


@cache
def decoded() -> tuple[dict[str, Any], frozenset[str]]:
    """The types by name; and `module: expression` of each type that only a caller knows."""
    types: dict[str, Any] = {
        f"{kind.type.__module__.removeprefix('muster.')}.{kind.type.__name__}": kind.type
        for plugin in IN_TREE.values()
        for kind in plugin.watches
    }
    open_ones = set()
    for package in (muster.framework, muster.operator, muster.plugins):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            loaded = importlib.import_module(module.name)
            where = module.name.removeprefix("muster.")
            for expression in _expressions(ast.parse(_source(loaded))):
                try:
                    found = eval(expression, vars(loaded) | {"__builtins__": _BUILT_IN})
                except (AttributeError, NameError):
                    open_ones.add(f"{where}: {expression}")
                else:
                    types[f"{where}.{expression}"] = found
    return types, frozenset(open_ones)


def _source(module: Any) -> str:
    with open(module.__file__, encoding="utf-8") as file:
        return file.read()


def _expressions(tree: ast.AST) -> Iterator[str]:
    """The types that calls in a module name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in _READERS:
            continue
        if isinstance(node.func, ast.Attribute) and not ast.unparse(node.func.value).startswith("msgspec"):
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == "type"]
        given += node.args[_READERS[name] :][:1]
        if given:
            yield ast.unparse(given[0])
