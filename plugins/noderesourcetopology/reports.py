"""The reports: for each node the latest NodeResourceTopology, and which of the pods on the node its amounts include.

An agent writes a report some time after a kubelet has given a pod its cpus, memory or devices. Until then the pod has
to be taken off what the report says. A report names its pods by a fingerprint, which is compared with the pods that the
node has, and with those that it had a moment ago, for a busy node's report is always a little late. Without a
fingerprint, or with one that fits no such set, a report includes what the one before it included, and pods that their
kubelet had started two minutes before the report arrived. So all is known again after a restart: from the objects.

The plugins of all profiles with the same arguments share one object. It follows NodeResourceTopologies and pods, and
brings reports up to date when they are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from muster.framework.authoring import PerSignature
from muster.framework.contract import PodInfo
from muster.framework.model.times import parse_time

from .api import (
    EXCLUSIVE_ONLY,
    FINGERPRINT,
    FINGERPRINT_ANNOTATION,
    FINGERPRINT_METHOD,
    Management,
    NodeResourceTopology,
    ZoneReport,
    managed_as,
    zones_of,
)
from .args import AUTODETECT, EXCLUSIVE
from .demand import ZoneDemand, demand_of
from .fingerprint import fingerprint

SETTLED_SECONDS = 120
"""After this time, two of the updater's usual periods, a report includes a pod even if its fingerprint says nothing."""
_REMEMBERED = 8

Pods = Mapping[str, PodInfo]


@dataclass(slots=True)
class NodeReport:
    """The report of one node.

    Attributes:
        topology: the object.
        arrived: when, seconds since the epoch.
        management: how the kubelet aligns.
        zones: what was reported, by number of the zone.
        included: the pods that the amounts include, by UID; also those that have gone since.
        matched: whether the fingerprint has been found.
    """

    topology: NodeResourceTopology
    arrived: float
    management: Management
    zones: tuple[ZoneReport, ...]
    included: Pods = field(default_factory=dict)
    matched: bool = False


class NodeReports:
    """The reports by node.

    Attributes:
        demands: the demand of pods, by signature.
        revision: grows when a report changes, or what it includes.
    """

    def __init__(self, wall: Callable[[], float], resync_method: str = AUTODETECT) -> None:
        self.demands: PerSignature[ZoneDemand] = PerSignature(demand_of)
        self.revision = 0
        self._wall = wall
        self._method = resync_method
        self._reports: dict[str, NodeReport] = {}
        self._pods: dict[str, dict[str, PodInfo]] = {}
        self._past: dict[str, deque[Pods]] = {}
        self._stale: dict[str, None] = {}
        self._moved: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._reports)

    def of(self, node_name: str) -> NodeReport | None:
        """The node's report, as of the last `take_moved`."""
        return self._reports.get(node_name)

    def topology_changed(self, old: NodeResourceTopology | None, new: NodeResourceTopology | None) -> None:
        """An object came, changed or went."""
        if new is None:
            if old is not None and self._reports.pop(old.metadata.name, None) is not None:
                self._past.pop(old.metadata.name, None)
                self._touch(old.metadata.name)
            return
        name = new.metadata.name
        before = self._reports.get(name)
        if before is not None and before.topology is new:
            return
        included = {} if before is None else before.included
        self._reports[name] = NodeReport(new, self._wall(), managed_as(new), tuple(zones_of(new)), included)
        self._past.setdefault(name, deque(maxlen=_REMEMBERED))
        self._touch(name)

    def pod_changed(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod came, changed or went."""
        if old is not None and old.node_name and (new is None or new.uid != old.uid or new.node_name != old.node_name):
            self._exchange(old.node_name, old.uid, None)
        if new is not None and new.node_name:
            self._exchange(new.node_name, new.uid, new)

    def take_moved(self) -> Collection[str]:
        """Bring the reports up to date. The nodes whose report has changed since the last call, or what it includes."""
        for name in self._stale:
            report = self._reports.get(name)
            if report is not None and not report.matched:
                self._include(name, report)
        self._stale = {}
        moved, self._moved = self._moved, {}
        return moved

    def _touch(self, name: str) -> None:
        self.revision += 1
        self._stale[name] = None
        self._moved[name] = None

    def _exchange(self, node_name: str, uid: str, pod: PodInfo | None) -> None:
        pods = self._pods.setdefault(node_name, {})
        before = pods.get(uid)
        if before is pod:
            return
        past = self._past.get(node_name)
        if past is not None and _differ(before, pod):
            past.append(dict(pods))
            if not self._reports[node_name].matched:
                self.revision += 1
                self._stale[node_name] = None
        if pod is None:
            del pods[uid]
        else:
            pods[uid] = pod
        if not pods:
            del self._pods[node_name]

    def _include(self, name: str, report: NodeReport) -> None:
        pods = self._pods.get(name, {})
        found = self._matching(name, report.topology)
        report.matched = found is not None
        if found is None:
            found = {uid: pod for uid, pod in pods.items() if uid in report.included or _settled(pod, report.arrived)}
        if found.keys() != report.included.keys():
            self._moved[name] = None
        report.included = found

    def _matching(self, name: str, topology: NodeResourceTopology) -> Pods | None:
        """The pods that the node has, or had a moment ago, whose fingerprint the report has."""
        wanted = topology.attribute(FINGERPRINT)
        exclusive_only = False
        if wanted is None:
            wanted = topology.metadata.annotations.get(FINGERPRINT_ANNOTATION, "")
        elif self._method == EXCLUSIVE:
            exclusive_only = True
        elif self._method == AUTODETECT:
            exclusive_only = topology.attribute(FINGERPRINT_METHOD) == EXCLUSIVE_ONLY
        if not wanted:
            return None
        for pods in self._sets(name):
            for named in (list(pods.values()), [pod for pod in pods.values() if pod.pod.status.phase == "Running"]):
                if exclusive_only:
                    named = [pod for pod in named if self.demands.of(pod).holds_any]
                if fingerprint((pod.namespace, pod.name) for pod in named) == wanted:
                    uids = {pod.uid for pod in named}
                    return {
                        uid: pod
                        for uid, pod in pods.items()
                        if uid in uids or (exclusive_only and not self.demands.of(pod).holds_any)
                    }
        return None

    def _sets(self, name: str) -> Iterator[Pods]:
        """The pods of the node: as they are now, then as they were, latest first."""
        yield dict(self._pods.get(name, {}))
        yield from reversed(self._past.get(name, ()))


def _differ(before: PodInfo | None, after: PodInfo | None) -> bool:
    """Whether a fingerprint may differ: a pod comes or goes, or begins to run."""
    return before is None or after is None or before.pod.status.phase != after.pod.status.phase


def _settled(pod: PodInfo, arrived: float) -> bool:
    start = pod.pod.status.start_time
    return start is not None and parse_time(start) <= arrived - SETTLED_SECONDS
