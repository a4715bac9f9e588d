"""Subjects of plugins' calls, and how log lines name them: pod="ns/a", podGroup="ns/train", persistentVolume="data".

`PluginCalls` notes the subject of each call in the `CallWatch`. Log lines about a call name its subject by `pair_of`,
in a field of its kind as kube-scheduler does. A subject is made for each call, so it computes no text before a line is
logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..contract.group_tree import COMPOSITE_PREFIX
from ..model.pod_info import PodInfo


class Subject(Protocol):
    """The subject of a call: a pod, or whatever else has a key."""

    @property
    def key(self) -> str:
        """The subject's name, for users."""
        ...


class AllSubject(NamedTuple):
    """All things of a kind, by the plural that names them."""

    field: str

    @property
    def key(self) -> str:
        """Which of them."""
        return "all"


class NamespaceSubject(NamedTuple):
    """A namespace, by its name."""

    key: str

    @property
    def field(self) -> str:
        """The field that has its key."""
        return "namespace"


class GroupSubject(NamedTuple):
    """A group, or a group of groups, by its id as its plugin's `group_of` names it."""

    id: str

    @property
    def field(self) -> str:
        """The field that has its key."""
        return "compositePodGroup" if self.id.startswith(COMPOSITE_PREFIX) else "podGroup"

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.id.removeprefix(COMPOSITE_PREFIX)


class MembersSubject(NamedTuple):
    """The waiting members of a group, one or more."""

    group: GroupSubject
    pods: Sequence[PodInfo]

    @property
    def field(self) -> str:
        """The field that has its key."""
        return self.group.field

    @property
    def key(self) -> str:
        """The group's."""
        return self.group.key


class ObjectSubject(NamedTuple):
    """An object of a kind that plugins watch, by the `kind` of such objects."""

    kind: str
    object: Any

    @property
    def field(self) -> str:
        """The field that has its key: the kind, which begins with a small letter unless it begins with an acronym."""
        acronym = self.kind[:2].isupper()
        return self.kind if acronym else f"{self.kind[:1].lower()}{self.kind[1:]}"

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone of what has no namespace."""
        key: str = self.object.metadata.key
        return key


ALL_GROUPS, ALL_NODES, ALL_TENANTS = AllSubject("podGroups"), AllSubject("nodes"), AllSubject("tenants")


def pods_of(about: Subject) -> Sequence[PodInfo]:
    """The pods that a call is about; none if it is about something else."""
    if isinstance(about, PodInfo):
        return (about,)
    return about.pods if isinstance(about, MembersSubject) else ()


def pair_of(about: Subject) -> dict[str, str]:
    """The subject as a pair for a log line."""
    if isinstance(about, AllSubject | GroupSubject | MembersSubject | ObjectSubject):
        return {about.field: about.key}
    return {"pod": about.key}
