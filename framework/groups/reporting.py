"""Reports about groups to users: the plugin that keeps the book of groups decides on their statuses and Events.

The process calls the reporter: one worker for each kind of group writes a group at most once a second, and only while
the process leads. The reporter is pure except for its memory of what was written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple


class Notice(NamedTuple):
    """The variable parts of an Event; `kind` is its type, Normal or Warning."""

    kind: str
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class Look:
    """When to report on a group: `after` seconds; a `patient` look comes after all others that are due."""

    after: float = 0.0
    patient: bool = False


def _nothing(_: bytes | None) -> Iterable[Notice]:
    return ()


@dataclass(frozen=True, slots=True)
class Report:
    """The changes of a group that have to be reported.

    Attributes:
        patch: of the status subresource of its object, in JSON; None if it need not be written.
        strategic: whether `patch` is a strategic merge patch, which only built-in kinds accept, not a merge patch.
        accepted: called when the patch was accepted, with the object in the server's answer, or with None if there
            is no patch. It returns the Events to record.
    """

    patch: bytes | None = None
    strategic: bool = False
    accepted: Callable[[bytes | None], Iterable[Notice]] = _nothing


class GroupReporter(ABC):
    """Decides which statuses and Events are written about the groups of one book.

    Attributes:
        counts_ended: whether it counts ended members. If so, `report` is not called before these are known.
    """

    counts_ended: ClassVar[bool] = False

    @abstractmethod
    def look(self, group: str) -> Look | None:
        """When to call `report` for a group that changed or was deleted; None for never."""

    @abstractmethod
    def report(self, group: str) -> Report | None:
        """The changes of an existing group; None for none. Called again if the patch was not accepted."""
