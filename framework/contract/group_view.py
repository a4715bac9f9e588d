"""Groups as users see them, and the description of a kind of group objects that makes this possible.

A `GroupPlugin` names its `GroupKind`. `muster groups`, `why`, `explain`, `simulate` and the web pages know groups only
through it: they read its objects, ask which pods belong to which group, and show `GroupView`s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ..model.meta import ObjectMeta, OwnedMeta
from ..model.pod import Pod, PodSchedulingGroup
from .handle import WatchedKind

G = TypeVar("G")


class GroupId(NamedTuple):
    """The identity of a group: the name of the plugin that owns its kind, and its `namespace/name`."""

    plugin: str
    key: str


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The status of a group as users see it.

    Attributes:
        phase: where it is in its life, a word.
        scheduled, running, succeeded, failed: how many of its members have a node, run, or have ended.
        placed: whether its quorum has nodes, as its condition says: "True", "False", or "Unknown" without one.
        reason, message: the reason, as one word and as a sentence; "" if none is given.
        waits_since: since when it waits, as the API writes times, where its status says that.
        owners: who owns its members, as `namespace/name`, separated by commas; "" where its status does not say.
    """

    phase: str
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    placed: str = "Unknown"
    reason: str = ""
    message: str = ""
    waits_since: str | None = None
    owners: str = ""


class JoiningPod(Protocol):
    """The fields that say which group a pod is in, of a whole pod or of one that has ended."""

    @property
    def metadata(self) -> OwnedMeta:
        """The pod's namespace, labels and owners."""
        ...

    @property
    def spec(self) -> JoiningSpec:
        """The part of the spec that names a group."""
        ...


class JoiningSpec(Protocol):
    """The part of a pod's spec that names a group."""

    @property
    def scheduling_group(self) -> PodSchedulingGroup | None:
        """Kubernetes' own group. A pod with one belongs to no other group."""
        ...


class GroupKind(ABC, Generic[G]):
    """A kind of group objects. Its methods are pure.

    Attributes:
        plugin: the name of the plugin that schedules its groups.
        objects: the groups, as they are read.
        composites: the groups of groups that its groups may be parts of, if there are such.
        short_names: further names of the kind, besides `kind` and `plural`.
        tag: a word that distinguishes its groups from those of other kinds where both are shown; "" for none.
        annotations: the keys under Muster's prefix that its objects, and those of `composites`, may carry.
        fields: by part of an object, the struct that has all of the part's fields; empty where the official client
            knows the kind.
        counts_members: whether the status of its objects says how many members have nodes, run, or have ended, so that
            pods need not be read for that.
        validates: whether it has `problems`, because the API server does not check its objects by all of their rules.
    """

    plugin: str
    objects: WatchedKind
    composites: WatchedKind | None = None
    short_names: Sequence[str] = ()
    tag: str = ""
    annotations: Collection[str] = ()
    fields: Mapping[str, type[Any]] = {}
    counts_members: bool = False
    validates: bool = False

    @abstractmethod
    def named_by(self, pod: JoiningPod) -> str | None:
        """`namespace/name` of the group that the pod names; None for a pod that names none of this kind.

        The group exists or not, and has its quorum or not: `GroupPlugin.group_of` says whether a pod is tried with it.
        """

    def selectors(self, name: str) -> Sequence[str]:
        """Label selectors that find the members of the group of this name; empty if labels do not say."""
        return ()

    @abstractmethod
    def needed(self, group: G) -> int:
        """The number of members that have to get nodes at once."""

    def spec_for(self, size: int, priority_class_name: str = "") -> Mapping[str, Any] | None:
        """The `spec` of a group of so many pods, for a workload whose pods name no group.

        None if the pods of such a group always name it.
        """
        return None

    @abstractmethod
    def status(self, group: G, members: Sequence[Pod]) -> GroupStatus:
        """The status of the group. What its object does not state is counted from its members."""

    def parent(self, group: Any) -> str:
        """The name of the composite that a group, or a composite, is a part of; "" for none."""
        return ""

    def needed_parts(self, composite: Any) -> int:
        """The number of parts of a composite that have to start together."""
        raise NotImplementedError

    def annotation_faults(self, annotations: Mapping[str, str]) -> Sequence[str]:
        """The faults of known annotations whose values are ignored for that, a line for each, named by its field.

        Faults of healing policies are not among them; nor are faults that the status of the group has.
        """
        return ()

    def problems(self, document: Mapping[str, Any]) -> Sequence[str]:
        """The problems of an object in its JSON form, a line for each field, in the API server's style.

        Admission refuses such an object, and `simulate` does not begin with one.
        """
        return ()


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group with its members, by name.

    Attributes:
        kind: its kind.
        metadata: its object's.
        needed: how many members have to get nodes at once.
        status: its status as users see it.
        parent: the name of the composite that it is a part of; "" for none.
        place: its place among those that wait, from 1, which the parts of a tree share; 0 for one that has its quorum,
            or no member, or is held.
        held: why it is not started, if an operator holds it or a group above it; else "".
    """

    kind: GroupKind[Any]
    metadata: ObjectMeta
    needed: int
    status: GroupStatus
    members: Sequence[Pod]
    parent: str = ""
    place: int = 0
    held: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.metadata.key

    @property
    def id(self) -> GroupId:
        """The identity of the group."""
        return GroupId(self.kind.plugin, self.key)

    @property
    def placed(self) -> int:
        """The number of its members that have nodes."""
        return sum(1 for pod in self.members if pod.spec.node_name)

    @property
    def priority(self) -> int:
        """The priority of its most important member."""
        return max((pod.spec.priority or 0 for pod in self.members), default=0)

    @property
    def said(self) -> tuple[str, str]:
        """Why it waits, as one word and as a sentence: its hold, or else what its status says."""
        return ("Held", self.held) if self.held else (self.status.reason, self.status.message)

    @property
    def since(self) -> str | None:
        """When it began to wait, as the API writes times."""
        return self.status.waits_since or self.metadata.creation_timestamp
