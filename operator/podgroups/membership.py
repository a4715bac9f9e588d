"""The group that a pod belongs to, of any kind, by the plugins' `GroupKind`s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muster.framework.contract import GroupId, GroupKind, JoiningPod, WatchedKind
from muster.framework.groups.owners import GroupOwner, group_owner, pod_owner


class GroupKinds:
    """The kinds of groups that the plugins know. A pod belongs to the first kind that names a group for it."""

    def __init__(self, kinds: Iterable[GroupKind[Any]], of_owner: Mapping[GroupOwner, GroupId] = {}) -> None:
        """`of_owner` has the groups whose members are all pods of an owner."""
        self._kinds = tuple(kinds)
        self._of_owner = of_owner
        self._by_plugin = {kind.plugin: kind for kind in self._kinds}

    def __iter__(self) -> Iterator[GroupKind[Any]]:
        return iter(self._kinds)

    def of(self, group: GroupId) -> GroupKind[Any]:
        """The group's kind. Raises KeyError for a plugin without a kind."""
        return self._by_plugin[group.plugin]

    def among(self, objects: Mapping[WatchedKind, Iterable[Any]]) -> GroupKinds:
        """These kinds, with the groups among the objects to which pods belong by their owner."""
        of_owner: dict[GroupOwner, GroupId] = {}
        for kind in self._kinds:
            for group in objects.get(kind.objects, ()):
                owner = group_owner(group.metadata)
                if owner is not None:
                    of_owner.setdefault(owner, GroupId(kind.plugin, group.metadata.key))
        return GroupKinds(self._kinds, of_owner)

    def named_by(self, pod: JoiningPod) -> GroupId | None:
        """The group that the pod names, or that its workload controls; None for a pod without a group."""
        for kind in self._kinds:
            key = kind.named_by(pod)
            if key is not None:
                return GroupId(kind.plugin, key)
        owner = pod_owner(pod) if self._of_owner else None
        return None if owner is None else self._of_owner.get(owner)

    def key_of(self, pod: JoiningPod) -> str:
        """`namespace/name` of the pod's group; "" for a pod without a group."""
        group = self.named_by(pod)
        return "" if group is None else group.key

    def kind_of(self, watched: WatchedKind) -> GroupKind[Any] | None:
        """The kind whose groups are these objects; None if there is none."""
        return next((kind for kind in self._kinds if kind.objects == watched), None)

    def named(self, word: str) -> list[GroupKind[Any]]:
        """The kinds that a word names, as in kubectl; all kinds for ""."""
        return [kind for kind in self if not word or word in (*kind.short_names, *_names(kind.objects))]

    def of_composites(self, word: str) -> list[GroupKind[Any]]:
        """The kinds whose composites the word names."""
        return [kind for kind in self if kind.composites is not None and word in _names(kind.composites)]

    @property
    def watched(self) -> tuple[WatchedKind, ...]:
        """The kinds of objects to watch: groups and composites of groups."""
        found = (each for kind in self._kinds for each in (kind.objects, kind.composites))
        return tuple(dict.fromkeys(each for each in found if each is not None))


def _names(watched: WatchedKind) -> Iterator[str]:
    """The names that kubectl accepts: `podgroup`, `podgroups`, and either followed by the API group."""
    for name in (watched.name.lower(), watched.plural):
        yield from (name, f"{name}.{watched.group}")
