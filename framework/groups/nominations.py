"""Nominations of members of a group: nodes whose capacity is reserved for them, and how the nomination ends.

Group plugins use it: preemption frees capacity for members, and a member whose binding the API refused while others
were bound keeps its node. When the group is deleted or held, the nomination is withdrawn in the API, and the capacity
is free when the watch reports that; a nomination that the watch has not reported ends at once as well. In both cases
the pods that wait for the capacity are retried.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ..contract.api import STRATEGIC_MERGE_PATCH, ApiError, pod_path
from ..contract.handle import Handle
from ..model.pod_info import PodInfo
from .members import Members

log = logging.getLogger(__name__)


class MemberNominations:
    """Nominations of members of all groups."""

    def __init__(self, members: Members[Any], handle: Handle) -> None:
        self._members = members
        self._handle = handle
        self._kept: set[str] = set()

    def keep(self, pod: PodInfo, node_name: str) -> None:
        """Keep the node for a member whose binding the API refused while other members are bound.

        A partly bound group is of no use, and the API has no transaction that could have prevented it.
        """
        nominator = self._handle.nominator
        nominator.nominate(pod, node_name)
        self._kept = {uid for uid in self._kept if nominator.nominated_node(uid)} | {pod.uid}

    def of(self, group: str) -> Iterator[PodInfo]:
        """Members of the group that are nominated to a node."""
        nominator = self._handle.nominator
        return (pod for pod in self._members.record(group).unplaced_pods() if nominator.nominated_node(pod.uid))

    def withdraw(self, group: str) -> None:
        """The group is deleted or held: other pods may have the capacity."""
        self._withdraw([*self.of(group)])

    def withdraw_kept(self, group: str) -> None:
        """The group will not start soon, and none of its members is bound: give up the nodes that `keep` kept."""
        self._withdraw([pod for pod in self.of(group) if pod.uid in self._kept])

    def _withdraw(self, pods: Iterable[PodInfo]) -> None:
        for pod in pods:
            if not pod.pod.status.nominated_node_name:
                self._handle.end_nomination(pod)
            # The watch may lag behind: a nomination that was written to the API would reappear with it, and stay.
            self._handle.spawn(self._end(pod))

    async def _end(self, pod: PodInfo) -> None:
        """Withdraw the nomination in the API. If the API refuses, the nomination ends in this process only."""
        patch = msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}})
        path = pod_path(pod.pod.metadata, "status")
        try:
            await self._handle.api.patch(path, patch, content_type=STRATEGIC_MERGE_PATCH)
        except ApiError as error:
            self._handle.end_nomination(pod)
            log.warning("A nomination was not withdrawn", extra={"pairs": {"pod": pod.key, "error": str(error)}})
