"""Work that is counted instead of timed: a count is the same on every machine.

Two things are counted: calls, of Python and of C, and elements of arrays that were computed or copied. Columns of
thousands of nodes are worked on by single operations of NumPy, which cost few calls whatever the number of nodes, so
calls alone would not show work that grows with the cluster.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np

MOST_CALLS = 500_000
"""Some tens of milliseconds; what the attacks took was a hundred times as much and more."""
MOST_ELEMENTS = 20_000_000
"""Ten to twenty milliseconds: four thousand operations on columns of 5,000 nodes."""
_MAKERS = ("arange", "array", "asarray", "empty", "fromiter", "full", "ones", "zeros")


class Work:
    """How many calls were made, and how many elements of arrays they computed or copied."""

    def __init__(self) -> None:
        self.calls = 0
        self.elements = 0

    def count(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call") and frame.f_globals is not globals()


class CountedArray(np.ndarray[Any, Any]):
    """An array whose operations are counted while a count is open, as are those of arrays derived from it."""

    work: Work | None = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        _count(max(map(_elements, inputs)))
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        if "where" in options:
            options["where"] = _plain(options["where"])
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        if out is not None:
            return out[0]
        return result.view(CountedArray) if isinstance(result, np.ndarray) else result

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        work, before = self.work, 0 if self.work is None else self.work.elements
        result = super().__array_function__(function, types, arguments, options)
        if work is not None:  # functions written in Python are made of operations that were counted already
            work.elements = max(work.elements, before + _elements(arguments))
        return result

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if any(isinstance(each, (np.ndarray, list)) for each in (key if isinstance(key, tuple) else (key,))):
            _count(_elements(found))  # a copy; slices are views
        return found


@contextmanager
def countable() -> Iterator[None]:
    """Whatever arrays are made meanwhile can be counted from then on."""
    with ExitStack() as stack:
        for name in _MAKERS:
            stack.enter_context(patch.object(np, name, _making(getattr(np, name))))
        yield


@contextmanager
def counted() -> Iterator[Work]:
    """The work that is done in this context."""
    work = CountedArray.work = Work()
    with countable():
        sys.setprofile(work.count)
        try:
            yield work
        finally:
            sys.setprofile(None)
            CountedArray.work = None


def bounded(what: str, act: Callable[[], Any], most: int = MOST_CALLS) -> Work:
    """Do it, with no more than `most` calls and `MOST_ELEMENTS`."""
    with counted() as work:
        act()
    assert work.calls < most, f"{what}: {work.calls} calls"
    assert work.elements < MOST_ELEMENTS, f"{what}: {work.elements} elements of arrays"
    return work


def _making(function: Callable[..., Any]) -> Callable[..., Any]:
    def make(*arguments: Any, **options: Any) -> Any:
        made = function(*arguments, **options)
        return made.view(CountedArray) if type(made) is np.ndarray else made

    return make


def _count(elements: int) -> None:
    if CountedArray.work is not None:
        CountedArray.work.elements += elements


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, CountedArray) else value


def _elements(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    return sum(map(_elements, value)) if isinstance(value, Sequence) and not isinstance(value, str) else 0
