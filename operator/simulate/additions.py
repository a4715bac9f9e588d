"""The nodes that would have to be added for pods without nodes, as values and as sentences.

`shortfall` finds them; `simulate`, `why GROUP` and the web page show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

NO_HELP = "More nodes of the shapes that the cluster has would not help."
_NAMED = 3


@dataclass(frozen=True, slots=True)
class LikePods:
    """A group, or a set of equal pods without a group.

    Attributes:
        name: the group, or the first of the pods.
        group: whether it is a group.
        pods: the number of its pods without a node.
        nodes: the number of further nodes that it needs by itself; None if that is unknown, or if no number helps.
    """

    name: str
    group: bool
    pods: int
    nodes: int | None = None

    def __str__(self) -> str:
        return self.name if self.group or self.pods == 1 else f"{self.name} and {self.pods - 1} more like it"


@dataclass(frozen=True, slots=True)
class NodeAddition:
    """Nodes of one shape with which pods would fit.

    Attributes:
        nodes: the number of nodes that all of `sets` need together.
        like: the name of a node of this shape.
        allocatable: the resources that each node offers.
        sets: the groups and sets that they help, the largest first.
    """

    nodes: int
    like: str
    allocatable: dict[str, str]
    sets: tuple[LikePods, ...]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The nodes that would have to be added, shape by shape.

    Attributes:
        additions: the additions, the one that helps most pods first; each assumes that the previous ones are in place.
        hopeless: the groups and sets that no number of nodes of these shapes helps.
    """

    additions: tuple[NodeAddition, ...]
    hopeless: tuple[LikePods, ...] = ()

    @property
    def sentences(self) -> Iterator[str]:
        """The sentences for users."""
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
