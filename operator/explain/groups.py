"""PodGroups and their members as people ask for them: what each group lacks, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muster.framework.model.times import age
from muster.plugins.coscheduling.api import GROUP, KIND
from muster.plugins.gangscheduling.api import GROUP as NATIVE_GROUP

from .group_trial import TriedGroup, told
from .layout import NONE, lines, printable, shortened
from .standing import Group, said_of


def resource_name(name: str, *, native: bool) -> str:
    """A group as kubectl names it."""
    return f"{KIND.lower()}.{NATIVE_GROUP if native else GROUP}/{name}"


def group_titles(*, everywhere: bool, wide: bool) -> tuple[str, ...]:
    """The titles over the cells of `group_row`."""
    return (
        *(("NAMESPACE",) if everywhere else ()),
        *("NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING"),
        *(("SUCCEEDED", "FAILED", "OCCUPIED-BY", "PARENT", "PLACE", "WAITED") if wide else ()),
        *("AGE", "REASON", "MESSAGE"),
    )


def group_row(group: Group, *, everywhere: bool, wide: bool, now: float) -> tuple[str, ...]:
    """A group's cells; `now` is in seconds since the epoch."""
    meta, status, said = group.group.metadata, group.status, group.said
    waited = age(group.since, now) if said.status == "False" else NONE
    further = (
        *(str(status.succeeded or 0), str(status.failed or 0), status.occupied_by or NONE),
        *(group.parent or NONE, str(group.place or NONE), waited),
    )
    return (
        *((meta.namespace,) if everywhere else ()),
        *(meta.name, status.phase or "", str(group.group.spec.min_member)),
        *(str(status.scheduled or 0), str(status.running or 0)),
        *(further if wide else ()),
        *(age(meta.creation_timestamp, now), said.reason or "", said.message or ""),
    )


def render_group(group: Group, trial: TriedGroup | None = None, *, now: float, wide: bool = False) -> Iterator[str]:
    """What is said of the group, what a trial came to, the nodes by what keeps members off them, then its members.

    `now` is in seconds since the epoch; `wide` names every node.
    """
    said, needs = group.said, group.group.spec.min_member
    yield f"{group.group.key} needs {needs} pods, {len(group.members)} exist, {group.placed} have nodes"
    if said.reason:
        yield printable(f"{said.reason}: {said.message}")
    if said.status == "False":
        yield f"It has waited for {age(group.since, now)}."
    if trial is not None:
        yield from render_trial(trial, wide=wide)
    if not group.members:
        return
    rows = [(pod.metadata.name, pod.status.phase, pod.spec.node_name or NONE, said_of(pod)) for pod in group.members]
    yield ""
    yield from lines(("POD", "PHASE", "NODE", "MESSAGE"), rows)


def render_trial(trial: TriedGroup, *, wide: bool = False) -> Iterator[str]:
    """What a trial came to, and the nodes by what keeps members off them."""
    yield from map(printable, told(trial))
    if trial.nodes:
        rows = [
            (str(len(each.nodes)), str(each.took), each.reason, shortened(each.nodes, whole=wide))
            for each in trial.nodes
        ]
        yield from ("", *lines(("NODES", "TAKE", "THEN", "WHICH"), rows))


def as_json(group: Group, trial: TriedGroup | None = None) -> dict[str, Any]:
    """The same for programs; `now` is what a trial came to, null where none was made."""
    status, said = group.status, group.said
    return {
        "podGroup": group.group.key,
        "minMember": group.group.spec.min_member,
        "phase": status.phase or "",
        "scheduled": status.scheduled or 0,
        "running": status.running or 0,
        "succeeded": status.succeeded or 0,
        "failed": status.failed or 0,
        "reason": said.reason or "",
        "message": said.message or "",
        "members": [
            {
                "pod": pod.metadata.name,
                "phase": pod.status.phase,
                "node": pod.spec.node_name,
                "message": said_of(pod),
            }
            for pod in group.members
        ],
        "scheduleStartTime": status.schedule_start_time or "",
        "now": trial,
    }
