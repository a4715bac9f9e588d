"""Pods by their owner, for groups whose members no label names (see `owners`).

A pod may be seen before the group of its owner, and outlive it. When such a group comes or goes, the pods of its owner
therefore join or leave it: `GangPlugin` asks here which pods these are. Only a plugin that plans groups of owners feeds
this (`WorkloadGroupPlugin`); without one, owners have no groups, and nothing is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ..model.pod_info import PodInfo
from .book import GroupBook
from .owners import GroupOwner, controller_of, group_owner, pod_owner
from .record import GroupObject

OWNED_PODS = "groups/owned-pods"
"""`Handle.shared(OWNED_PODS, OwnedPods)`: one object for the plugins of all profiles."""


class OwnedGroup(NamedTuple):
    """The group of an owner: the number of pods that it needs, and the UID of the object that controls it.

    The group of a deleted owner outlives it for a moment, in which an owner of the same name may exist already.
    """

    needed: int
    controller_uid: str


class OwnedPods:
    """The pods of each owner, and the books in which their groups may be."""

    def __init__(self) -> None:
        self._pods: defaultdict[GroupOwner, dict[str, PodInfo]] = defaultdict(dict)
        self._books: dict[str, GroupBook[Any, Any]] = {}
        self._is_fed = False

    def begin(self) -> None:
        """From now on owners have groups, and `follow_pod` is called with every pod."""
        self._is_fed = True

    def add_book(self, plugin: str, book: GroupBook[Any, Any]) -> None:
        """The groups of a plugin count here, too."""
        self._books[plugin] = book

    def follow_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended was added, changed or removed."""
        left = None if old is None else pod_owner(old.pod)
        owner = None if new is None else pod_owner(new.pod)
        if old is not None and left is not None and left in self._pods:
            pods = self._pods[left]
            pods.pop(old.uid, None)
            if not pods and left != owner:
                del self._pods[left]
        if new is not None and owner is not None:
            self._pods[owner][new.uid] = new

    def follow_group(
        self, book: GroupBook[Any, Any], known: GroupObject | None, new: GroupObject | None
    ) -> Sequence[PodInfo]:
        """A group of the book has another object, or none (None). The pods that join it, or leave it to another group.

        The pods of a deleted group are not among them: as with pods that name a group, it is enough to retry them.
        """
        if not self._is_fed:
            return ()
        before, after = (None if group is None else group_owner(group.metadata) for group in (known, new))
        if before == after:
            return ()
        if before is not None and known is not None:
            book.members.disown(before, known.metadata.key)
        if after is not None and new is not None:
            book.members.own(after, new.metadata.key)
        if new is None:
            return ()
        return [pod for owner in (before, after) if owner is not None for pod in self.pods(owner)]

    def pods(self, owner: GroupOwner) -> Collection[PodInfo]:
        """The owner's pods that have not ended."""
        return self._pods[owner].values() if owner in self._pods else ()

    def owners(self) -> Iterable[GroupOwner]:
        """The owners that have pods."""
        return tuple(self._pods)

    def group(self, owner: GroupOwner) -> OwnedGroup | None:
        """The owner's group; None while there is none."""
        for book in self._books.values():
            key = book.members.group_of_owner(owner)
            found = None if key is None else book.get(key)
            controller = None if found is None else controller_of(found.metadata)
            if key is not None and controller is not None:
                return OwnedGroup(book.quorum(key), controller.uid)
        return None
