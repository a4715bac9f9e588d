"""PodGroups and their members as people ask for them: what each group lacks, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.framework.model.pod import Pod, PodCondition
from muster.framework.model.times import age
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Transport
from muster.plugins.coscheduling.api import (
    API_VERSION,
    GROUP,
    GROUP_LABELS,
    KIND,
    PLURAL,
    SCHEDULED,
    Condition,
    PodGroup,
)
from muster.plugins.gangscheduling.api import GROUP as NATIVE_GROUP

from .group_trial import GroupTrial, told
from .layout import NONE, lines, printable, shortened
from .native_groups import native_group
from .standing import Group

_API = f"/apis/{API_VERSION}"
_NOTHING = Condition(type=SCHEDULED, status="Unknown", reason="", message="")


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group with its members, by name; a `native` one in the form of the others."""

    group: PodGroup
    members: Sequence[Pod]
    native: bool = False


async def report_group(connection: Connection, namespace: str, name: str, *, native: bool = False) -> GroupReport:
    """One group and its members; of two that have the name, Kubernetes' own if `native` says so.

    Raises ApiError, NotFound among others.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        if native:
            return await _native_report(client, namespace, name)
        try:
            reply = await client.get(f"{_API}/namespaces/{namespace}/{PLURAL}/{name}")
        except NotFound as error:
            try:
                return await _native_report(client, namespace, name)
            except (Forbidden, NotFound):
                raise error from None
        pods = f"/api/v1/namespaces/{namespace}/pods"
        found = await asyncio.gather(
            *(list_all(client, Listed(pods, Pod, label_selector=f"{label}={name}")) for label in GROUP_LABELS)
        )
    members = {pod.metadata.uid: pod for some in found for pod in some}
    return GroupReport(
        msgspec.json.decode(reply.body, type=PodGroup), sorted(members.values(), key=lambda pod: pod.metadata.name)
    )


async def _native_report(client: ApiClient, namespace: str, name: str) -> GroupReport:
    group, members = await native_group(client, namespace, name)
    return GroupReport(group, sorted(members, key=lambda pod: pod.metadata.name), native=True)


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


def render_report(
    report: GroupReport, trial: GroupTrial | None = None, *, now: float, wide: bool = False
) -> Iterator[str]:
    """What is said of the group, what a trial came to, the nodes by what keeps members off them, then its members.

    `now` is in seconds since the epoch; `wide` names every node.
    """
    group = report.group
    status = group.read_status()
    said = status.condition(SCHEDULED) or _NOTHING
    placed = sum(1 for pod in report.members if pod.spec.node_name)
    yield f"{group.key} needs {group.spec.min_member} pods, {len(report.members)} exist, {placed} have nodes"
    if said.reason:
        yield printable(f"{said.reason}: {said.message}")
    if said.status == "False":
        yield f"It has waited for {age(_since(group), now)}."
    if trial is not None:
        yield from render_trial(trial, wide=wide)
    if not report.members:
        return
    rows = [(pod.metadata.name, pod.status.phase, pod.spec.node_name or NONE, _told(pod)) for pod in report.members]
    yield ""
    yield from lines(("POD", "PHASE", "NODE", "MESSAGE"), rows)


def render_trial(trial: GroupTrial, *, wide: bool = False) -> Iterator[str]:
    """What a trial came to, and the nodes by what keeps members off them."""
    yield from map(printable, told(trial))
    if trial.nodes:
        rows = [
            (str(len(each.nodes)), str(each.took), each.reason, shortened(each.nodes, whole=wide))
            for each in trial.nodes
        ]
        yield from ("", *lines(("NODES", "TAKE", "THEN", "WHICH"), rows))


def as_json(report: GroupReport, trial: GroupTrial | None = None) -> dict[str, Any]:
    """The report for programs; `now` is what a trial came to, null where none was made."""
    group, status = report.group, report.group.read_status()
    said = status.condition(SCHEDULED) or _NOTHING
    return {
        "podGroup": group.key,
        "minMember": group.spec.min_member,
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
                "message": _told(pod),
            }
            for pod in report.members
        ],
        "scheduleStartTime": status.schedule_start_time or "",
        "now": trial,
    }


def _told(pod: Pod) -> str:
    """What the pod's condition says of its scheduling."""
    return next((each for each in pod.status.conditions if each.type == "PodScheduled"), PodCondition()).message


def _since(group: PodGroup) -> str | None:
    """Since when it waits."""
    return group.read_status().schedule_start_time or group.metadata.creation_timestamp
