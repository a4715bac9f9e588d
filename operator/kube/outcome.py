"""The outcome of a write for a pod, as a value, by which the scheduler decides how to continue with the pod."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .errors import ApiError, Conflict, NotFound


class Result(StrEnum):
    """The result of a write."""

    DONE = "done"
    """The write succeeded."""
    CONFLICT = "conflict"
    """Another client was first: the pod is bound already, is being deleted, or is another pod of the same name."""
    GONE = "gone"
    """The pod no longer exists."""
    FAILED = "failed"
    """Any other failure. Without an answer, the server may have executed the write; the informer then reports it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result and, unless it is DONE, the API server's message."""

    result: Result
    message: str = ""


DONE = Outcome(Result.DONE)


def outcome_of(error: ApiError) -> Outcome:
    """The outcome of a write that ended with this error."""
    match error:
        case Conflict():
            result = Result.CONFLICT
        case NotFound():
            result = Result.GONE
        case _:
            result = Result.FAILED
    return Outcome(result, str(error))
