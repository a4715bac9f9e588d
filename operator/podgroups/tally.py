"""How many members each group has, in which phase, and who owns them: kept up to date change by change."""

from __future__ import annotations

from collections import Counter

from muster.plugins.coscheduling.phases import Counts

from .pods import Member

_MOST_OWNERS = 16
"""Usually there is one. A status is not the place for a list of thousands."""

_NONE = Counts()


class Tally:
    """The members of all groups, by `namespace/name` of the group."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}

    def add(self, member: Member) -> None:
        """A member came."""
        self._groups.setdefault(member.group, _Group()).change(member, +1)

    def remove(self, member: Member) -> None:
        """A member that was added went."""
        group = self._groups[member.group]
        group.change(member, -1)
        if not group.pods:
            del self._groups[member.group]

    def counts(self, group: str) -> Counts:
        """The members in numbers."""
        found = self._groups.get(group)
        return found.counts() if found is not None else _NONE

    def owners(self, group: str) -> str:
        """The owners of members that have not ended, sorted and joined by commas; of very many the first."""
        found = self._groups.get(group)
        return ",".join(sorted(found.owners)[:_MOST_OWNERS]) if found is not None else ""


class _Group:
    __slots__ = ("owners", "phases", "pods", "scheduled")

    def __init__(self) -> None:
        self.pods = 0
        self.scheduled = 0
        self.phases: Counter[str] = Counter()
        self.owners: dict[str, int] = {}

    def change(self, member: Member, by: int) -> None:
        self.pods += by
        self.scheduled += by * member.scheduled
        self.phases[member.phase] += by
        for owner in member.owners:
            count = self.owners.get(owner, 0) + by
            if count:
                self.owners[owner] = count
            else:
                del self.owners[owner]

    def counts(self) -> Counts:
        phases = self.phases
        return Counts(
            pods=self.pods,
            scheduled=self.scheduled,
            running=phases["Running"],
            succeeded=phases["Succeeded"],
            failed=phases["Failed"],
        )
