"""Guarded calls of a `GroupPlugin`.

The queue, `GroupScheduler` and the nominator make them. An answer has the type and the range that the contract names,
or Failed is raised with an ERROR that names the plugin and the method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ..contract.group import GroupPlugin
from ..contract.group_tree import EntityGroup, Part, Shortage, entity_group
from ..contract.status import Status
from ..contract.topology import Favour, NoDomain, Topology
from ..model.pod_info import PodInfo
from . import points
from .answers import Failed, all_of, boolean, int32, of_type, rejection, text
from .plugin_calls import PluginCalls
from .points import Point
from .subjects import GroupSubject

T = TypeVar("T")
_MOST_LEVELS = 64
"""A deeper tree of groups must contain itself."""


class GroupCalls:
    """The calls of one group plugin. Each method calls `GroupPlugin`'s of the same name; raises Failed if it breaks.

    Unless groups are `placed_by_score`, those that favour the placement score have no topology.

    Attributes:
        name: the plugin's.
        terse: see `GroupPlugin.terse`.
        fails_as_one: see `GroupPlugin.fails_as_one`.
    """

    def __init__(self, plugin: GroupPlugin, calls: PluginCalls, *, placed_by_score: bool) -> None:
        self.name = plugin.name
        self.terse = plugin.terse
        self.fails_as_one = plugin.fails_as_one
        self._plugin = plugin
        self._calls = calls
        self._placed_by_score = placed_by_score

    def priority(self, group: str) -> int | None:
        """The priority that the group queues with; None for that of its pods."""
        return self._of(group, points.PRIORITY, _int32_or_none, self._plugin.priority, group)

    def missing(self, group: str) -> int:
        """The number of members that still must get a node."""
        return self._of(group, points.MISSING, int32, self._plugin.missing, group)

    def fault(self, group: str) -> str | None:
        """The reason why the group's pods cannot be one group."""
        return self._of(group, points.FAULT, _text_or_none, self._plugin.fault, group)

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The message for members when too few of them fit."""
        return self._of(
            group,
            points.REJECT_GROUP,
            rejection,
            lambda: self._plugin.reject_group(group, cause, placed=placed, missing=missing, no_domain=no_domain),
        )

    def reject_trial(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The message for users who ask, about a trial without the pods that may be evicted."""
        return self._of(
            group,
            points.REJECT_TRIAL,
            rejection,
            lambda: self._plugin.reject_trial(group, cause, placed=placed, missing=missing, no_domain=no_domain),
        )

    def topology(self, group: str) -> Topology | None:
        """Where members have to be together."""
        topology = self._of(group, points.TOPOLOGY, _topology, self._plugin.topology, group)
        return topology if self._placed_by_score else _unless_by_score(topology)

    def placed_members(self, group: str) -> Sequence[PodInfo]:
        """Members that have a node."""
        return self._of(group, points.PLACED_MEMBERS, _pods, self._plugin.placed_members, group)

    def reject_member(self, pod: PodInfo, status: Status, own: Status | None, *, placed: bool) -> Status:
        """The message for one member, `pod`, when its group is rejected; if the plugin breaks, the ERROR."""
        method = self._plugin.reject_member
        try:
            return self._calls.ask(
                points.REJECT_MEMBER, self._plugin, pod, lambda: method(status, own, placed=placed), sound=rejection
            )
        except Failed as failed:
            return failed.status

    def tree(self, group: str) -> Part | None:
        """The groups that the group consists of."""
        tree = self._of(group, points.TREE, _tree, self._plugin.tree, group)
        return tree if self._placed_by_score or tree is None else _unless_parts_by_score(tree)

    def part_of(self, pod: PodInfo) -> str:
        """The key of the leaf that the pod is a member of."""
        return self._calls.ask(points.PART_OF, self._plugin, pod, self._plugin.part_of, pod, sound=text)

    def reject_part(self, part: Part, cause: Shortage | Status | None) -> Status:
        """The message for a part that did not fit."""
        return self._of(part.key, points.REJECT_PART, rejection, self._plugin.reject_part, part, cause)

    def preemption_priority(self, group: str, waiting: Sequence[PodInfo]) -> int:
        """The priority below which the group may evict pods."""
        method = self._plugin.preemption_priority
        return self._of(group, points.PREEMPTION_PRIORITY, int32, method, group, waiting)

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        """Whether the group may evict pods."""
        return self._of(group, points.MAY_PREEMPT, boolean, self._plugin.may_preempt, group, waiting)

    def preempts_as(self, pod: PodInfo) -> str | None:
        """The group as which the pod preempts, also beyond the quorum."""
        method = self._plugin.preempts_as
        return self._calls.ask(points.PREEMPTS_AS, self._plugin, pod, method, pod, sound=_text_or_none)

    def uid(self, group: str) -> str:
        """The UID of the group's object."""
        return self._of(group, points.UID, text, self._plugin.uid, group)

    def log_failure(self, point: Point, group: str, status: Status) -> None:
        """Log an ERROR of the plugin at a point where it fails no pod."""
        self._calls.log_failure(point, self._plugin, GroupSubject(group), status)

    def _of(self, group: str, point: Point, sound: Callable[[Any], T], method: Callable[..., Any], *args: Any) -> T:
        return self._calls.ask(point, self._plugin, GroupSubject(group), method, *args, sound=sound)


class ProfileGroups:
    """The groups of one profile's pods, by the plugins that know them.

    Methods raise Failed when a plugin breaks, unless they say otherwise.
    """

    def __init__(self, plugins: Sequence[GroupPlugin], calls: PluginCalls, *, placed_by_score: bool) -> None:
        self._plugins = plugins
        self._calls = calls
        self._by_name = {plugin.name: GroupCalls(plugin, calls, placed_by_score=placed_by_score) for plugin in plugins}

    def of(self, pod: PodInfo) -> EntityGroup | None:
        """The group that `pod` is to be tried with: of the first plugin that claims it."""
        claimed = self._claimed(pod)
        return None if claimed is None else entity_group(claimed[0].name, claimed[1])

    def priority(self, pod: PodInfo) -> int | None:
        """The priority that the group of `pod` queues with; None for the pod's own."""
        claimed = self._claimed(pod)
        return None if claimed is None else claimed[0].priority(claimed[1])

    def preemption_priority(self, pod: PodInfo) -> int:
        """The priority below which pods may be evicted for `pod`: that of the group it is tried with, or its own."""
        claimed = self._claimed(pod)
        return pod.priority if claimed is None else claimed[0].preemption_priority(claimed[1], (pod,))

    def preempting(self, pod: PodInfo) -> tuple[GroupCalls, str] | None:
        """The group as which `pod` preempts, also beyond the quorum, and its plugin; None for a pod by itself."""
        for calls in self._by_name.values():
            group = calls.preempts_as(pod)
            if group is not None:
                return calls, group
        return None

    def preempts_as_group(self, pod: PodInfo) -> bool:
        """Whether `pod` preempts as its group; not if a plugin fails."""
        try:
            return self.preempting(pod) is not None
        except Failed:
            return False

    def named(self, key: str) -> tuple[GroupCalls, str]:
        """The plugin that named a group, and the group's id. Raises KeyError for a key that `of` never gave."""
        name, _, group = key.partition("/")
        return self._by_name[name], group

    def _claimed(self, pod: PodInfo) -> tuple[GroupCalls, str] | None:
        """The first plugin that claims the pod, and the id of its group."""
        for plugin in self._plugins:
            group = self._calls.ask(points.GROUP_OF, plugin, pod, plugin.group_of, pod, sound=_text_or_none)
            if group is not None:
                return self._by_name[plugin.name], group
        return None


def _text_or_none(answer: object) -> str | None:
    return answer if answer is None or isinstance(answer, str) else text(answer)


def _int32_or_none(answer: object) -> int | None:
    return None if answer is None else int32(answer)


def _pods(answer: Any) -> Sequence[PodInfo]:
    return all_of(answer, PodInfo)


def _topology(answer: object) -> Topology | None:
    if answer is None:
        return None
    found: Topology = of_type(answer, Topology)
    all_of(of_type(found.levels, tuple), str)
    of_type(found.slice_level, str)
    of_type(found.favour, Favour)
    if not 0 <= int32(found.required) <= len(found.levels):
        raise ValueError("its topology requires more levels than it has, or fewer than none")
    if int32(found.slice_size) < 0:
        raise ValueError("its topology has slices of fewer members than none")
    return found


def _unless_by_score(topology: Topology | None) -> Topology | None:
    """The topology; None if it favours the placement score."""
    return None if topology is None or topology.favour is Favour.PLACEMENT_SCORE else topology


def _unless_parts_by_score(part: Part) -> Part:
    """The part, with the topologies in it that `_unless_by_score` keeps."""
    parts = None if part.parts is None else [_unless_parts_by_score(each) for each in part.parts]
    return replace(part, topology=_unless_by_score(part.topology), parts=parts)


def _tree(answer: object, depth: int = 0) -> Part | None:
    if answer is None and not depth:
        return None
    part: Part = of_type(answer, Part)
    if depth > _MOST_LEVELS:
        raise ValueError("its tree has a part that is among its own parts")
    text(part.key)
    int32(part.needed)
    _pods(of_type(part.placed_members, Sequence))
    _topology(part.topology)
    for each in of_type(part.parts or (), Sequence):
        _tree(each, depth + 1)
    return part
