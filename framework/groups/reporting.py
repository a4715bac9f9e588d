"""Reports about groups to users: the statuses and Events that the plugin which keeps their book decides on.

The process asks: one worker for each kind of group writes a group at most once a second, and only while the process
leads. The reporter is pure except for its memory of what was written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple


class Notice(NamedTuple):
    """An Event's variable parts; `kind` is Normal or Warning."""

    kind: str
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class Look:
    """When to look at a group: after so many seconds; a patient look comes after all others that are due."""

    after: float = 0.0
    patient: bool = False


def _nothing(_: bytes | None) -> Iterable[Notice]:
    return ()


@dataclass(frozen=True, slots=True)
class Report:
    """The changes of a group that have to be reported.

    Attributes:
        patch: of the status subresource of its object, in JSON; None if it need not be written.
        strategic: whether that is a strategic merge patch, which only the API's own kinds accept, not a merge patch.
        accepted: called when the patch was accepted, with the object in the server's answer, or with None if there
            is no patch. It returns the Events to record.
    """

    patch: bytes | None = None
    strategic: bool = False
    accepted: Callable[[bytes | None], Iterable[Notice]] = _nothing


class GroupReporter(ABC):
    """Decides which statuses and Events are written about the groups of one book.

    Attributes:
        counts_ended: whether it counts ended members: then it is asked for no report before these are known.
    """

    counts_ended: ClassVar[bool] = False

    @abstractmethod
    def look(self, group: str) -> Look | None:
        """When to ask for a report on a group that changed or is gone; None for not at all."""

    @abstractmethod
    def report(self, group: str) -> Report | None:
        """The changes of an existing group; None for none. Asked again if the patch was not accepted."""
