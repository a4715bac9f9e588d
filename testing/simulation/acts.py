"""Acts: the elements of a history in a simulation.

An act is plain data and means the same whatever else happens, so a history can be printed, reduced to the acts that
matter, and played again. If an act concerns one of the objects that exist at its time, a number in [0, 1) selects it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

ZONE = "topology.kubernetes.io/zone"
RACK = "example.com/rack"
"""Labels of nodes. There are racks of one name in two zones."""
CPUS = (500, 1000, 1500, 2000)
"""The requests of pods, in thousandths of a CPU."""
NODE_CPU = 4000
"""The capacity of a node, in thousandths of a CPU."""


@dataclass(frozen=True, slots=True)
class Act:
    """An event of a history. `what` names a method of an actor of `world.World`, `given` its arguments in order."""

    at: float
    what: str
    given: tuple[Any, ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in self.given)
        return f"{self.at:7.3f} s  {self.what}({given})"


class CallLater(Protocol):
    """Calls something for an actor after some seconds."""

    def __call__(self, seconds: float, callback: Callable[..., None], *given: object) -> None: ...


def one_among(objects: Sequence[T], pick: float) -> T | None:
    """The object that an act concerns; None if there is none."""
    return objects[int(pick * len(objects))] if objects else None
