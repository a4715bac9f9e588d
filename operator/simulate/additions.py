"""The nodes that would have to be added for pods that lack nodes, as values and in sentences.

`shortfall` finds them; `simulate`, `why GROUP` and the web page show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

NO_HELP = "More nodes of the shapes that the cluster has would not help."
_NAMED = 3


@dataclass(frozen=True, slots=True)
class LikePods:
    """A group, or pods of none that are alike.

    Attributes:
        name: the group, or the first of the pods.
        group: whether it is a group.
        pods: how many of its pods lack a node.
        nodes: how many more nodes it takes by itself; None where that is not known, or no number of them helps.
    """

    name: str
    group: bool
    pods: int
    nodes: int | None = None

    def __str__(self) -> str:
        return self.name if self.group or self.pods == 1 else f"{self.name} and {self.pods - 1} more like it"


@dataclass(frozen=True, slots=True)
class NodeAddition:
    """Nodes of one shape that make pods fit.

    Attributes:
        nodes: how many all of `sets` take together.
        like: a node of their shape.
        allocatable: what each of them offers.
        sets: what they help, the largest first.
    """

    nodes: int
    like: str
    allocatable: dict[str, str]
    sets: tuple[LikePods, ...]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The nodes that would have to be added, shape by shape.

    Attributes:
        additions: the one that helps most pods first; each counts with those before it in place.
        hopeless: what no number of nodes of these shapes helps.
    """

    additions: tuple[NodeAddition, ...]
    hopeless: tuple[LikePods, ...] = ()

    @property
    def sentences(self) -> Iterator[str]:
        """The shortfall for people."""
        all_of_them = len(self.additions) == 1 and not self.hopeless
        for each in self.additions:
            offer = ", ".join(f"{amount} {name}" for name, amount in each.allocatable.items())
            nodes = "1 more node" if each.nodes == 1 else f"{each.nodes} more nodes"
            helped = "the rest" if all_of_them else _named(each.sets)
            yield f"{nodes} like {each.like} ({offer}) would make {helped} fit."
            alone = [one for one in each.sets if one.nodes is not None]
            if len(each.sets) > 1 and alone:
                needs = ", ".join(f"{one} would take {one.nodes} of them" for one in alone)
                more = f", {len(each.sets) - len(alone)} more are not told apart" if len(alone) < len(each.sets) else ""
                yield f"Alone, {needs}{more}."
        if self.hopeless:
            yield f"More nodes of the shapes that the cluster has would not help {_named(self.hopeless)}."


def _named(sets: Sequence[LikePods]) -> str:
    more = f" and {len(sets) - _NAMED} more" if len(sets) > _NAMED else ""
    return f"{', '.join(map(str, sets[:_NAMED]))}{more}"
