"""The API of a rehearsal: it accepts every binding, eviction and status, and stores none of them afterwards."""

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
        """Whether something was bound or deleted that was not asked for yet."""
        return bool(self._news or self._deleted)

    def news(self) -> Sequence[tuple[Pod, str]]:
        """The pods bound since the last call."""
        news, self._news = self._news, []
        return news

    def deletions(self) -> Sequence[Pod]:
        """The pods that were deleted through the API since this was last asked for."""
        deleted, self._deleted = self._deleted, []
        return deleted

    def take_off(self, uid: str) -> str:
        """The pod is deleted. Returns its node."""
        self.messages.pop(uid, None)
        return self.bound.pop(uid, "")

    def end(self, pod: Pod) -> None:
        """A running pod ends."""
        del self.running[pod.metadata.key]

    def restore(self, running: Mapping[str, Pod]) -> Sequence[Pod]:
        """Let exactly these pods run, by `namespace/name`. Returns those that no longer run."""
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
        """Deletes a pod that runs in the cluster; one that was placed in the rehearsal is only to wait again."""
        *_, namespace, _, name = path.split("/")
        pod = self.running.pop(f"{namespace}/{name}", None)
        if pod is None:
            raise ApiError(f'pods "{name}" not found', status=_NOT_FOUND, reason="NotFound")
        self._deleted.append(pod)
        return b"{}"

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        """Accepts a write about an object, and changes nothing."""
        return b"{}"

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        self.messages[pod.uid] = message
