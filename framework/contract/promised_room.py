"""Room on nodes that is kept for members of a group, and how that promise ends.

Plugins that know groups ask for it: preemption makes room for members, and a member that the API refused to bind while
others were bound keeps its node. When the group goes, others may have the room: the nomination is taken back on the
API, and when the watch tells of it the room is free; one that the API knows nothing of ends at once. Either way whoever
waits for the room is tried.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from ..model.pod_info import PodInfo
from .api import STRATEGIC_MERGE_PATCH, ApiError, pod_path
from .handle import Handle
from .members import Members

log = logging.getLogger(__name__)


class PromisedRoom:
    """Nominations of members of all groups."""

    def __init__(self, members: Members, handle: Handle) -> None:
        self._members = members
        self._handle = handle

    def keep(self, pod: PodInfo, node_name: str) -> None:
        """The API refused to bind the member to this node, and it is to have it nevertheless: others of it have theirs.

        A group that is bound in part is of no use, and the API knows no transaction that could have prevented it.
        """
        self._handle.nominator.nominate(pod, node_name)

    def of(self, group: str) -> Iterator[PodInfo]:
        """Members of the group that room is made for."""
        nominator = self._handle.nominator
        return (pod for pod in self._members.unplaced_pods(group) if nominator.nominated_node(pod.uid))

    def take_back(self, group: str) -> None:
        """The group is gone: others may have its room."""
        for pod in [*self.of(group)]:
            if pod.pod.status.nominated_node_name:
                self._handle.spawn(self._end(pod))
            else:
                self._handle.end_promise(pod)

    async def _end(self, pod: PodInfo) -> None:
        """Take the nomination back. If the API cannot be told, it ends in this process alone."""
        patch = msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}})
        path = pod_path(pod.pod.metadata, "status")
        try:
            await self._handle.api.patch(path, patch, content_type=STRATEGIC_MERGE_PATCH)
        except ApiError as error:
            self._handle.end_promise(pod)
            log.warning("A nomination was not taken back", extra={"pairs": {"pod": pod.key, "error": str(error)}})
