"""PodGroups and their members as people ask for them: what each group lacks, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.framework.model.pod import Pod, PodCondition
from muster.framework.model.times import age
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Informer, Listed
from muster.operator.kube.listing import list_all, list_raw
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.membership import is_native
from muster.plugins.coscheduling.api import API_VERSION, GROUP_LABELS, PLURAL, SCHEDULED, Condition, PodGroup

from .group_trial import GroupTrial, queue_order, told
from .layout import NONE, lines, printable, shortened
from .native_groups import list_native, native_group

_API = f"/apis/{API_VERSION}"
_NOTHING = Condition(type=SCHEDULED, status="Unknown", reason="", message="")


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group with its members, by name; a `native` one in the form of the others."""

    group: PodGroup
    members: Sequence[Pod]
    native: bool = False


@dataclass(frozen=True, slots=True)
class Selected:
    """Which groups are asked for: those of a namespace, or of all, that have these labels."""

    namespace: str | None = None
    label_selector: str = ""

    @property
    def path(self) -> str:
        """The list's path on the API."""
        scope = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{_API}{scope}/{PLURAL}"


async def list_groups(connection: Connection, selected: Selected) -> list[tuple[msgspec.Raw, PodGroup]]:
    """The groups as the API has them, by namespace and name, and native ones in the form of the others.

    Raises ApiError.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        native = await list_native(client, selected.namespace, selected.label_selector)
        try:
            found = await list_raw(client, selected.path, label_selector=selected.label_selector)
        except NotFound:
            if not native:
                raise
            found = []
    groups = [(raw, msgspec.json.decode(raw, type=PodGroup)) for raw in found]
    groups += [(msgspec.Raw(msgspec.json.encode(group)), group) for group in native]
    return sorted(groups, key=lambda each: _place(each[1]))


async def queue_places(connection: Connection) -> dict[str, int]:
    """The place among all groups that wait, from 1, of each that does, as far as the API shows it.

    Empty for whoever may not read groups and pods of the whole cluster. Raises ApiError.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        try:
            pods = [pod for pod in await list_all(client, Listed("/api/v1/pods", Pod)) if not is_native(pod)]
            groups = await list_all(client, Listed(Selected().path, PodGroup))
        except (Forbidden, NotFound):
            return {}
    return {key: place for place, key in enumerate(queue_order(groups, pods), start=1)}


async def follow_groups(connection: Connection, selected: Selected, tell: Callable[[PodGroup], None]) -> None:
    """Tell of every group that there is, and of each again whenever it changes, until cancelled."""
    async with Transport(connection) as transport:
        listed = Listed(selected.path, PodGroup, label_selector=selected.label_selector)
        await Informer(ApiClient(transport), listed, _Follower(tell)).run()


class _Follower:
    """Tells of groups as an informer meets them."""

    def __init__(self, tell: Callable[[PodGroup], None]) -> None:
        self._tell = tell

    def on_add(self, group: PodGroup) -> None:
        self._tell(group)

    def on_update(self, old: PodGroup, group: PodGroup) -> None:
        self._tell(group)

    def on_delete(self, group: PodGroup) -> None:
        self._tell(group)


async def report_group(connection: Connection, namespace: str, name: str) -> GroupReport:
    """One group and its members. Raises ApiError, NotFound among others."""
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        try:
            reply = await client.get(f"{_API}/namespaces/{namespace}/{PLURAL}/{name}")
        except NotFound as error:
            try:
                group, its = await native_group(client, namespace, name)
            except (Forbidden, NotFound):
                raise error from None
            return GroupReport(group, sorted(its, key=lambda pod: pod.metadata.name), native=True)
        pods = f"/api/v1/namespaces/{namespace}/pods"
        found = await asyncio.gather(
            *(list_all(client, Listed(pods, Pod, label_selector=f"{label}={name}")) for label in GROUP_LABELS)
        )
    members = {pod.metadata.uid: pod for some in found for pod in some}
    return GroupReport(
        msgspec.json.decode(reply.body, type=PodGroup), sorted(members.values(), key=lambda pod: pod.metadata.name)
    )


def group_titles(*, everywhere: bool, wide: bool) -> tuple[str, ...]:
    """The titles over the cells of `group_row`."""
    return (
        *(("NAMESPACE",) if everywhere else ()),
        *("NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING"),
        *(("SUCCEEDED", "FAILED", "OCCUPIED-BY", "PLACE", "WAITED") if wide else ()),
        *("AGE", "REASON", "MESSAGE"),
    )


def group_row(
    group: PodGroup, *, everywhere: bool, wide: bool, now: float, places: Mapping[str, int] = {}
) -> tuple[str, ...]:
    """A group's cells; `now` is in seconds since the epoch, `places` are the groups' among those that wait, by key."""
    status = group.read_status()
    said = status.condition(SCHEDULED) or _NOTHING
    waits = said.status == "False"
    further = (
        *(str(status.succeeded or 0), str(status.failed or 0), status.occupied_by or NONE),
        *(str(places.get(group.key, NONE)), age(_since(group), now) if waits else NONE),
    )
    return (
        *((group.metadata.namespace,) if everywhere else ()),
        *(group.metadata.name, status.phase or "", str(group.spec.min_member)),
        *(str(status.scheduled or 0), str(status.running or 0)),
        *(further if wide else ()),
        *(age(group.metadata.creation_timestamp, now), said.reason or "", said.message or ""),
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
        yield from map(printable, told(trial))
        if trial.nodes:
            rows = [
                (str(len(each.nodes)), str(each.took), each.reason, shortened(each.nodes, whole=wide))
                for each in trial.nodes
            ]
            yield from ("", *lines(("NODES", "TAKE", "THEN", "WHICH"), rows))
    if not report.members:
        return
    rows = [(pod.metadata.name, pod.status.phase, pod.spec.node_name or NONE, _told(pod)) for pod in report.members]
    yield ""
    yield from lines(("POD", "PHASE", "NODE", "MESSAGE"), rows)


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


def _place(group: PodGroup) -> tuple[str, str]:
    return group.metadata.namespace, group.metadata.name
