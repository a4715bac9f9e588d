"""Hierarchies: which PodGroups are parts of which CompositePodGroups, and whether enough of them exist to be tried.

`NativePodGroups` updates and reads it. A hierarchy has the name of its root, the CompositePodGroup that is no part of
another one. Objects arrive in any order: a PodGroup has no root while an object between the two is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from muster.framework.contract import COMPOSITE_PREFIX, IMPOSSIBLE, Favour, Part, PodInfo, Topology

from . import messages
from .api import NativePodGroup, SchedulingConstraints
from .composite_api import CompositePodGroup, CompositePodGroupSpec

_MAX_DEPTH = 4
"""Levels of a hierarchy, its PodGroups included (upstream: `WorkloadMaxTreeDepth`)."""


class LeafRecord(Protocol):
    """The requirements on the members of a PodGroup."""

    @property
    def existing(self) -> int:
        """The number of members."""
        ...

    def placed_pods(self) -> Iterator[PodInfo]:
        """Members that hold a node."""
        ...


class Leaves(Protocol):
    """The requirements of PodGroups, by `namespace/name`."""

    def get(self, group: str) -> NativePodGroup | None:
        """The PodGroup as last seen."""
        ...

    def missing(self, group: str) -> int:
        """The number of members that still must get a node."""
        ...

    def record(self, group: str) -> LeafRecord:
        """The record of the group and its members."""
        ...


def is_root(group: str) -> bool:
    """Whether this names a hierarchy, not a PodGroup."""
    return group.startswith(COMPOSITE_PREFIX)


def topology_of(constraints: SchedulingConstraints | None) -> Topology | None:
    """Where all pods have to be together, in the domain that kube-scheduler would choose; None for anywhere.

    The API lets a group have one constraint. If there are more, the first one counts, as in kube-scheduler.
    """
    if constraints is None or not constraints.topology:
        return None
    return Topology((constraints.topology[0].key,), 1, Favour.PLACEMENT_SCORE)


@dataclass(slots=True, eq=False)
class CompositeRecord:
    """The record of one CompositePodGroup.

    Attributes:
        group: the object as last seen; None as long as only its parts name it.
        parts: the names of the groups that name it as their parent.
        was_unfit: whether members of its hierarchy did not fit in an attempt, and none has arrived since.
    """

    group: CompositePodGroup | None = None
    parts: set[str] = field(default_factory=set)
    was_unfit: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return self.group is None and not self.parts


@dataclass(slots=True)
class _Derived:
    """Answers about one group that hold until an object of a hierarchy changes; None for those not computed yet.

    Attributes:
        ready: whether it can be tried, of PodGroups and roots: what is in between changes with them.
        root: of a PodGroup the hierarchy that it is in; "" for one with a gap.
        in_order: the parts of a CompositePodGroup.
        parts_ready: how many parts of a CompositePodGroup can be tried, and the first that cannot.
    """

    ready: bool | None = None
    root: str | None = None
    in_order: Sequence[str] | None = None
    parts_ready: tuple[int, str | None] | None = None


class Hierarchy:
    """All hierarchies. A CompositePodGroup is named `CompositePodGroup/<namespace>/<name>` here."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves
        self._records: defaultdict[str, CompositeRecord] = defaultdict(CompositeRecord)
        self._parent_of: dict[str, str] = {}
        self._derived: defaultdict[str, _Derived] = defaultdict(_Derived)

    # What the watches saw.

    def follow_composite(self, key: str, new: CompositePodGroup | None) -> None:
        """A CompositePodGroup, `namespace/name`, came, changed or went."""
        name = COMPOSITE_PREFIX + key
        record = self._records[name]
        record.group = new
        record.was_unfit &= new is not None
        self._follow(name, None if new is None else new.spec.parent_composite_pod_group_name)

    def follow_leaf(self, group: str, new: NativePodGroup | None) -> None:
        """A PodGroup came, changed or went."""
        parent = None if new is None else new.spec.parent_composite_pod_group_name
        if parent is not None or group in self._parent_of:
            self._follow(group, parent)

    def _follow(self, name: str, parent: str | None) -> None:
        before = self._parent_of.pop(name, None)
        if before is not None:
            self._records[before].parts.discard(name)
        if parent is not None:
            namespace = name.removeprefix(COMPOSITE_PREFIX).partition("/")[0]
            after = self._parent_of[name] = f"{COMPOSITE_PREFIX}{namespace}/{parent}"
            self._records[after].parts.add(name)
        for each in {name, before or name}:
            if each in self._records and self._records[each].is_empty:
                del self._records[each]
        self._derived.clear()

    def members_changed(self, group: str) -> None:
        """A PodGroup may have more or fewer members than before."""
        if group in self._parent_of and self._derived[group].ready is not self._find_ready(group):
            self._derived[group].ready = None
            for above in self.above(group):
                self._derived[above].ready = self._derived[above].parts_ready = None

    # What they are.

    def record(self, name: str) -> CompositeRecord:
        """The record of a CompositePodGroup; an empty one, which is not stored, if neither it nor a part exists."""
        return self._records.get(name) or CompositeRecord()

    def get(self, name: str) -> CompositePodGroup | None:
        """The CompositePodGroup as last seen."""
        found = self._records.get(name)
        return None if found is None else found.group

    def is_part(self, group: str) -> bool:
        """Whether a PodGroup is a part of a CompositePodGroup, be it one that does not exist."""
        return group in self._parent_of

    def above(self, group: str) -> Iterator[str]:
        """The CompositePodGroups that a group is in, the innermost first, as far as they are named."""
        name = group
        for _ in range(_MAX_DEPTH):
            above = self._parent_of.get(name)
            if above is None:
                return
            yield above
            name = above

    def known_above(self, group: str) -> Iterator[tuple[str, CompositePodGroup]]:
        """The CompositePodGroups that a group is in, the innermost first, up to the first gap."""
        for name in self.above(group):
            found = self.get(name)
            if found is None:
                return
            yield name, found

    def root_of(self, group: str) -> str | None:
        """The hierarchy that a PodGroup is in; None for one that is in none, or in one with a gap."""
        if group not in self._parent_of:
            return None
        derived = self._derived[group]
        if derived.root is None:
            above = [*self.above(group)]
            derived.root = above[-1] if self.gap(group) is None else ""
        return derived.root or None

    def whole(self, group: str) -> str:
        """The group that this one is decided with: the hierarchy that it is in, else itself."""
        return self.root_of(group) or group

    def gap(self, group: str) -> str | None:
        """Why a PodGroup that is a part has no hierarchy, for people; None when it has one."""
        above = [*self.above(group)]
        for name in above:
            if self.get(name) is None:
                return messages.composite_missing(_name(name))
        return messages.too_deep(_name(group)) if len(above) >= _MAX_DEPTH else None

    def leaves(self, name: str) -> Iterator[str]:
        """The PodGroups in a CompositePodGroup, each once, also where it is a part of itself; of a PodGroup, itself."""
        left = [name]
        while left:
            each = left.pop()
            if is_root(each):
                left += reversed(self._parts_below(each, name))
            else:
                yield each

    def falling_with(self, group: str) -> list[str]:
        """The other PodGroups that cannot go on when this one cannot.

        They are those of the widest CompositePodGroup that has too few parts left, or is disrupted as a whole.
        """
        part, goes_on = group, False
        widest: str | None = None
        for name, composite in self.known_above(group):
            if not goes_on:
                left = sum(self._runs(each, name) for each in self._parts_below(name, part))
                goes_on = left >= composite.spec.min_group_count
            if not goes_on or composite.spec.disrupted_together:
                widest, goes_on = name, False
            part = name
        return [] if widest is None else [leaf for leaf in self.leaves(widest) if leaf != group]

    def _runs(self, name: str, above: str) -> bool:
        """Whether a group has what it needs, below one that asks."""
        if not is_root(name):
            return self._leaves.missing(name) <= 0
        running = sum(self._runs(part, above) for part in self._parts_below(name, above))
        return running >= self._spec(name).min_group_count

    def _parts_below(self, name: str, above: str) -> Sequence[str]:
        """The parts of a group but one: each has one parent, so a circle leads back to where one began, or nowhere."""
        return [part for part in self._parts_of(name) if part != above]

    def lack(self, name: str) -> str:
        """The reason why a group is not ready, for users; the deepest reason of its first part that is not."""
        if not is_root(name):
            group = self._leaves.get(name)
            needed = 1 if group is None else group.spec.min_count
            return messages.lacks_members(_name(name), self._leaves.record(name).existing, needed)
        derived = self._derived[name]
        if derived.parts_ready is None:  # every pod that is kept out asks
            readiness = {part: self.is_ready(part) for part in self._parts_of(name)}
            first = next((part for part, ready in readiness.items() if not ready), None)
            derived.parts_ready = sum(readiness.values()), first
        ready, unready = derived.parts_ready
        text = messages.lacks_parts(_name(name), ready, self._spec(name).min_group_count)
        return text if unready is None else f"{text}; {self.lack(unready)}"

    def tree_of(self, name: str) -> Part | None:
        """A hierarchy as the engine decides about it; None for a PodGroup."""
        return self.tree(name) if self.get(name) is not None else None

    def tree(self, name: str) -> Part:
        """A group as the engine decides about it."""
        if not is_root(name):
            group = self._leaves.get(name)
            constraints = None if group is None else group.spec.scheduling_constraints
            holding = [*self._leaves.record(name).placed_pods()]
            return Part(name, self._leaves.missing(name), holding, topology_of(constraints))
        spec = self._spec(name)
        parts = [self.tree(part) for part in self._parts_of(name)]
        holding = [pod for part in parts for pod in part.holding]
        return Part(name, spec.min_group_count, holding, topology_of(spec.scheduling_constraints), parts)

    def least(self, name: str) -> int:
        """At least so many members must get a node for a group to start: `Part.least`, asked with each event."""
        if not is_root(name):
            return max(0, self._leaves.missing(name))
        needed = self._spec(name).min_group_count
        lacking = sorted(self.least(part) for part in self._parts_of(name))
        return sum(lacking[:needed]) if len(lacking) >= needed else IMPOSSIBLE

    def is_ready(self, name: str) -> bool:
        """Whether enough pods and groups of a group exist that it can be tried."""
        if is_root(name) and name in self._parent_of:
            return self._find_ready(name)
        derived = self._derived[name]
        if derived.ready is None:
            derived.ready = self._find_ready(name)
        return derived.ready

    def _find_ready(self, name: str) -> bool:
        if not is_root(name):
            group = self._leaves.get(name)
            return group is not None and self._leaves.record(name).existing >= group.spec.min_count
        record = self.record(name)
        if record.group is None:
            return False
        return sum(self.is_ready(part) for part in record.parts) >= record.group.spec.min_group_count

    def _parts_of(self, name: str) -> Sequence[str]:
        """In kube-scheduler's order: the oldest first, then by name."""

        def place(part: str) -> tuple[str, str]:
            found = self.get(part) if is_root(part) else self._leaves.get(part)
            return (found.metadata.creation_timestamp or "" if found is not None else "", part.rpartition("/")[2])

        derived = self._derived[name]
        if derived.in_order is None:
            known = (part for part in self.record(name).parts if not is_root(part) or self.get(part) is not None)
            derived.in_order = sorted(known, key=place)
        return derived.in_order

    def _spec(self, name: str) -> CompositePodGroupSpec:
        """The spec of a CompositePodGroup that exists."""
        found = self.get(name)
        assert found is not None
        return found.spec


def _name(name: str) -> str:
    return name.rpartition("/")[2]
