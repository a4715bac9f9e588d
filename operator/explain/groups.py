"""PodGroups and their members as texts, tables and JSON: what each group lacks, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from muster.framework.contract import GroupView, WatchedKind
from muster.framework.model.pod import Pod
from muster.framework.model.times import age
from muster.operator.simulate.wording import alike, counted, nameless

from .group_trial import TriedGroup, sentences
from .group_views import scheduling_message
from .layout import NONE, lines, printable, shortened


def resource_name(kind: WatchedKind, name: str) -> str:
    """The name of an object as kubectl prints it."""
    return f"{kind.name.lower()}.{kind.group}/{name}"


def group_titles(*, everywhere: bool, wide: bool) -> tuple[str, ...]:
    """The column titles of `group_row`."""
    return (
        *(("NAMESPACE",) if everywhere else ()),
        *("NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING"),
        *(("SUCCEEDED", "FAILED", "OCCUPIED-BY", "PARENT", "PLACE", "WAITED") if wide else ()),
        *("AGE", "REASON", "MESSAGE"),
    )


def group_row(group: GroupView, *, everywhere: bool, wide: bool, now: float) -> tuple[str, ...]:
    """A group's cells; `now` is in seconds since the epoch. The message does not repeat the other cells."""
    meta, status, (reason, message) = group.metadata, group.status, group.said
    brief = message.removeprefix(f"pod group {group.key} ").removeprefix("is unschedulable, ")
    waited = age(group.since, now) if status.placed == "False" else NONE
    further = (
        *(str(status.succeeded), str(status.failed), status.owners or NONE),
        *(group.parent or NONE, str(group.place or NONE), waited),
    )
    return (
        *((meta.namespace,) if everywhere else ()),
        *(meta.name, status.phase, str(group.needed), str(status.scheduled), str(status.running)),
        *(further if wide else ()),
        *(age(meta.creation_timestamp, now), reason, brief),
    )


def render_group(group: GroupView, trial: TriedGroup | None = None, *, now: float, wide: bool = False) -> Iterator[str]:
    """The status of the group, the result of a trial, the nodes by the reason why they reject members, the members.

    `now` is in seconds since the epoch; `wide` names every node, and gives each member a line.
    """
    status = group.status
    exist, placed = len(group.members), group.placed
    needs = f"needs {counted(group.needed, 'pod')}" if group.needed else "needs no number of pods"
    yield (
        f"{group.key} {needs}, {exist} {'exists' if exist == 1 else 'exist'}, "
        f"{placed} {'has a node' if placed == 1 else 'have nodes'}"
    )
    reason, message = group.said
    if reason:
        yield printable(f"{reason}: {message}")
    if status.placed == "False":
        yield f"It has waited for {age(group.since, now)}."
    if trial is not None:
        yield from render_trial(trial, message, wide=wide)
    if not group.members:
        return
    shown = {message, trial.reason if trial is not None else ""} - {""}
    yield ""
    yield from _members(group.members) if wide else _like_members(group.members, shown)


def _members(members: Sequence[Pod]) -> Iterator[str]:
    rows = [
        (pod.metadata.name, pod.status.phase, pod.spec.node_name or NONE, scheduling_message(pod)) for pod in members
    ]
    return lines(("POD", "PHASE", "NODE", "MESSAGE"), rows)


def _like_members(members: Sequence[Pod], shown: Collection[str]) -> Iterator[str]:
    """The members; those with the same phase and message share a row. A message that is `shown` is not repeated."""
    found = alike(
        members,
        lambda pod: (pod.status.phase, bool(pod.spec.node_name), nameless(scheduling_message(pod), pod.metadata.name)),
    )
    rows = []
    for pods in found:
        nodes = shortened([*dict.fromkeys(pod.spec.node_name for pod in pods)], whole=False) or NONE
        which, message = shortened([pod.metadata.name for pod in pods], whole=False), scheduling_message(pods[0])
        said = "as above" if message in shown else message
        rows.append((str(len(pods)), pods[0].status.phase, nodes, which, said))
    return lines(("PODS", "PHASE", "NODES", "WHICH", "MESSAGE"), rows)


def render_trial(trial: TriedGroup, said: str = "", *, wide: bool = False) -> Iterator[str]:
    """The result of a trial, and the nodes by what keeps members off them. `said` is shown already."""
    yield from map(printable, sentences(trial, said))
    if trial.nodes:
        rows = [
            (str(len(each.nodes)), str(each.took), each.reason, shortened(each.nodes, whole=wide))
            for each in trial.nodes
        ]
        yield from ("", *lines(("NODES", "TAKE", "THEN", "WHICH"), rows))


def as_json(group: GroupView, trial: TriedGroup | None = None) -> dict[str, Any]:
    """A group as JSON; `now` is the result of a trial, null without a trial."""
    status = group.status
    return {
        "podGroup": group.key,
        "minMember": group.needed,
        "phase": status.phase,
        "scheduled": status.scheduled,
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "reason": status.reason,
        "message": status.message,
        "held": group.held,
        "members": [
            {
                "pod": pod.metadata.name,
                "phase": pod.status.phase,
                "node": pod.spec.node_name,
                "message": scheduling_message(pod),
            }
            for pod in group.members
        ],
        "scheduleStartTime": status.waits_since or "",
        "now": trial,
    }
