"""Authentication as request headers, which may change while the process runs.

`transport` asks `current()` before each request and calls `renew()` when no credential is current or the server
answered 401. Nothing here shows a secret in its repr.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from multidict import CIMultiDict

from .errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Headers = CIMultiDict[str]

log = logging.getLogger(__name__)

_FILE_PERIOD = 60.0


class Auth(Protocol):
    """A source of request headers."""

    def current(self) -> Headers | None:
        """The headers to send; None if `renew` must be awaited first. Cheap, because every request calls it."""
        ...

    async def renew(self, rejected: Headers | None) -> bool:
        """Get new headers, unless `current()` is another object than `rejected` already.

        Returns whether another try makes sense. Raises CredentialsError if there are no new headers.
        """
        ...


class StaticAuth:
    """Headers that never change; none for users with a client certificate."""

    def __init__(self, headers: Headers | None = None) -> None:
        self._headers = CIMultiDict[str]() if headers is None else headers

    def current(self) -> Headers:
        """The headers."""
        return self._headers

    async def renew(self, rejected: Headers | None) -> bool:
        """Return False, because the headers cannot be renewed."""
        return False


class TokenFileAuth:
    """A bearer token in a file that another program rotates, such as a service account's.

    The file is read again every minute and after a 401. While it cannot be read, the last token stays in use.
    The constructor raises CredentialsError if there is no token.
    """

    def __init__(
        self, path: Path, *, headers: Headers | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._other_headers = CIMultiDict[str]() if headers is None else headers
        self._clock = clock
        try:
            self._current = self._read()
        except OSError as error:
            raise CredentialsError(f"{path}: token file cannot be read: {error.strerror}") from error
        self._read_at = clock()

    def current(self) -> Headers:
        """The headers with the last token read."""
        if self._clock() - self._read_at >= _FILE_PERIOD:
            self._refresh()
        return self._current

    async def renew(self, rejected: Headers | None) -> bool:
        """Read the file now; returns whether the token has changed."""
        if self._current is rejected:
            self._refresh()
        return self._current is not rejected

    def _refresh(self) -> None:
        self._read_at = self._clock()
        try:
            fresh = self._read()
        except (OSError, CredentialsError) as error:
            log.warning("keeping the previous token: %s", error)
            return
        if fresh != self._current:
            self._current = fresh

    def _read(self) -> Headers:
        token = self._path.read_text().strip()
        if not token:
            raise CredentialsError(f"{self._path}: token file is empty")
        return with_bearer(self._other_headers, token)


@dataclass(frozen=True, slots=True)
class Issued:
    """The credentials that a plugin issued.

    Attributes:
        headers: the headers of each request.
        expires: the time at which they become stale, in wall-clock seconds since the epoch; None if unknown.
    """

    headers: Headers = field(repr=False)
    expires: float | None = None


class PluginAuth:
    """Headers that a blocking call issues: an exec plugin, or an OIDC token endpoint.

    The call runs in a thread, once for all requests that wait for it. These requests get its exception.
    """

    def __init__(self, issue: Callable[[], Issued], *, wall_clock: Callable[[], float] = time.time) -> None:
        self._issue = issue
        self._wall_clock = wall_clock
        self._issued: Issued | None = None
        self._renewing = asyncio.Lock()

    def current(self) -> Headers | None:
        """The headers, while they are valid."""
        issued = self._issued
        if issued is None or (issued.expires is not None and self._wall_clock() >= issued.expires):
            return None
        return issued.headers

    async def renew(self, rejected: Headers | None) -> bool:
        """Let the call issue new headers."""
        async with self._renewing:
            current = self.current()
            if current is None or current is rejected:
                self._issued = await asyncio.to_thread(self._issue)
            return True


def with_bearer(headers: Headers, token: str) -> Headers:
    """These headers, and the header with a bearer token."""
    return CIMultiDict([*headers.items(), ("Authorization", f"Bearer {token}")])
