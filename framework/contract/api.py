"""The API as plugins may use it: to write objects in PreBind, or as a consequence of a decision.

The handle provides it. `explain`, `why`, `simulate` and trials must write nothing, so plugins call it from their
`async` extension points and from work that they spawned there, never while a decision is made.
"""

from __future__ import annotations

from typing import Protocol

from ..model.meta import Identity

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


def pod_path(pod: Identity, subresource: str = "") -> str:
    """Where a pod is, or a subresource of it."""
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
    return f"{path}/{subresource}" if subresource else path


class ApiError(Exception):
    """A request failed.

    Attributes:
        status: HTTP status; 0 when there was no answer.
        reason: the API's machine-readable reason, e.g. `AlreadyExists`; empty when it gave none.
        retry_after: seconds the server asked to wait; None when it did not ask.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class Api(Protocol):
    """Requests with JSON bodies. `path` is absolute on the server, e.g. `/api/v1/namespaces/a/pods/b/status`.

    Each method answers the server's body and raises ApiError. Writes end with an error once the process does not lead.
    """

    async def get(self, path: str) -> bytes:
        """Read an object."""
        ...

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object or a subresource."""
        ...

    async def put(self, path: str, body: bytes) -> bytes:
        """Replace an object; with its resourceVersion in the body only that version."""
        ...

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        """Change parts of an object."""
        ...

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        """Delete an object; `body` is a DeleteOptions."""
        ...


class NoApi:
    """Implements `Api` where there is no cluster: every request fails."""

    async def get(self, path: str) -> bytes:
        raise _nothing(path)

    async def post(self, path: str, body: bytes) -> bytes:
        raise _nothing(path)

    async def put(self, path: str, body: bytes) -> bytes:
        raise _nothing(path)

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        raise _nothing(path)

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        raise _nothing(path)


def _nothing(path: str) -> ApiError:
    return ApiError(f"there is no API server to ask for {path}")
