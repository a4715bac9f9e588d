"""Kept histories: the reduced acts of a failing seed, in a file that plays them again.

A seed plays something else as soon as any choice is added or removed; a stored history does not. The seed still chooses
which callback runs next, and how long everything travels. These draws change as soon as Muster sends one request more,
so a stored history is played with several draws (`lots`) to find its failure again.

`python -m muster.testing.simulation SEED --keep FOLDER` writes such files, and plays one given in place of a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec.json import decode, encode

from .history import Act, Scale
from .shrink import shortest
from .simulation import SimulationOutcome, simulate


@dataclass(frozen=True, slots=True)
class Kept:
    """A history that is kept.

    Attributes:
        seed: what the lots are drawn from.
        wrong: what went wrong first when it was found.
        scale: how many processes there are, and how long it goes on.
        history: what happens.
    """

    seed: str
    wrong: str
    scale: Scale
    history: tuple[Act, ...]

    def play(self) -> SimulationOutcome:
        """Play the history."""
        return simulate(self.seed, history=self.history, scale=self.scale)

    def lots(self, most: int) -> Iterator[Kept]:
        """This number of histories of the same acts: this one, and others that differ in their random choices."""
        yield self
        for number in range(1, most):
            yield replace(self, seed=f"{self.seed}.{number}")

    def write(self, path: Path) -> None:
        """The history with an act on each line, so that it can be read and compared."""
        head = ",\n".join(f' "{name}": {_text(getattr(self, name))}' for name in ("seed", "wrong", "scale"))
        acts = ",\n".join(f"  {_text(act)}" for act in self.history)
        path.write_text(f'{{\n{head},\n "history": [\n{acts}\n ]\n}}\n')


def read(path: Path) -> Kept:
    """Read the result of `write`. Raises msgspec.ValidationError."""
    kept = decode(path.read_bytes(), type=Kept)
    return replace(kept, history=tuple(replace(act, given=_frozen(act.given)) for act in kept.history))


def cut_down(outcome: SimulationOutcome) -> list[int]:
    """The acts, by number, that a failing history needs to fail in the same way."""
    kind = _kind(outcome)

    def fails(acts: Iterable[tuple[int, Act]]) -> bool:
        again = simulate(outcome.seed, history=[act for _, act in acts], scale=outcome.scale)
        return bool(again.wrong) and _kind(again) == kind

    return [number for number, _ in shortest([*enumerate(outcome.history)], fails)]


def kept_of(outcome: SimulationOutcome, numbers: Iterable[int]) -> Kept:
    """A history of these acts of the one that was played."""
    history = tuple(outcome.history[number] for number in numbers)
    return Kept(outcome.seed, outcome.wrong[0], outcome.scale, history)


def _kind(outcome: SimulationOutcome) -> str:
    """The first fault, without names and numbers."""
    text = outcome.wrong[0].partition(":")[2] or outcome.wrong[0]
    return "".join(filter(str.isalpha, text))[-12:]


def _text(value: object) -> str:
    return encode(value).decode()


def _frozen(value: Any) -> Any:
    """The value with tuples for lists, as in acts."""
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value
