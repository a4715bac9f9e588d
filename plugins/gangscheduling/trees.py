"""Trees of groups: which groups are parts of which CompositePodGroups, and whether enough of them exist to be tried.

`NativePodGroups` updates and reads them. The key of a tree is the name of its root, the CompositePodGroup that is no
part of another one; its leaves are PodGroups. A part that is held is not ready. Objects arrive in any order: a PodGroup
has no root while an object between the two is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from muster.framework.contract import COMPOSITE_PREFIX, IMPOSSIBLE, Favour, Part, PodInfo, Topology
from muster.framework.groups import GroupHolds

from . import messages
from .api import NativePodGroup, SchedulingConstraints
from .composite_api import CompositePodGroup, CompositePodGroupSpec

_MAX_DEPTH = 4
"""The levels of a tree, including its PodGroups (upstream: `WorkloadMaxTreeDepth`)."""


class LeafRecord(Protocol):
    """The requirements on the members of a PodGroup."""

    @property
    def existing(self) -> int:
        """The number of members."""
        ...

    def placed_pods(self) -> Iterator[PodInfo]:
        """Members that have a node."""
        ...


class Leaves(Protocol):
    """The requirements of PodGroups, by `namespace/name`.

    Attributes:
        holds: which groups operators hold, CompositePodGroups among them.
    """

    holds: GroupHolds

    def get(self, group: str) -> NativePodGroup | None:
        """The PodGroup as last seen."""
        ...

    def missing(self, group: str) -> int:
        """The number of members that still must get a node."""
        ...

    def record(self, group: str, /) -> LeafRecord:
        """The record of the group and its members."""
        ...


def is_composite(group: str) -> bool:
    """Whether this names a CompositePodGroup, not a PodGroup."""
    return group.startswith(COMPOSITE_PREFIX)


def topology_of(constraints: SchedulingConstraints | None) -> Topology | None:
    """The topology that the constraints ask for, with kube-scheduler's choice of the domain; None for anywhere.

    The API lets a group have one constraint. If there are more, the first one counts, as in kube-scheduler.
    """
    if constraints is None or not constraints.topology:
        return None
    return Topology((constraints.topology[0].key,), 1, Favour.PLACEMENT_SCORE)


@dataclass(slots=True, eq=False)
class CompositeRecord:
    """The record of one CompositePodGroup.

    Attributes:
        group: the object as last seen; None if only parts name it.
        parts: the names of the groups that name it as their parent.
        was_unfit: whether members in it did not fit in the last attempt, and no member has arrived since.
    """

    group: CompositePodGroup | None = None
    parts: set[str] = field(default_factory=set)
    was_unfit: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the record contains nothing."""
        return self.group is None and not self.parts


@dataclass(slots=True)
class _Derived:
    """Answers about one group that are valid until an object in a tree changes; None if not computed yet.

    Attributes:
        ready: of leaves and roots, whether they may be tried; composites in between are computed each time.
        root: of a leaf, the key of its tree; "" if the tree has a gap.
        in_order: the parts of a CompositePodGroup.
        parts_ready: how many parts of a CompositePodGroup may be tried, and the first that may not.
    """

    ready: bool | None = None
    root: str | None = None
    in_order: Sequence[str] | None = None
    parts_ready: tuple[int, str | None] | None = None


class GroupTrees:
    """All trees. A CompositePodGroup is named `CompositePodGroup/<namespace>/<name>` here."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves
        self._records: defaultdict[str, CompositeRecord] = defaultdict(CompositeRecord)
        self._parent_of: dict[str, str] = {}
        self._derived: defaultdict[str, _Derived] = defaultdict(_Derived)

    # Reports of the watches.

    def follow_composite(self, key: str, new: CompositePodGroup | None) -> None:
        """A CompositePodGroup, `namespace/name`, was added, changed or deleted."""
        name = COMPOSITE_PREFIX + key
        record = self._records[name]
        record.group = new
        record.was_unfit &= new is not None
        self._follow(name, None if new is None else new.spec.parent_composite_pod_group_name)

    def follow_leaf(self, group: str, new: NativePodGroup | None) -> None:
        """A PodGroup was added, changed or deleted."""
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
        """Members of a PodGroup were added, changed or removed: recompute readiness if it changed."""
        if group in self._parent_of and self._derived[group].ready is not self._find_ready(group):
            self._derived[group].ready = None
            for above in self.above(group):
                self._derived[above].ready = self._derived[above].parts_ready = None

    # Questions about trees.

    def record(self, name: str) -> CompositeRecord:
        """The record of a CompositePodGroup; an empty one, which is not stored, if neither it nor a part exists."""
        return self._records.get(name) or CompositeRecord()

    def get(self, name: str) -> CompositePodGroup | None:
        """The CompositePodGroup as last seen."""
        found = self._records.get(name)
        return None if found is None else found.group

    def is_part(self, group: str) -> bool:
        """Whether a PodGroup names a CompositePodGroup as its parent, which need not exist."""
        return group in self._parent_of

    def above(self, group: str) -> Iterator[str]:
        """The CompositePodGroups around a group, innermost first, whether they exist or are only named."""
        name = group
        for _ in range(_MAX_DEPTH):
            above = self._parent_of.get(name)
            if above is None:
                return
            yield above
            name = above

    def known_above(self, group: str) -> Iterator[tuple[str, CompositePodGroup]]:
        """The CompositePodGroups around a group, innermost first, up to the first that does not exist."""
        for name in self.above(group):
            found = self.get(name)
            if found is None:
                return
            yield name, found

    def root_of(self, group: str) -> str | None:
        """The key of the tree that a PodGroup is in; None for a PodGroup in no tree, or in one with a gap."""
        if group not in self._parent_of:
            return None
        derived = self._derived[group]
        if derived.root is None:
            above = [*self.above(group)]
            derived.root = above[-1] if self.why_no_root(group) is None else ""
        return derived.root or None

    def tree_key(self, group: str) -> str:
        """The key under which a group is decided: that of its tree, or its own if it has no root."""
        return self.root_of(group) or group

    def why_no_root(self, group: str) -> str | None:
        """The reason for users why a PodGroup that is a part has no root; None when it has one."""
        above = [*self.above(group)]
        for name in above:
            if self.get(name) is None:
                return messages.composite_missing(_name(name))
        return messages.too_deep(_name(group)) if len(above) >= _MAX_DEPTH else None

    def leaves(self, name: str) -> Iterator[str]:
        """The PodGroups in a group, each once, even if the group is a part of itself; for a PodGroup, itself."""
        left = [name]
        while left:
            each = left.pop()
            if is_composite(each):
                left += reversed(self._parts_below(each, name))
            else:
                yield each

    def evicted_with(self, group: str) -> list[str]:
        """The other PodGroups that cannot continue without this one.

        They are the leaves of the outermost CompositePodGroup that has too few parts left, or is disrupted as a whole.
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
        """Whether a group has the members or parts that it needs, not counting the part `above`."""
        if not is_composite(name):
            return self._leaves.missing(name) <= 0
        running = sum(self._runs(part, above) for part in self._parts_below(name, above))
        return running >= self._spec(name).min_group_count

    def _parts_below(self, name: str, above: str) -> Sequence[str]:
        """The parts of a group except `above`; a part has one parent, so skipping `above` is enough to avoid cycles."""
        return [part for part in self._parts_of(name) if part != above]

    def why_not_ready(self, name: str) -> str:
        """The reason for users why a group is not ready, with the reason of its first part that is not."""
        hold = self._leaves.holds.own(name)
        if hold is not None:
            return hold
        if not is_composite(name):
            group = self._leaves.get(name)
            needed = 1 if group is None else group.spec.min_count
            return messages.lacks_members(_name(name), self._leaves.record(name).existing, needed)
        derived = self._derived[name]
        if derived.parts_ready is None:  # cached, because PreEnqueue asks for each gated pod
            readiness = {part: self.is_ready(part) for part in self._parts_of(name)}
            first = next((part for part, ready in readiness.items() if not ready), None)
            derived.parts_ready = sum(readiness.values()), first
        ready, unready = derived.parts_ready
        text = messages.lacks_parts(_name(name), ready, self._spec(name).min_group_count)
        return text if unready is None else f"{text}; {self.why_not_ready(unready)}"

    def tree_of(self, name: str) -> Part | None:
        """The tree of a CompositePodGroup as the engine decides about it; None for a PodGroup."""
        return self.tree(name) if self.get(name) is not None else None

    def tree(self, name: str) -> Part:
        """The tree of a group, with the group on top, as the engine decides about it."""
        if not is_composite(name):
            group = self._leaves.get(name)
            constraints = None if group is None else group.spec.scheduling_constraints
            placed = [*self._leaves.record(name).placed_pods()]
            return Part(name, self._leaves.missing(name), placed, topology_of(constraints))
        spec = self._spec(name)
        parts = [self.tree(part) for part in self._parts_of(name)]
        placed = [pod for part in parts for pod in part.placed_members]
        return Part(name, spec.min_group_count, placed, topology_of(spec.scheduling_constraints), parts)

    def least(self, name: str) -> int:
        """The least number of members that must get a node for a group to start: `Part.least`, without the tree."""
        if not is_composite(name):
            return max(0, self._leaves.missing(name))
        needed = self._spec(name).min_group_count
        lacking = sorted(self.least(part) for part in self._parts_of(name))
        return sum(lacking[:needed]) if len(lacking) >= needed else IMPOSSIBLE

    def is_ready(self, name: str) -> bool:
        """Whether a group is not held, and enough members and parts of it exist for it to be tried."""
        if is_composite(name) and name in self._parent_of:
            return self._find_ready(name)
        derived = self._derived[name]
        if derived.ready is None:
            derived.ready = self._find_ready(name)
        return derived.ready

    def _find_ready(self, name: str) -> bool:
        if self._leaves.holds.own(name) is not None:
            return False
        if not is_composite(name):
            group = self._leaves.get(name)
            return group is not None and self._leaves.record(name).existing >= group.spec.min_count
        record = self.record(name)
        if record.group is None:
            return False
        return sum(self.is_ready(part) for part in record.parts) >= record.group.spec.min_group_count

    def _parts_of(self, name: str) -> Sequence[str]:
        """The parts that exist, in kube-scheduler's order: the oldest first, then by name."""

        def sort_key(part: str) -> tuple[str, str]:
            found = self.get(part) if is_composite(part) else self._leaves.get(part)
            return (found.metadata.creation_timestamp or "" if found is not None else "", part.rpartition("/")[2])

        derived = self._derived[name]
        if derived.in_order is None:
            known = (part for part in self.record(name).parts if not is_composite(part) or self.get(part) is not None)
            derived.in_order = sorted(known, key=sort_key)
        return derived.in_order

    def _spec(self, name: str) -> CompositePodGroupSpec:
        """The spec of a CompositePodGroup that exists."""
        found = self.get(name)
        assert found is not None
        return found.spec


def _name(name: str) -> str:
    return name.rpartition("/")[2]
