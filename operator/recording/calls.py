"""The engine's calls to binder and API: their names in a recording, and the recorder of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from muster.framework.contract import MERGE_PATCH, ApiError

from .events import Answered, Failure
from .secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from muster.framework.contract import Api, Binder, PodInfo, Status

    from .events import AnyEvent
    from .tasks import Tasks


def binding(uid: str, node_name: str) -> str:
    """The name of the call that binds this pod to this node."""
    return f"bind {uid} {node_name}"


def api_request(verb: str, path: str) -> str:
    """The name of a plugin's request."""
    return f"{verb} {path}"


class ApiPath(NamedTuple):
    """A path of the API in parts; "" for a missing part.

    Attributes:
        served: the beginning up to the version, such as `/apis/apps/v1`.
        behind: the subresource after the name, with its slash.
    """

    served: str
    namespace: str
    plural: str
    name: str
    behind: str

    @property
    def collection(self) -> str:
        """The path of all objects of the kind."""
        return f"{self.served}/{self.plural}"

    def __str__(self) -> str:
        within = f"/namespaces/{self.namespace}" if self.namespace else ""
        of = "".join(f"/{part}" for part in (self.plural, self.name) if part)
        return f"{self.served}{within}{of}{self.behind}"


def read_path(path: str) -> ApiPath:
    """Split a path into its parts."""
    parts = path.split("/")
    start = 3 if parts[1:2] == ["api"] else 4
    served, rest = "/".join(parts[:start]), parts[start:]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, *behind = (*rest, "", "")[: max(len(rest), 2)]
    return ApiPath(served, namespace, plural, name, "".join(f"/{part}" for part in behind))


class RecordedBinder:
    """Implements `contract.Binder`."""

    def __init__(
        self, record: Callable[[AnyEvent], None], now: Callable[[], float], tasks: Tasks, binder: Binder
    ) -> None:
        self._record = record
        self._now = now
        self._tasks = tasks
        self._binder = binder

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        with self._tasks.outside():
            status = await self._binder.bind(pod, node_name)
        failed = None if status is None else Failure(status.message)
        self._record(Answered(self._now(), binding(pod.uid, node_name), self._tasks.current, failed=failed))
        return status


class RecordedApi:
    """Implements `contract.Api`."""

    def __init__(self, record: Callable[[AnyEvent], None], now: Callable[[], float], tasks: Tasks, api: Api) -> None:
        self._record = record
        self._now = now
        self._tasks = tasks
        self._api = api

    async def get(self, path: str) -> bytes:
        return await self._asked("get", path, self._api.get(path))

    async def post(self, path: str, body: bytes) -> bytes:
        return await self._asked("post", path, self._api.post(path, body))

    async def put(self, path: str, body: bytes) -> bytes:
        return await self._asked("put", path, self._api.put(path, body))

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        return await self._asked("patch", path, self._api.patch(path, body, content_type=content_type))

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        return await self._asked("delete", path, self._api.delete(path, body))

    async def _asked(self, verb: str, path: str, request: Coroutine[Any, Any, bytes]) -> bytes:
        try:
            with self._tasks.outside():
                answer = await request
        except ApiError as error:
            failed = Failure(str(error), error.status, error.reason, error.retry_after)
            self._record(Answered(self._now(), api_request(verb, path), self._tasks.current, failed=failed))
            raise
        self._record(Answered(self._now(), api_request(verb, path), self._tasks.current, without_secrets(answer)))
        return answer
