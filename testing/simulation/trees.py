"""Trees: CompositePodGroups with the groups in them, as the API has them at one moment, for the judge.

A group of a tree has the name of its object; in a simulation no two objects of the two kinds share a name. A group is
in no tree yet, and waits, while an object between it and the root is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from muster.sandbox.kinds import COMPOSITE_POD_GROUPS, NATIVE_POD_GROUPS
from muster.sandbox.objects import Object

from .server import SimulatedServer

PARENT = "parentCompositePodGroupName"


class Trees:
    """All trees."""

    def __init__(self, server: SimulatedServer) -> None:
        self._composites = {each["metadata"]["name"]: each for each in server.objects(COMPOSITE_POD_GROUPS)}
        leaves = {each["metadata"]["name"]: each for each in server.objects(NATIVE_POD_GROUPS)}
        self._parents: dict[str, str] = {}
        self._parts: dict[str, list[str]] = defaultdict(list)
        for name, group in (leaves | self._composites).items():
            if parent := group["spec"].get(PARENT):
                self._parents[name] = parent
                self._parts[parent].append(name)

    def roots(self) -> list[str]:
        """The CompositePodGroups that are a part of no other."""
        return [name for name in self._composites if name not in self._parents]

    def is_part(self, name: str) -> bool:
        """Whether a group names a parent, existing or not."""
        return name in self._parents

    def above(self, name: str) -> list[str]:
        """The CompositePodGroups that a group is in, innermost first; none if one of them is missing."""
        found: list[str] = []
        while (parent := self._parents.get(name)) is not None:
            if parent not in self._composites:
                return []
            found.append(parent)
            name = parent
        return found

    def composites(self, name: str) -> Iterator[str]:
        """A CompositePodGroup and those in it."""
        yield name
        for part in self._parts[name]:
            if part in self._composites:
                yield from self.composites(part)

    def leaves(self, name: str) -> Iterator[str]:
        """The PodGroups in a CompositePodGroup; of a PodGroup that one."""
        if name not in self._composites:
            yield name
        for part in self._parts[name]:
            yield from self.leaves(part)

    def needed(self, name: str) -> int:
        """The number of parts that a CompositePodGroup needs."""
        least: int = self._composites[name]["spec"]["schedulingPolicy"]["gang"]["minGroupCount"]
        return least

    def levels(self, name: str) -> tuple[str, ...]:
        """The labels of nodes on which all members in a CompositePodGroup have to agree."""
        return levels_of(self._composites[name])

    def has_enough(self, name: str, holds: Callable[[str], bool]) -> bool:
        """Whether a condition holds for a PodGroup, or for as many parts of a CompositePodGroup as it needs."""
        if name not in self._composites:
            return holds(name)
        return sum(self.has_enough(part, holds) for part in self._parts[name]) >= self.needed(name)

    def that_count(self, name: str, holds: Callable[[str], bool]) -> Iterator[str]:
        """The PodGroups in it that count, without those of parts for which too little holds."""
        if name not in self._composites:
            yield name
        elif self.has_enough(name, holds):
            for part in self._parts[name]:
                if self.has_enough(part, holds):
                    yield from self.that_count(part, holds)


def levels_of(group: Object) -> tuple[str, ...]:
    """The labels on which the members of a native group have to agree."""
    constraints = group["spec"].get("schedulingConstraints") or {}
    return tuple(each["key"] for each in constraints.get("topology") or ())
