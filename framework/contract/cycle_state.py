"""CycleState: a plugin's notes to itself between the extension points of one pod's attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

T = TypeVar("T")


class LongWork:
    """Work of a Filter plugin that does not fit into one call. An attempt that begins again keeps it.

    Attributes:
        left: the plugin's name, and its work: a function that passes checkpoints and returns whether the result is
            complete. The engine calls it, and then Filter again.
        gave_up: whether the work ended without a complete result: Filter has to answer from what is known.
    """

    __slots__ = ("gave_up", "left")

    def __init__(self) -> None:
        self.left: tuple[str, Callable[[], bool]] | None = None
        self.gave_up = False


class Unfinished(Exception):
    """A Filter plugin has work left, so the feasible nodes are not known yet; see `LongWork`."""


class CycleState:
    """Values that plugins keep for one attempt, by key (by convention the plugin's name).

    A new one is created for every attempt and lives until the pod is bound or has failed. Trials within an attempt work
    on a `clone`, which copies values that have a `clone()` method and shares all others.

    Attributes:
        group: the group with which the pod is placed, as `<plugin>/<id>` (an `EntityGroup`); "" for a single pod.
        long_work: work of Filter plugins that does not fit into one call. Shared with clones.
    """

    __slots__ = ("_values", "group", "long_work")

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self.group = ""
        self.long_work = LongWork()

    def write(self, key: str, value: object) -> None:
        """Store `value` under `key`, replacing any previous value."""
        self._values[key] = value

    def read(self, key: str, kind: type[T]) -> T:
        """The value under `key`.

        Raises KeyError if there is none, TypeError if it is not a `kind`.
        """
        value = self._values[key]
        if not isinstance(value, kind):
            raise TypeError(f"cycle state {key!r} holds {type(value).__name__}, not {kind.__name__}")
        return value

    def get(self, key: str) -> object | None:
        """The value under `key`, or None."""
        return self._values.get(key)

    def skips_filter(self, plugin: str) -> bool:
        """Whether the plugin's Filter is skipped: PreFilter answered SKIP, or the plugin does not apply to the pod."""
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
