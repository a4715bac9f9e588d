"""PrioritySort: pods and groups of higher priority first, then the ones that have waited longer."""

from __future__ import annotations

from muster.framework.contract import QueuedPod, QueueSortPlugin


class PrioritySort(QueueSortPlugin):
    """kube-scheduler leaves equals in no order; here their names decide, so that every run is the same."""

    name = "PrioritySort"

    def sort_key(self, queued: QueuedPod) -> tuple[int, float, str, str]:
        """Priority descending, time of entering the queue, then `namespace/name` and UID, which differ for any two."""
        info = queued.info
        return -queued.priority, queued.timestamp, info.key, info.uid
