"""A CompositePodGroup as people ask for it: which PodGroups it consists of, and what those that wait lack together.

`muster why compositepodgroup/NAME` asks, with a cluster that was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from muster.operator.simulate.manifests import Objects
from muster.plugins.gangscheduling.api import POD_GROUPS as NATIVE_GROUPS
from muster.plugins.gangscheduling.composite_api import COMPOSITE_POD_GROUPS

from .group_trial import TriedGroup
from .groups import render_trial
from .layout import lines
from .native_groups import above
from .standing import Group, standing


@dataclass(frozen=True, slots=True)
class TreeReport:
    """A CompositePodGroup.

    Attributes:
        key: its `namespace/name`.
        needed: how many of its parts it needs.
        parts: how many it has.
        groups: the PodGroups in it, those in its parts, too, by name.
    """

    key: str
    needed: int
    parts: int
    groups: Sequence[Group]

    @property
    def complete(self) -> int:
        """How many of the PodGroups have the pods that they need on nodes."""
        return sum(1 for each in self.groups if each.placed >= each.group.spec.min_member)


def report_tree(cluster: Objects, key: str) -> TreeReport | None:
    """The CompositePodGroup with this `namespace/name`; None when there is none."""
    native, composites = cluster.watched.get(NATIVE_GROUPS, ()), cluster.watched.get(COMPOSITE_POD_GROUPS, ())
    found = next((each for each in composites if each.key == key), None)
    if found is None:
        return None
    inside = {group for group, tree in above(native, composites).items() if key in tree}
    groups = [each for each in standing((), native, cluster.pods, composites) if each.group.key in inside]
    named = (
        f"{each.metadata.namespace}/{each.spec.parent_composite_pod_group_name}" for each in (*native, *composites)
    )
    parts = sum(1 for each in named if each == key)
    return TreeReport(key, found.spec.min_group_count, parts, sorted(groups, key=lambda each: each.group.key))


def render_tree(report: TreeReport, trial: TriedGroup | None = None, *, wide: bool = False) -> Iterator[str]:
    """What it needs, what a trial came to, then its PodGroups; `wide` names every node."""
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
            *(each.group.metadata.name, each.parent, str(each.group.spec.min_member)),
            *(str(len(each.members)), str(each.placed), each.said.reason or "", each.said.message or ""),
        )
        for each in report.groups
    ]
    yield ""
    yield from lines(("PODGROUP", "PARENT", "NEEDS", "EXIST", "NODES", "REASON", "MESSAGE"), rows)


def tree_as_json(report: TreeReport, trial: TriedGroup | None = None) -> dict[str, Any]:
    """The report for programs; `now` is what a trial came to, null where none was made."""
    return {
        "compositePodGroup": report.key,
        "minGroupCount": report.needed,
        "groups": [
            {
                "podGroup": each.group.key,
                "parent": each.parent,
                "minMember": each.group.spec.min_member,
                "pods": len(each.members),
                "scheduled": each.placed,
                "reason": each.said.reason or "",
                "message": each.said.message or "",
            }
            for each in report.groups
        ],
        "now": trial,
    }
