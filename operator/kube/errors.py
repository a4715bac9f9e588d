"""The errors of requests, classified by the reaction of the caller.

All modules that use `transport` raise only these; `transport` translates aiohttp's errors. The text of an error is
the API server's own message if it sent one, because users read it in events and logs.
"""

from __future__ import annotations

import msgspec

from muster.framework.contract import ApiError

__all__ = ["ApiError"]


class CredentialsError(Exception):
    """The kubeconfig or service account cannot be used. The text names the file and the field, never a secret."""


class Rejected(ApiError):
    """The server will never accept this request (400, 405, 413, 415, 422 and similar). Correct it or drop it."""


class Unauthorized(ApiError):
    """401 also with fresh credentials. An administrator must correct them, unless they are being rotated."""


class Forbidden(ApiError):
    """403: an access rule is missing. Report it, and try again later."""


class NotFound(ApiError):
    """404: the object, or the resource, does not exist."""


class Conflict(ApiError):
    """409: another write came first. Read again before retrying; `reason` is AlreadyExists or Conflict."""


class Gone(ApiError):
    """410: the resource version or continue token is too old. List again."""


class TooManyRequests(ApiError):
    """429: wait `retry_after` seconds, or a backoff, then send the request again."""


class ServerError(ApiError):
    """5xx: an error of the server; the request may succeed later."""


class Unreachable(ApiError):
    """No answer arrived. A write may or may not have taken effect."""


class NotKubernetes(ApiError):
    """The answer is not from a Kubernetes API server, but from another program or a proxy at this address."""


class ConnectionRefused(Unreachable):
    """The server's port is closed: the request was certainly not executed."""


class Fenced(ApiError):
    """This process may not write any more; the request was not sent."""


class TimedOut(Unreachable):
    """The server took longer than the caller wanted to wait."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: TooManyRequests,
}


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: float = 0


class StatusBody(msgspec.Struct):
    """The API's `Status` object, as far as a caller reads it."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_decode_status = msgspec.json.Decoder(StatusBody).decode
_LONGEST_FOREIGN_TEXT = 300


def error_from_response(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error for an HTTP answer. `retry_after` is the text of the header, if any."""
    try:
        parsed = _decode_status(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        parsed = StatusBody()
    if not parsed.message:
        text = body[:_LONGEST_FOREIGN_TEXT].decode(errors="replace").strip()
        parsed.message = f"the server answered {status}" + (f": {text}" if text else "")
    parsed.code = status
    return error_from_status(parsed, seconds=_seconds(retry_after))


def error_from_status(parsed: StatusBody, *, seconds: float | None = None) -> ApiError:
    """The error for a `Status` object in a watch stream or a body.

    `seconds` is the wait in the Retry-After header; without it, the object's details count.
    """
    if seconds is None and parsed.details is not None and parsed.details.retry_after_seconds > 0:
        seconds = parsed.details.retry_after_seconds
    kind = _BY_STATUS.get(parsed.code) or (ServerError if parsed.code >= 500 else Rejected)
    message = parsed.message or parsed.reason or f"the server answered {parsed.code}"
    return kind(message, status=parsed.code, reason=parsed.reason, retry_after=seconds)


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdecimal() else None
