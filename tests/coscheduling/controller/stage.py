"""A controller of PodGroups with all it meets, in virtual time."""

import asyncio
import itertools
from collections.abc import Collection, Mapping
from typing import Any, cast

import msgspec

from muster.framework.groups import GROUP_LABELS
from muster.framework.groups.record import EndedMember
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting_pods import PodsAtPermit
from muster.operator.kube.client import ApiClient
from muster.operator.podgroups.status_controller import StatusController
from muster.operator.podgroups.worker import WorkerPorts
from muster.plugins.coscheduling.api import PodGroup
from muster.plugins.coscheduling.args import CoschedulingArgs
from muster.plugins.coscheduling.book import PodGroups
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from muster.plugins.coscheduling.record import PodGroupReason
from muster.plugins.coscheduling.reporting import PodGroupReporter
from tests.clocks import SettlingClock

from .groups import FakeClient, Recorder, report

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
TRAIN = "ml/train"


class Stage:
    """A controller with all it meets; `leads` says whether its process does."""

    def __init__(self) -> None:
        self.client = FakeClient()
        self.recorder = Recorder()
        self.clock = SettlingClock()
        self.groups = PodGroups(CoschedulingArgs(), self.clock, PodsAtPermit(Standstill()))
        self.leads = True
        self.client.listen = self.hear
        self._uids = itertools.count()
        self._members: dict[str, list[PodInfo]] = {}
        self.begin()

    def begin(self, synced: Collection[asyncio.Event] = ()) -> None:
        """A controller begins, be it after another; it waits for `synced`."""
        client = cast("ApiClient", self.client)
        ports = WorkerPorts(client, self.recorder, self.clock, leading=lambda: self.leads, synced=synced)
        reporter = PodGroupReporter(self.groups, self.clock)
        self.controller = StatusController(
            self.groups, POD_GROUP_KIND, reporter, ports, ended_handler=self.groups.follow_ended
        )

    def hear(self, body: Mapping[str, Any]) -> None:
        """The informer sees a PodGroup."""
        report(self.groups, None, msgspec.json.decode(msgspec.json.encode(body), type=PodGroup))

    def lose(self, body: Mapping[str, Any]) -> None:
        """The informer sees that a PodGroup is gone."""
        report(self.groups, msgspec.json.decode(msgspec.json.encode(body), type=PodGroup), None)

    def status(self, key: str = TRAIN) -> dict[str, Any]:
        status: dict[str, Any] = self.client.groups[key]["status"]
        return status

    def condition(self, key: str = TRAIN) -> tuple[str, str, str] | None:
        """Status, reason and message."""
        found = self.status(key).get("conditions")
        return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None

    def writes(self, key: str = TRAIN) -> int:
        return sum(1 for written, _ in self.client.patches if written == key)

    def come(self, *phases: str, group: str = TRAIN) -> None:
        """Members come, in these phases."""
        for phase in phases:
            self._become(None, phase, f"{group}-{next(self._uids)}", group)

    def become(self, old: str, new: str, times: int = 1) -> None:
        """So many members go from one phase to another."""
        for _ in range(times):
            pod = next(pod for pods in self._members.values() for pod in pods if pod.pod.status.phase == old)
            group = f"{pod.namespace}/{pod.labels[GROUP_LABELS[0]]}"
            self._members[group].remove(pod)
            self._become(pod, new, pod.uid, group)

    def go(self, group: str = TRAIN) -> PodInfo:
        """The pod informer hears of a member no more."""
        pod = self._members[group].pop()
        self.groups.follow_pod(pod, None)
        return pod

    def decide(self, reason: PodGroupReason, message: str, key: str = TRAIN) -> None:
        self.groups.announce(key, reason, message)

    def _become(self, old: PodInfo | None, phase: str, uid: str, group: str) -> None:
        pod = _member(uid, phase, group)
        if phase in (SUCCEEDED, FAILED):
            self.groups.follow_pod(old, None)
            self.groups.follow_ended(uid, None, EndedMember(group, phase == SUCCEEDED))
        else:
            self._members.setdefault(group, []).append(pod)
            self.groups.follow_pod(old, pod)


def _member(uid: str, phase: str, group: str) -> PodInfo:
    namespace, _, name = group.partition("/")
    metadata = {"name": uid.replace("/", "-"), "namespace": namespace, "uid": uid, "labels": {GROUP_LABELS[0]: name}}
    spec = {} if phase == PENDING else {"nodeName": "n1"}
    return PodInfo(msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Pod))
