"""The contract is inert: its modules define protocols and values, and do nothing by themselves.

Inert means, and this walks the syntax trees to see it:

- a module imports no clock, randomness, I/O, logging or event loop: of the standard library and of packages only what
  types and values are made of;
- a function changes nothing: it stores no attribute and no item of what it was given, and calls no method that changes
  a collection which it was given. `__init__` and `__post_init__` set up the object itself;
- a coroutine has no body, so nothing awaits;
- nothing calls the handle: whoever holds one belongs to a plugin.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CONTRACT = Path(__file__).parents[2] / "framework" / "contract"
MADE_OF = frozenset(
    {"__future__", "abc", "collections", "contextlib", "dataclasses", "enum", "re", "typing"}
    | {"msgspec", "numpy", "pydantic", "typing_extensions"}
)
CHANGING = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert"}
    | {"pop", "popitem", "remove", "setdefault", "sort", "update"}
)
KEPT_BY_PLUGINS = frozenset({"CycleState", "StatusTable"})
"""What a plugin fills itself: its notes of an attempt, and the numbers of its statuses."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def root(node: ast.expr) -> str:
    """The name that a chain of attributes and items begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_empty(function: Function) -> bool:
    """Whether it does nothing but document itself, or raise."""
    return all(
        isinstance(each, ast.Pass | ast.Raise) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in function.body
    )


def changes(function: Function) -> Iterator[str]:
    """What the function does besides computing a value."""
    given = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    own = {"self"} if function.name in ("__init__", "__post_init__") else set()
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield f"{node.lineno}: shares a variable"
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if root(node) in given - own:
                yield f"{node.lineno}: stores to {ast.unparse(node)}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = node.func.value
            if node.func.attr in CHANGING and root(target) in given - own:
                yield f"{node.lineno}: changes {ast.unparse(target)}"
            if "handle" in ast.unparse(target).split("(")[0].replace("_", ".").split("."):
                yield f"{node.lineno}: calls the handle"


def faults(source: str) -> list[str]:
    """Where a module is not inert."""
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            continue
        found += [f"{node.lineno}: imports {name}" for name in names if name.partition(".")[0] not in MADE_OF]
    kept = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in KEPT_BY_PLUGINS]
    exempt = {id(each) for node in kept for each in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, Function) and id(node) not in exempt:
            found += changes(node)
            if isinstance(node, ast.AsyncFunctionDef) and not is_empty(node):
                found.append(f"{node.lineno}: awaits")
    return found


@pytest.mark.parametrize("path", sorted(CONTRACT.glob("**/*.py")), ids=lambda path: path.name)
def test_a_module_of_the_contract_is_inert(path: Path) -> None:
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import logging", "1: imports logging"),
        ("from asyncio import sleep", "1: imports asyncio"),
        ("class Book:\n def place(self, pod):\n  self._placed.add(pod.uid)", "3: changes self._placed"),
        ("class Book:\n def place(self, pod):\n  self._pods[pod.uid] = pod", "3: stores to self._pods[pod.uid]"),
        ("class Book:\n def begin(self):\n  self.begun = True", "3: stores to self.begun"),
        ("class Book:\n def forget(self, pod):\n  del self._pods[pod.uid]", "3: stores to self._pods[pod.uid]"),
        ("def empty(pods):\n pods.clear()", "2: changes pods"),
        ("def count():\n global known\n known = 1", "2: shares a variable"),
        ("async def patch(api):\n await api.patch('/')", "1: awaits"),
        ("def look(handle):\n return handle.lister('Node')", "2: calls the handle"),
        ("class Book:\n def look(self):\n  return self._handle.clock.now()", "3: calls the handle"),
    ],
)
def test_source_that_is_not_inert_is_found(source: str, fault: str) -> None:
    assert faults(source) == [fault]
