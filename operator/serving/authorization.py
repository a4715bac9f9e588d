"""Access control of the pages by the API server, as in kube-scheduler.

A TokenReview identifies the bearer of a token. A SubjectAccessReview decides whether that user may `get` the path, or,
for a page about one pod, `get` the pod: users who may read a pod may read why it waits. Without a token the user is
`system:anonymous`, who may read what a role grants to `system:unauthenticated`. Answers are kept for ten seconds. If
the API server cannot be asked, access is denied.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

import msgspec
from cachetools import TTLCache

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SUBJECT_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
DECISION_SECONDS = 10.0
_REMEMBERED = 4096
_LONGEST_REMEMBERED = 128
"""The longest path whose answer is cached, in characters: no rule grants longer ones, and clients choose them."""
_ASKED_AT_ONCE = 8

POD_PAGE = re.compile(r"/namespaces/([^/]+)/pods/([^/]+)/why")
"""The address of a page about one pod, with its namespace and name."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """Whether a request is allowed (OK), or else the status and the message of the rejection."""

    status: HTTPStatus
    message: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the page may be served."""
        return self.status is HTTPStatus.OK


class Authorizer(Protocol):
    """Decides on requests; called for every page except the health pages."""

    async def authorize(self, token: str | None, path: str) -> AccessDecision:
        """Whether the bearer of `token` (None without a token) may get `path`. Raises no error."""


class ReviewClient(Protocol):
    """The part of an API client that reviews need."""

    async def post(self, path: str, body: bytes) -> bytes:
        """Post a JSON body to `path`; returns the answer's body. Raises an error without a 2xx answer."""


class ReviewAuthorizer:
    """Asks the API server, and caches its answers for a while; failures are not cached.

    Args:
        api: the client for the reviews; its user must be allowed to create them (system:auth-delegator).
        timer: returns monotonic seconds.
        ttl: the lifetime of an answer, in seconds.
    """

    def __init__(self, api: ReviewClient, *, timer: Callable[[], float], ttl: float = DECISION_SECONDS) -> None:
        self._api = api
        self._turns = asyncio.Semaphore(_ASKED_AT_ONCE)
        self._users: TTLCache[bytes, _User | None] = TTLCache(_REMEMBERED, ttl, timer)
        self._decisions: TTLCache[tuple[bytes, str], AccessDecision] = TTLCache(_REMEMBERED, ttl, timer)

    async def authorize(self, token: str | None, path: str) -> AccessDecision:
        """Implements `Authorizer`."""
        bearer = b"" if token is None else hashlib.sha256(token.encode()).digest()
        try:
            user = _ANONYMOUS if token is None else await self._user(bearer, token)
        except Exception as error:
            log.error("Unable to authenticate the request", extra={"pairs": {"err": error}})
            user = None
        if user is None:
            return AccessDecision(HTTPStatus.UNAUTHORIZED, "Unauthorized")
        with suppress(KeyError):
            return self._decisions[bearer, path]
        try:
            allowed = await self._may_get(user, path)
        except Exception as error:
            pairs = {"user": user.username, "path": path, "err": error}
            log.error("Unable to authorize the request", extra={"pairs": pairs})
            return AccessDecision(HTTPStatus.INTERNAL_SERVER_ERROR, f'Internal Server Error: "{path}": {error}')
        decision = _ALLOWED if allowed else _forbidden(user, path)
        if len(path) <= _LONGEST_REMEMBERED:
            self._decisions[bearer, path] = decision
        return decision

    async def _user(self, bearer: bytes, token: str) -> _User | None:
        with suppress(KeyError):
            return self._users[bearer]
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = await self._ask(TOKEN_REVIEWS, msgspec.json.encode(review))
        status = msgspec.json.decode(answer, type=_TokenReview).status
        user = status.user if status.authenticated else None
        self._users[bearer] = user
        return user

    async def _may_get(self, user: _User, path: str) -> bool:
        of_pod = _of_pod(path)
        review = _AccessReview(
            spec=_AccessSpec(
                resourceAttributes=of_pod,
                nonResourceAttributes={} if of_pod else {"path": path, "verb": "get"},
                user=user.username,
                groups=user.groups,
                uid=user.uid,
                extra=user.extra,
            )
        )
        answer = await self._ask(SUBJECT_ACCESS_REVIEWS, msgspec.json.encode(review))
        return msgspec.json.decode(answer, type=_AccessReviewAnswer).status.allowed

    async def _ask(self, path: str, body: bytes) -> bytes:
        """Ask a few questions at a time: clients can invent tokens faster than an API server should review them."""
        async with self._turns:
            return await self._api.post(path, body)


class _User(msgspec.Struct, frozen=True, omit_defaults=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _User = _User()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus


class _AccessSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    nonResourceAttributes: dict[str, str] = {}
    resourceAttributes: dict[str, str] = {}
    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, tuple[str, ...]] = {}


class _AccessReview(msgspec.Struct, frozen=True):
    spec: _AccessSpec
    apiVersion: str = "authorization.k8s.io/v1"
    kind: str = "SubjectAccessReview"


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _AccessReviewAnswer(msgspec.Struct, frozen=True):
    status: _AccessStatus


_ANONYMOUS = _User(username="system:anonymous", groups=("system:unauthenticated",))
_ALLOWED = AccessDecision(HTTPStatus.OK)


def _of_pod(path: str) -> dict[str, str]:
    """The access to check for a page about one pod; empty for other pages."""
    match = POD_PAGE.fullmatch(path)
    if match is None:
        return {}
    namespace, name = match.groups()
    return {"namespace": namespace, "verb": "get", "resource": "pods", "version": "v1", "name": name}


def _forbidden(user: _User, path: str) -> AccessDecision:
    of_pod = _of_pod(path)
    if of_pod:
        what = f'User "{user.username}" cannot get resource "pods" in API group ""'
        where = f'in the namespace "{of_pod["namespace"]}"'
        return AccessDecision(HTTPStatus.FORBIDDEN, f'pods "{of_pod["name"]}" is forbidden: {what} {where}')
    return AccessDecision(HTTPStatus.FORBIDDEN, f'forbidden: User "{user.username}" cannot get path "{path}"')
