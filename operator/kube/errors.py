"""The errors of requests, divided by what the caller may do about them.

Everything below `transport` raises only these; aiohttp's own errors are translated once, there. The text of an error is
the API server's own message if it sent one, because users read it in events and logs.
"""

from __future__ import annotations

import msgspec

from muster.framework.contract import ApiError

__all__ = ["ApiError"]


class CredentialsError(Exception):
    """The kubeconfig or service account cannot be used. The text names the file and the field, never a secret."""


class Rejected(ApiError):
    """The server will never take this request as it is (400, 405, 413, 415, 422 and the like). Mend it or drop it."""


class Unauthorized(ApiError):
    """401 even with fresh credentials. Someone must mend the credentials; waiting helps if they are being rotated."""


class Forbidden(ApiError):
    """403: an access rule is missing. Say so, and try again later."""


class NotFound(ApiError):
    """404: the object, or the whole resource, is not there."""


class Conflict(ApiError):
    """409: another write came first. Read again before retrying; `reason` is AlreadyExists or Conflict."""


class Gone(ApiError):
    """410: the resource version or continue token is too old. List again."""


class TooManyRequests(ApiError):
    """429: wait `retry_after` seconds, or a backoff of your own, then send the same again."""


class ServerError(ApiError):
    """5xx: the server's trouble; the same request may pass later."""


class Unreachable(ApiError):
    """No answer arrived. A write may or may not have taken effect."""


class NotKubernetes(ApiError):
    """The answer is not one of a Kubernetes API server: another program or a proxy's page is at this address."""


class ConnectionRefused(Unreachable):
    """The server's port is closed: the request was certainly not done."""


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
    """The error that an HTTP answer stands for. `retry_after` is the header's text, if there was one."""
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
    """The error that a `Status` object stands for, as sent inside a watch stream or as a body.

    `seconds` is how long the Retry-After header asked to wait; without it the object's own details count.
    """
    if seconds is None and parsed.details is not None and parsed.details.retry_after_seconds > 0:
        seconds = parsed.details.retry_after_seconds
    kind = _BY_STATUS.get(parsed.code) or (ServerError if parsed.code >= 500 else Rejected)
    message = parsed.message or parsed.reason or f"the server answered {parsed.code}"
    return kind(message, status=parsed.code, reason=parsed.reason, retry_after=seconds)


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdecimal() else None
