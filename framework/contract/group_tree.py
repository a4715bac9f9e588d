"""Trees of groups: groups that consist of groups and start together, as a CompositePodGroup defines them.

A `GroupPlugin` that knows such trees describes one as `Part`s (`GroupPlugin.tree`); the group cycle decides the whole
tree in one transaction. Pods belong to the leaves only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.pod_info import PodInfo
from .topology import NoDomain, Topology

COMPOSITE_PREFIX = "CompositePodGroup/"
"""How the id of a group that consists of groups begins, before its `namespace/name`.

No namespace can be called so, and a group of pods may have the same name.
"""

IMPOSSIBLE = 1_000_000_000
"""More members than any group has: what a part needs that has too few parts."""


@dataclass(frozen=True, slots=True)
class Part:
    """A group of a tree, as it was when the tree was asked for.

    Attributes:
        key: its id: of a leaf what `GroupPlugin.part_of` names its members by, of the root what `group_of` does.
        needed: of a leaf, how many more members must get a node, 0 or less when it has its quorum; of any other, how
            many of its parts must fit.
        holding: members anywhere in it that hold a node.
        topology: where all of its members have to be together.
        parts: the groups that it consists of, in the order they are tried; None for a leaf.
    """

    key: str
    needed: int
    holding: Sequence[PodInfo]
    topology: Topology | None = None
    parts: Sequence[Part] | None = None

    @property
    def least(self) -> int:
        """At least so many of its members must get a node for it to fit; never too many."""
        if self.parts is None:
            return max(0, self.needed)
        lacking = sorted(part.least for part in self.parts)
        return sum(lacking[: self.needed]) if len(lacking) >= self.needed else IMPOSSIBLE

    def leaves(self) -> Iterator[Part]:
        """The groups of pods in it."""
        if self.parts is None:
            yield self
        for part in self.parts or ():
            yield from part.leaves()


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a part lacked in a trial: too few of its members, or of its parts, fit.

    Attributes:
        fitting: how many did; of members, besides those that hold a node.
        left: how many were not tried any more.
        tried: whether any was.
        no_domain: why there is no domain for it, if it has to be in one.
    """

    fitting: int
    left: int
    tried: bool
    no_domain: NoDomain | None = None
