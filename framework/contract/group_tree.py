"""Trees of groups: groups that consist of groups and start together, as a CompositePodGroup defines them.

A `GroupPlugin` that knows such trees describes one as `Part`s (`GroupPlugin.tree`); `GroupScheduler` decides the whole
tree in one transaction. Pods belong to the leaves only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NewType

from ..model.pod_info import PodInfo
from .topology import NoDomain, Topology

EntityGroup = NewType("EntityGroup", str)
"""The name of a group among those of all plugins, `<plugin>/<id>`: entities of the queue, attempts and reservations
have it. Wherever else a group is a text, it is the plugin's own id: `namespace/name` for a PodGroup."""

COMPOSITE_PREFIX = "CompositePodGroup/"
"""The prefix of the id of a group of groups, before its `namespace/name`.

No namespace can have this name, and a group of pods may have the same name as a group of groups.
"""

IMPOSSIBLE = 1_000_000_000
"""More members than any group has: the need of a part that has too few parts."""


def entity_group(plugin: str, group: str) -> EntityGroup:
    """The name of a plugin's group among the groups of all plugins."""
    return EntityGroup(f"{plugin}/{group}")


@dataclass(frozen=True, slots=True)
class Part:
    """A group of a tree, as it was when the tree was asked for.

    Attributes:
        key: its id: for a leaf the answer of `GroupPlugin.part_of` about its members, for the root that of `group_of`.
        needed: for a leaf, how many more members must get a node, 0 or less when it has its quorum; for any other part,
            how many of its parts must fit.
        placed_members: members anywhere in it that have a node.
        topology: where all of its members have to be together.
        parts: the groups of which it consists, in the order in which they are tried; None for a leaf.
    """

    key: str
    needed: int
    placed_members: Sequence[PodInfo]
    topology: Topology | None = None
    parts: Sequence[Part] | None = None

    @property
    def least(self) -> int:
        """A lower bound of the members that must get a node for the part to fit."""
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

    def topologies(self) -> Iterator[Topology]:
        """The topologies of the part and of all parts in it."""
        if self.topology is not None:
            yield self.topology
        for part in self.parts or ():
            yield from part.topologies()


@dataclass(frozen=True, slots=True)
class Shortage:
    """The shortage of a part in a trial: too few of its members, or of its parts, fit.

    Attributes:
        fitting: how many did; of members, besides those that have a node.
        left: how many were no longer tried.
        tried: whether any was tried.
        no_domain: why there is no domain for it, if it needs one.
    """

    fitting: int
    left: int
    tried: bool
    no_domain: NoDomain | None = None
