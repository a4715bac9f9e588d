"""PodGroups and their members as people ask for them: what each group lacks, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from muster.framework.model.meta import ObjectMeta, Wire
from muster.framework.model.pod import Pod, PodCondition
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Transport
from muster.plugins.coscheduling.api import GROUP_LABELS, PodGroupSpec

from .layout import table

_API = "/apis/scheduling.x-k8s.io/v1alpha1"


class GroupStatus(Wire):
    """`status` of a PodGroup, as far as it is shown."""

    phase: str = ""
    scheduled: int = 0
    running: int = 0
    conditions: tuple[PodCondition, ...] = ()


class Group(Wire):
    """A PodGroup with its status."""

    metadata: ObjectMeta
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: GroupStatus = msgspec.field(default_factory=GroupStatus)

    @property
    def verdict(self) -> PodCondition:
        """The condition that says whether the group is scheduled, and why not."""
        return next((each for each in self.status.conditions if each.type == "Scheduled"), PodCondition())


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group with its members, by name."""

    group: Group
    members: Sequence[Pod]


async def list_groups(connection: Connection, namespace: str | None) -> list[Group]:
    """The groups of a namespace, or of all. Raises ApiError."""
    scope = f"/namespaces/{namespace}" if namespace else ""
    async with Transport(connection) as transport:
        groups = await list_all(ApiClient(transport), Listed(f"{_API}{scope}/podgroups", Group))
    return sorted(groups, key=lambda group: (group.metadata.namespace, group.metadata.name))


async def report_group(connection: Connection, namespace: str, name: str) -> GroupReport:
    """One group and its members. Raises ApiError, NotFound among others."""
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        reply = await client.get(f"{_API}/namespaces/{namespace}/podgroups/{name}")
        pods = f"/api/v1/namespaces/{namespace}/pods"
        found = await asyncio.gather(
            *(list_all(client, Listed(pods, Pod, label_selector=f"{label}={name}")) for label in GROUP_LABELS)
        )
    members = {pod.metadata.uid: pod for some in found for pod in some}
    return GroupReport(
        msgspec.json.decode(reply.body, type=Group), sorted(members.values(), key=lambda pod: pod.metadata.name)
    )


def render_groups(groups: Iterable[Group]) -> Table:
    """A row a group."""
    found = table(
        *("Namespace", "Name", "Phase", "MinMember", "Scheduled", "Running", "Reason", "Message"),
        whole=("Namespace", "Name"),
    )
    for group in groups:
        status, verdict = group.status, group.verdict
        found.add_row(
            group.metadata.namespace,
            group.metadata.name,
            status.phase,
            str(group.spec.min_member),
            str(status.scheduled),
            str(status.running),
            verdict.reason,
            verdict.message,
        )
    return found


def render_report(report: GroupReport) -> Iterator[RenderableType]:
    """The group's verdict, then its members."""
    group = report.group
    name = f"{group.metadata.namespace}/{group.metadata.name}"
    verdict = group.verdict
    yield Text.assemble((name, "bold"), f" needs {group.spec.min_member} pods, {len(report.members)} exist")
    if verdict.reason:
        yield Text(f"{verdict.reason}: {verdict.message}")
    members = table("Pod", "Phase", "Node", "Message", whole=("Pod", "Node"))
    for pod in report.members:
        told = next((each for each in pod.status.conditions if each.type == "PodScheduled"), PodCondition())
        members.add_row(pod.metadata.name, pod.status.phase, pod.spec.node_name or "-", told.message)
    yield members


def as_json(report: GroupReport) -> dict[str, object]:
    """The report for programs."""
    group, verdict = report.group, report.group.verdict
    return {
        "podGroup": f"{group.metadata.namespace}/{group.metadata.name}",
        "minMember": group.spec.min_member,
        "phase": group.status.phase,
        "reason": verdict.reason,
        "message": verdict.message,
        "members": {pod.metadata.name: pod.spec.node_name for pod in report.members},
    }
