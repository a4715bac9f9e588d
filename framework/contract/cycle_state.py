"""CycleState: a plugin's notes to itself between the extension points of one pod's attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

T = TypeVar("T")


class LongWork:
    """What a Filter has to work out for a pod and may not in one go. An attempt that begins anew keeps it.

    Attributes:
        left: the plugin's name, and its work, which answers whether all is known now and passes checkpoints on the
            way. The engine calls it, and asks Filter once more.
        gave_up: whether that ended in vain: Filter has to answer by what is known.
    """

    __slots__ = ("gave_up", "left")

    def __init__(self) -> None:
        self.left: tuple[str, Callable[[], bool]] | None = None
        self.gave_up = False


class Unfinished(Exception):
    """A Filter has left work to do, so nobody can say by now which nodes pass; see `LongWork`."""


class CycleState:
    """Values that plugins keep for one attempt, by key (by convention the plugin's name).

    A new one is made for every attempt and lives until the pod is bound or has failed. Trials within an attempt work on
    a `clone`; a value with a `clone()` method of its own is copied by it, any other is shared.

    Attributes:
        group: the group that the pod is placed with; "" when it is placed by itself.
        long_work: what Filter plugins cannot do in one go. Shared with clones.
    """

    __slots__ = ("_values", "group", "long_work")

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self.group = ""
        self.long_work = LongWork()

    def write(self, key: str, value: object) -> None:
        """Keep `value` under `key`, replacing what was there."""
        self._values[key] = value

    def read(self, key: str, kind: type[T]) -> T:
        """What was kept under `key`.

        Raises KeyError when nothing was, TypeError when it is not a `kind`.
        """
        value = self._values[key]
        if not isinstance(value, kind):
            raise TypeError(f"cycle state {key!r} holds {type(value).__name__}, not {kind.__name__}")
        return value

    def get(self, key: str) -> object | None:
        """What was kept under `key`, or None."""
        return self._values.get(key)

    def skips_filter(self, plugin: str) -> bool:
        """Whether the plugin's Filter is left out: its PreFilter answered SKIP, or the pod does not concern it."""
        return False

    def clone(self) -> CycleState:
        """An independent copy for a trial."""
        return self._copied_to(CycleState())

    def _copied_to(self, copy: Self) -> Self:
        copy.group, copy.long_work = self.group, self.long_work
        for key, value in self._values.items():
            duplicate: Callable[[], object] | None = getattr(value, "clone", None)
            copy._values[key] = value if duplicate is None else duplicate()
        return copy
