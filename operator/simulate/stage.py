"""The API of a rehearsal, which accepts every binding, eviction and status, and keeps them only until it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.framework.contract import MERGE_PATCH, ApiError, Status
from muster.framework.contract.api import NoApi
from muster.framework.embedded.silent import Silent
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo

_NOT_FOUND = 404


class RehearsalApi(NoApi, Silent):
    """The API of a rehearsal.

    Attributes:
        bound: the node of each pod that was bound, by UID.
        messages: the last message about each pod, by UID.
        running: pods that run in the cluster, by `namespace/name`.
    """

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self.running: dict[str, Pod] = {}
        self._news: list[tuple[Pod, str]] = []
        self._deleted: list[Pod] = []

    @property
    def has_news(self) -> bool:
        """Whether bindings or deletions were not fetched yet."""
        return bool(self._news or self._deleted)

    def news(self) -> Sequence[tuple[Pod, str]]:
        """Fetch the pods that were bound since the last call."""
        news, self._news = self._news, []
        return news

    def deletions(self) -> Sequence[Pod]:
        """Fetch the pods that were deleted through the API since the last call."""
        deleted, self._deleted = self._deleted, []
        return deleted

    def take_off(self, uid: str) -> str:
        """Delete a pod; returns its node."""
        self.messages.pop(uid, None)
        return self.bound.pop(uid, "")

    def end(self, pod: Pod) -> None:
        """End a running pod."""
        del self.running[pod.metadata.key]

    def restore(self, running: Mapping[str, Pod]) -> Sequence[Pod]:
        """Replace the running pods, by `namespace/name`; returns the pods that do not run any more."""
        back = [pod for key, pod in running.items() if key not in self.running]
        self.running = dict(running)
        return back

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.bound[pod.uid] = node_name
        self._news.append((pod.pod, node_name))
        return None

    def event(
        self, regarding: PodInfo, *, type: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        self.messages[regarding.uid] = note

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        """Delete a pod that runs in the cluster; a pod that the rehearsal placed waits again."""
        *_, namespace, _, name = path.split("/")
        pod = self.running.pop(f"{namespace}/{name}", None)
        if pod is None:
            raise ApiError(f'pods "{name}" not found', status=_NOT_FOUND, reason="NotFound")
        self._deleted.append(pod)
        return b"{}"

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        """Accept a write to an object without effect."""
        return b"{}"

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        self.messages[pod.uid] = message
