"""The state that the plugins of all profiles with the same arguments share.

It joins the reports with the columns, and says which pods of other schedulers count and to which nodes pods are being
bound.
"""

from __future__ import annotations

from muster.framework.contract import Handle, PodInfo

from .args import ALL, NONE, NodeResourceTopologyMatchArgs
from .reports import NodeReports
from .zones import ZoneColumns


class SharedTopologies:
    """The zones of all nodes, as far as they are known.

    Attributes:
        reports: the reports.
        columns: what is free.
        profiles: the schedulerNames of the profiles that run the plugin.
    """

    def __init__(self, handle: Handle, args: NodeResourceTopologyMatchArgs) -> None:
        self.profiles: set[str] = set()
        self.reports = NodeReports(handle.clock.wall, args.cache.resync_method)
        self.columns = ZoneColumns(handle.snapshot, self.reports, self._counts)
        self._foreign = args.cache.foreign_pods_detect
        self._reserved: dict[str, set[str]] = {}
        self._reservations = 0

    @property
    def epoch(self) -> tuple[int, int]:
        """A value that changes with everything on which verdicts depend besides pod, node and the pods on it."""
        return self.reports.revision, self._reservations

    def reserve(self, pod: PodInfo, node_name: str) -> None:
        """The pod is being bound to the node."""
        self._reserved.setdefault(node_name, set()).add(pod.uid)
        self._reservations += 1

    def release(self, pod: PodInfo, node_name: str) -> None:
        """The pod is bound to the node, or will not be. Idempotent."""
        pods = self._reserved.get(node_name)
        if pods is None or pod.uid not in pods:
            return
        pods.discard(pod.uid)
        self._reservations += 1
        if not pods:
            del self._reserved[node_name]

    def is_reserved(self, node_name: str) -> bool:
        """Whether a pod is being bound to the node."""
        return node_name in self._reserved

    def _counts(self, pod: PodInfo) -> bool:
        """Whether the pod is taken off before a report includes it; pods of other schedulers as arguments say."""
        if self._foreign == ALL or pod.pod.spec.scheduler_name in self.profiles:
            return True
        return self._foreign != NONE and self.reports.demands.of(pod).holds_any
