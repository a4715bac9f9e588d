"""The API's refusals: one exception that carries a `metav1.Status`, and a constructor per HTTP meaning.

Raised by the store and its rules, turned into bytes only at the HTTP edge. The texts are kube-apiserver's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.sandbox.registry import Kind, stored_as


class StatusError(Exception):
    """A refused request. `code` is the HTTP status, `reason` the machine-readable `metav1.StatusReason`."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        list_continue: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.list_continue = list_continue

    def status(self) -> dict[str, Any]:
        """The `v1.Status` object that a client gets as the body, or as an ERROR event of a watch."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.list_continue} if self.list_continue else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return status | {"code": self.code}


REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"

_CAUSE_TEXTS = {
    REQUIRED: "Required value",
    INVALID: "Invalid value",
    TYPE_INVALID: "Invalid value",
    NOT_SUPPORTED: "Unsupported value",
    FORBIDDEN: "Forbidden",
    DUPLICATE: "Duplicate value",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
}


@dataclass(frozen=True, slots=True)
class InvalidField:
    """An error of one field: `cause` is a key of the texts above, `field` a path as `spec.volumes[0].name`."""

    cause: str
    field: str
    detail: str = ""
    value: Any = None

    def body(self) -> str:
        """The message without the field, as it stands in `details.causes[].message`."""
        text = _CAUSE_TEXTS[self.cause]
        if self.cause not in (REQUIRED, FORBIDDEN, TOO_LONG):
            text += f": {msgspec.json.encode(self.value).decode()}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def aggregate(errors: Sequence[InvalidField]) -> str:
    """All errors as one text: bare if there is one, else in brackets; repeated ones count once."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def invalid(kind: Kind, name: str, errors: Sequence[InvalidField]) -> StatusError:
    """422: the object was decoded and is invalid."""
    return invalid_of(kind.kind, name, errors, group=stored_as(kind).group)


def invalid_of(kind: str, name: str, errors: Sequence[InvalidField], *, group: str = "") -> StatusError:
    """422 for something that is not a stored kind, such as the options of a request."""
    causes = [{"reason": error.cause, "message": error.body(), "field": error.field} for error in errors]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    qualified = f"{kind}.{group}" if group else kind
    message = f'{qualified} "{name}" is invalid: {aggregate(errors)}'
    return StatusError(422, "Invalid", message, details=_without_empty(details))


def unprocessable() -> StatusError:
    """422 for a patch that cannot be carried out. Like kube-apiserver, it does not say what is wrong with the patch."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def invalid_patch(patch: Any, why: str) -> StatusError:
    """422 for a patch that leaves something that cannot be read; `patch` is what the message shows of it."""
    return invalid_of("", "", [InvalidField(INVALID, "patch", why, value=_as_go_prints(patch))])


def _as_go_prints(value: Any) -> str:
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_as_go_prints(item)}' for key, item in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(_as_go_prints(item) for item in value)}]"
    return str(value).lower() if isinstance(value, bool) else "<nil>" if value is None else str(value)


def untyped_patch(kind: Kind, config: dict[str, Any], faults: Sequence[str]) -> StatusError:
    """500 for an applied config that does not fit the schema of its kind."""
    given = config.get("metadata") or {}
    typed = f"{kind.group}/{kind.version}, Kind={kind.kind}"
    listed = faults[0] if len(faults) == 1 else "errors:\n" + "\n".join(f"  {fault}" for fault in faults)
    named = f"{given.get('namespace', '')}/{given.get('name', '')}"
    return StatusError(500, "", f"failed to create typed patch object ({named}; {typed}): {listed}")


def not_found(kind: Kind, name: str) -> StatusError:
    """404 for an object."""
    return StatusError(404, "NotFound", f'{kind.qualified} "{name}" not found', details=_details(kind, name))


def no_such_path() -> StatusError:
    """404 for a path that no kind answers."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(kind: Kind, name: str, *, deleting: bool) -> StatusError:
    """409 on create; `deleting` says whether the existing object is being deleted."""
    message = f'{"object is being deleted: " if deleting else ""}{kind.qualified} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_details(kind, name))


def conflict(kind: Kind, name: str, why: str, *, resource: str = "") -> StatusError:
    """409: the object is not in the state that the request relies on; `resource` replaces the kind's own name."""
    subject = resource or kind.qualified
    details = {"name": name, "group": kind.group, "kind": resource or kind.resource}
    message = f'Operation cannot be fulfilled on {subject} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_without_empty(details))


def modified(kind: Kind, name: str) -> StatusError:
    """409: the resource version is not the newest."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why)


def forbidden(kind: Kind, name: str, why: str) -> StatusError:
    """403 by admission."""
    subject = f'{kind.qualified} "{name}"' if name else kind.qualified
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", details=_details(kind, name))


def bad_request(message: str) -> StatusError:
    """400: the request makes no sense whatever is stored."""
    return StatusError(400, "BadRequest", message)


def unreadable(api_version: str, name: str, kind: Kind, why: str) -> StatusError:
    """400: the body is not an object of the kind at all; `api_version` and `name` are what it says it is."""
    version = api_version.rpartition("/")[2]
    return bad_request(f'{name} in version "{version}" cannot be handled as a {kind.kind}: {why}')


def method_not_allowed() -> StatusError:
    """405: the path exists and does not answer this verb."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def unsupported_media_type(accepted: Sequence[str], hint: str = "") -> StatusError:
    """415: the body's content type is not one of `accepted`; `hint` says what to do instead."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return StatusError(415, "UnsupportedMediaType", f"{message}; {hint}" if hint else message)


def too_large(limit: int) -> StatusError:
    """413: the body has more than `limit` bytes."""
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message)


def expired(message: str, *, list_continue: str = "") -> StatusError:
    """410: the history that the request needs is gone; `list_continue` is the token of an inconsistent continuation."""
    return StatusError(410, "Expired", message, list_continue=list_continue)


def too_many_requests(message: str, *, causes: list[dict[str, Any]], retry_after: int = 0) -> StatusError:
    """429 with the seconds to wait; an eviction that a disruption budget forbids."""
    details: dict[str, Any] = {"causes": causes}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return StatusError(429, "TooManyRequests", message, details=details)


def _details(kind: Kind, name: str) -> dict[str, Any]:
    return _without_empty({"name": name, "group": kind.group, "kind": kind.resource})


def _without_empty(details: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in details.items() if value}
