"""The register: where every pod waits, by its UID, and which entry is a group's.

The waitlist keeps it up to date with every move; lookups and counts are read off it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ..contract.observer import EntityType
from .entry import Entry, Member
from .gates import GatedPod


class Register:
    """Waiting pods and groups.

    Attributes:
        at: the entry or gate that each pod waits in or at, by UID.
        groups: the one entry of each group that has one.
    """

    __slots__ = ("at", "groups")

    def __init__(self) -> None:
        self.at: dict[str, Entry | GatedPod] = {}
        self.groups: dict[str, Entry] = {}

    def __iter__(self) -> Iterator[tuple[Member, Entry | GatedPod]]:
        """Every pod with where it waits."""
        return ((self.member(uid), at) for uid, at in self.at.items())

    def member(self, uid: str) -> Member:
        """The pod.

        Raises KeyError when it does not wait.
        """
        at = self.at[uid]
        return at.members[uid] if isinstance(at, Entry) else at.member

    def get(self, uid: str) -> Member | None:
        """The pod, if it waits."""
        return self.member(uid) if uid in self.at else None

    def of_group(self, group: str | None) -> Entry | None:
        """The group's entry, if it has one; None is no group."""
        return None if group is None else self.groups.get(group)

    def add(self, entry: Entry, uids: Iterable[str] | None = None) -> None:
        """These pods wait in the entry from now on; all of its pods unless told."""
        for uid in entry.members if uids is None else uids:
            self.at[uid] = entry
        if entry.group is not None:
            self.groups[entry.group] = entry

    def remove(self, entry: Entry) -> None:
        """The entry and its pods wait no more."""
        for uid in entry.members:
            del self.at[uid]
        self.remove_group(entry)

    def remove_group(self, entry: Entry) -> None:
        """The entry has no pods left."""
        if entry.group is not None:
            del self.groups[entry.group]

    def count_pods(self, entries: Mapping[str, int]) -> dict[str, int]:
        """Pods by part, given the number of entries in each. Walks the groups, not the pods."""
        pods = Counter(entries)
        for entry in self.groups.values():
            pods[entry.place.queue] += len(entry.members) - 1
        return dict(pods)

    def count_entities(self, entries: Mapping[str, int]) -> dict[tuple[str, EntityType], int]:
        """Entries by part and kind, given the number of entries in each part."""
        groups = Counter(entry.place.queue for entry in self.groups.values())
        counts: dict[tuple[str, EntityType], int] = {}
        for queue, count in entries.items():
            counts[queue, "pod"] = count - groups[queue]
            counts[queue, "podgroup"] = groups[queue]
        return counts
