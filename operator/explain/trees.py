"""A CompositePodGroup as texts and JSON: its PodGroups, and what the waiting ones lack together.

`muster why compositepodgroup/NAME` calls it with a cluster that was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from muster.framework.contract import GroupKind, GroupView
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.simulate.manifests import Objects

from .group_trial import TriedGroup
from .group_views import above, group_views
from .groups import render_trial
from .layout import lines


@dataclass(frozen=True, slots=True)
class TreeReport:
    """A CompositePodGroup.

    Attributes:
        key: its `namespace/name`.
        needed: the number of parts that it needs.
        parts: the number of its parts.
        groups: the PodGroups in it and in its parts, by name.
    """

    key: str
    needed: int
    parts: int
    groups: Sequence[GroupView]

    @property
    def complete(self) -> int:
        """The number of PodGroups whose quorum has nodes."""
        return sum(1 for each in self.groups if each.placed >= each.needed)


def report_tree(kind: GroupKind[Any], cluster: Objects, key: str) -> TreeReport | None:
    """The report on the composite `namespace/name` of this kind; None if there is no such composite."""
    objects = cluster.watched
    groups = objects.get(kind.objects, ())
    composites = objects.get(kind.composites, ()) if kind.composites is not None else ()
    found = next((each for each in composites if each.metadata.key == key), None)
    if found is None:
        return None
    inside = {group for group, trees in above(kind, objects).items() if key in trees}
    shown = [each for each in group_views(GroupKinds([kind]), objects, cluster.pods) if each.key in inside]
    named = (f"{each.metadata.namespace}/{kind.parent(each)}" for each in (*groups, *composites) if kind.parent(each))
    parts = sum(1 for each in named if each == key)
    return TreeReport(key, kind.needed_parts(found), parts, sorted(shown, key=lambda each: each.key))


def render_tree(report: TreeReport, trial: TriedGroup | None = None, *, wide: bool = False) -> Iterator[str]:
    """The lines for users: the tree's needs, the result of a trial, then its PodGroups; `wide` names every node."""
    yield (
        f"{report.key} needs {report.needed} of its {report.parts} groups, "
        f"{report.complete} of the {len(report.groups)} PodGroups in it have their pods on nodes"
    )
    if trial is not None:
        yield from render_trial(trial, wide=wide)
    if not report.groups:
        return
    rows = [
        (
            *(each.metadata.name, each.parent, str(each.needed)),
            *(str(len(each.members)), str(each.placed), *each.said),
        )
        for each in report.groups
    ]
    yield ""
    yield from lines(("PODGROUP", "PARENT", "NEEDS", "EXIST", "NODES", "REASON", "MESSAGE"), rows)


def tree_as_json(report: TreeReport, trial: TriedGroup | None = None) -> dict[str, Any]:
    """The report as JSON; `now` is the result of a trial, null without a trial."""
    return {
        "compositePodGroup": report.key,
        "minGroupCount": report.needed,
        "groups": [
            {
                "podGroup": each.key,
                "parent": each.parent,
                "minMember": each.needed,
                "pods": len(each.members),
                "scheduled": each.placed,
                "reason": each.status.reason,
                "message": each.status.message,
                "held": each.held,
            }
            for each in report.groups
        ],
        "now": trial,
    }
