"""PodGroups and their members as people ask for them: what each group lacks, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from muster.framework.model.pod import Pod, PodCondition
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Transport
from muster.plugins.coscheduling.api import API_VERSION, GROUP_LABELS, PLURAL, SCHEDULED, Condition, PodGroup

from .layout import table

_API = f"/apis/{API_VERSION}"
_NOTHING = Condition(type=SCHEDULED, status="Unknown", reason="", message="")


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group with its members, by name."""

    group: PodGroup
    members: Sequence[Pod]


async def list_groups(connection: Connection, namespace: str | None) -> list[PodGroup]:
    """The groups of a namespace, or of all. Raises ApiError."""
    scope = f"/namespaces/{namespace}" if namespace else ""
    async with Transport(connection) as transport:
        groups = await list_all(ApiClient(transport), Listed(f"{_API}{scope}/{PLURAL}", PodGroup))
    return sorted(groups, key=lambda group: (group.metadata.namespace, group.metadata.name))


async def report_group(connection: Connection, namespace: str, name: str) -> GroupReport:
    """One group and its members. Raises ApiError, NotFound among others."""
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        reply = await client.get(f"{_API}/namespaces/{namespace}/{PLURAL}/{name}")
        pods = f"/api/v1/namespaces/{namespace}/pods"
        found = await asyncio.gather(
            *(list_all(client, Listed(pods, Pod, label_selector=f"{label}={name}")) for label in GROUP_LABELS)
        )
    members = {pod.metadata.uid: pod for some in found for pod in some}
    return GroupReport(
        msgspec.json.decode(reply.body, type=PodGroup), sorted(members.values(), key=lambda pod: pod.metadata.name)
    )


def render_groups(groups: Iterable[PodGroup]) -> Table:
    """A row a group."""
    found = table(
        *("Namespace", "Name", "Phase", "MinMember", "Scheduled", "Running", "Reason", "Message"),
        whole=("Namespace", "Name"),
    )
    for group in groups:
        status = group.read_status()
        said = status.condition(SCHEDULED) or _NOTHING
        found.add_row(
            group.metadata.namespace,
            group.metadata.name,
            status.phase or "",
            str(group.spec.min_member),
            str(status.scheduled or 0),
            str(status.running or 0),
            said.reason or "",
            said.message or "",
        )
    return found


def render_report(report: GroupReport) -> Iterator[RenderableType]:
    """What is said of the group, then its members."""
    group = report.group
    said = group.read_status().condition(SCHEDULED) or _NOTHING
    yield Text.assemble((group.key, "bold"), f" needs {group.spec.min_member} pods, {len(report.members)} exist")
    if said.reason:
        yield Text(f"{said.reason}: {said.message}")
    members = table("Pod", "Phase", "Node", "Message", whole=("Pod", "Node"))
    for pod in report.members:
        told = next((each for each in pod.status.conditions if each.type == "PodScheduled"), PodCondition())
        members.add_row(pod.metadata.name, pod.status.phase, pod.spec.node_name or "-", told.message)
    yield members


def as_json(report: GroupReport) -> dict[str, object]:
    """The report for programs."""
    group, status = report.group, report.group.read_status()
    said = status.condition(SCHEDULED) or _NOTHING
    return {
        "podGroup": group.key,
        "minMember": group.spec.min_member,
        "phase": status.phase or "",
        "reason": said.reason,
        "message": said.message,
        "members": {pod.metadata.name: pod.spec.node_name for pod in report.members},
    }
