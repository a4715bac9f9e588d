"""How much a thing holds: the length of every container that can be reached from it, by the way that leads there.

Tests let much come and go twice and compare. What is longer afterwards is kept of what is gone, and the way names it.
"""

import asyncio
import gc
import logging
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

_PLAIN = (str, bytes, int, float, complex, type(None), type, ModuleType, BuiltinFunctionType, ReferenceType)
_ELSEWHERE = (asyncio.AbstractEventLoop, logging.Logger, np.dtype, np.random.Generator)
_WEAK = (WeakKeyDictionary, WeakValueDictionary, WeakSet)
_SEQUENCES = (list, tuple, set, frozenset, deque)


def sizes(root: object, without: tuple[str, ...] = ()) -> Counter[str]:
    """The lengths, summed over all ways that differ in keys and places alone.

    Nothing is looked into whose type is defined in a module that begins with one of `without`. Garbage is collected
    first: weak dictionaries keep entries of keys in cycles until then.
    """
    gc.collect()
    found: Counter[str] = Counter()
    seen: dict[int, object] = {id(root): root}
    todo: deque[tuple[str, Any]] = deque([("", root)])
    while todo:
        way, thing = todo.popleft()
        if isinstance(thing, (*_SEQUENCES, *_WEAK, Mapping)):
            found[way] += len(thing)
        elif isinstance(thing, np.ndarray):
            found[way] += thing.size
        for step, child in _children(thing):
            if isinstance(child, (*_PLAIN, *_ELSEWHERE)) or type(child).__module__.startswith(without or ("\0",)):
                continue
            if id(child) not in seen:
                seen[id(child)] = child
                todo.append((way + step, child))
    return found


BOUNDED = (
    "_journal._rows",
    "snapshot.labels._by_key[]",
    "snapshot.taints.",
    "inventory.changes._rows",
    "._asked",
    "._questions",
    "._eligible_by_keys",
    "plugin_execution_duration._cells",
)
"""Bounded by a number, whatever has ever been: rows that changed lately, values that nodes had lately, questions that
were asked lately, histograms by plugin, point and status, some of which the sample of one call in ten meets late."""


def grown(before: Mapping[str, int], after: Mapping[str, int], by: int) -> dict[str, tuple[int, int]]:
    """What is longer by more than `by`, with its length before and after; but for what has a bound of its own."""
    return {
        way: (before.get(way, 0), length)
        for way, length in after.items()
        if length > before.get(way, 0) + by and not any(part in way for part in BOUNDED)
    }


def _children(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, Mapping):
        yield from (("[key]", key) for key in list(thing))
        yield from (("[]", value) for value in list(thing.values()))
    elif isinstance(thing, _SEQUENCES):
        yield from (("[]", item) for item in list(thing))
    elif isinstance(thing, MethodType):
        yield "", thing.__self__
        yield "()", thing.__func__
    elif isinstance(thing, partial):
        yield from (("()", part) for part in (thing.func, thing.args, thing.keywords))
    elif isinstance(thing, FunctionType):
        cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
        yield from ((f"().{name}", cell.cell_contents) for name, cell in cells if _is_filled(cell))
        yield "()", thing.__defaults__
        return
    elif isinstance(thing, asyncio.Task):
        frame = getattr(thing.get_coro(), "cr_frame", None)
        yield from ((f"<task>.{name}", value) for name, value in (frame.f_locals if frame else {}).items())
    yield from ((f".{name}", value) for name, value in getattr(thing, "__dict__", {}).items())
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name
            value = getattr(thing, mangled, None)
            if value is not None and name not in ("__dict__", "__weakref__"):
                yield f".{name}", value


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # it raises when there is nothing yet
    except ValueError:
        return False
    return True
