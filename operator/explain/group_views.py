"""Groups of all kinds as users see them, with their members and their places among the waiting groups.

A pure function of the API's objects. The tables and watches of `muster groups`, the place that `muster why` prints,
and the pages of `muster web` start from it, so that they agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from muster.framework.contract import COMPOSITE_PREFIX, GroupId, GroupKind, GroupView, WatchedKind
from muster.framework.groups.holds import HOLD, GroupHolds, hold_in, hold_text
from muster.framework.model.pod import POD_SCHEDULED, WAITING_ON_PERMIT, Pod, PodCondition
from muster.operator.podgroups.membership import GroupKinds

GroupObjects = Mapping[WatchedKind, Iterable[Any]]
"""The groups that were read, and the composites of groups, by kind."""


def group_views(kinds: GroupKinds, objects: GroupObjects, pods: Iterable[Pod]) -> list[GroupView]:
    """The views of all groups: the waiting ones in the order in which they are tried, then the others.

    Held groups are among the others. A group that is partly bound comes first, then the priority of its most important
    member counts, then its age. A tree of groups is tried as one, with the best rank of its parts; if its
    composites are not among the `objects`, only groups with the same parent are known as one tree.
    """
    kinds = kinds.among(objects)
    members: defaultdict[GroupId, list[Pod]] = defaultdict(list)
    for pod in pods:
        group = kinds.named_by(pod)
        if group is not None:
            members[group].append(pod)
    found: list[GroupView] = []
    tree_of: dict[GroupId, str | None] = {}
    for kind in kinds:
        for key, root in roots(kind, objects).items():
            tree_of[GroupId(kind.plugin, key)] = root
        holds = _holds(kind, objects)
        for each in objects.get(kind.objects, ()):
            key = each.metadata.key
            found.append(view_of(kind, each, members[GroupId(kind.plugin, key)], held=holds.text(key)))
    return _in_order(found, tree_of)


def view_of(kind: GroupKind[Any], group: Any, members: Iterable[Pod], *, held: str | None = None) -> GroupView:
    """The view of a group, without a place. `held` is the message about a hold of the group or of a composite."""
    named = sorted(members, key=lambda pod: pod.metadata.name)
    own = hold_in(group.annotations) if HOLD in kind.annotations else None
    return GroupView(
        kind,
        group.metadata,
        kind.needed(group),
        kind.status(group, named),
        named,
        parent=kind.parent(group),
        held=held or ("" if own is None else hold_text(group.metadata.key, own)),
    )


def decided_with(kind: GroupKind[Any], objects: GroupObjects, group: str) -> set[str]:
    """The groups that are decided together with this one, itself included: the parts of its outermost composite."""
    found = roots(kind, objects)
    own = found.get(group)
    return {group} if own is None else {key for key, root in found.items() if root == own}


def roots(kind: GroupKind[Any], objects: GroupObjects) -> dict[str, str | None]:
    """The outermost known composite of each group; None for a group without one."""
    return {key: found[-1] if found else None for key, found in above(kind, objects).items()}


def above(kind: GroupKind[Any], objects: GroupObjects) -> dict[str, list[str]]:
    """The known composites that each group is part of, the innermost first."""
    composites = () if kind.composites is None else objects.get(kind.composites, ())
    parents = {each.metadata.key: kind.parent(each) for each in composites}

    def of(group: Any) -> list[str]:
        found: list[str] = []
        parent = kind.parent(group)
        while parent and len(found) <= len(parents):
            found.append(f"{group.metadata.namespace}/{parent}")
            parent = parents.get(found[-1], "")
        return found

    return {each.metadata.key: of(each) for each in objects.get(kind.objects, ())}


def _holds(kind: GroupKind[Any], objects: GroupObjects) -> GroupHolds:
    """The holds of the groups, and of the composites that they are in; none for a kind without holds."""
    over = above(kind, objects)
    holds = GroupHolds(lambda group: (f"{COMPOSITE_PREFIX}{each}" for each in over.get(group, ())))
    if HOLD not in kind.annotations:
        return holds
    for group in objects.get(kind.objects, ()):
        holds.follow(group.metadata.key, group.annotations)
    for composite in objects.get(kind.composites, ()) if kind.composites is not None else ():
        holds.follow(f"{COMPOSITE_PREFIX}{composite.metadata.key}", composite.annotations)
    return holds


def scheduling_message(pod: Pod) -> str:
    """The message of the pod's condition."""
    return _scheduled(pod).message


def permit_message(pod: Pod) -> str:
    """The message of the condition of a pod that waits at Permit; "" for any other."""
    condition = _scheduled(pod)
    return condition.message if condition.reason == WAITING_ON_PERMIT and not pod.spec.node_name else ""


def _scheduled(pod: Pod) -> PodCondition:
    return pod.status.condition(POD_SCHEDULED) or PodCondition()


def _in_order(found: Iterable[GroupView], tree_of: Mapping[GroupId, str | None]) -> list[GroupView]:
    waiting: defaultdict[tuple[str, str, bool], list[tuple[_Rank, GroupView]]] = defaultdict(list)
    others: list[GroupView] = []
    for group in found:
        rank = _rank(group)
        if rank is None:
            others.append(group)
            continue
        tree = tree_of[group.id]
        waiting[group.kind.plugin, tree or group.key, tree is not None].append((rank, group))
    placed: list[GroupView] = []
    for together in sorted((sorted(each, key=_first) for each in waiting.values()), key=lambda each: each[0][0]):
        place = len(placed) + 1
        placed += [replace(group, place=place) for _, group in together]
    return [*placed, *others]


_Rank = tuple[bool, int, str, str, str]
"""The sort key of a waiting group."""


def _rank(group: GroupView) -> _Rank | None:
    """The sort key of a group; None if it has its quorum, has no member, or is held."""
    bound = group.placed
    if group.held or not group.members or bound >= group.needed:
        return None
    return not bound, -group.priority, group.metadata.creation_timestamp or "", group.key, group.kind.plugin


def _first(pair: tuple[_Rank, GroupView]) -> _Rank:
    return pair[0]
