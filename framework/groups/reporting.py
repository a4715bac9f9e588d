"""Reports about groups to users: the statuses and Events that the plugin which keeps their book decides on.

The process asks: one worker for each kind of group writes a group at most once a second, and only while the process
leads. What was reported of a group is in its record; a reporter itself remembers nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..contract.handle import Clock
from .book import GroupBook
from .record import GroupRecord


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

    def __init__(self, groups: GroupBook[Any, Any], clock: Clock) -> None:
        self._groups = groups
        self._clock = clock

    def look(self, group: str) -> Look | None:
        """When to ask for a report on a group that changed or is gone; None for not at all."""
        return Look() if group in self._groups else None

    @abstractmethod
    def report(self, group: str) -> Report | None:
        """The changes of an existing group; None for none. Asked again if the patch was not accepted."""

    def report_of(
        self,
        record: GroupRecord[Any],
        patch: bytes | None,
        notices: Callable[[], Iterable[Notice]],
        *,
        strategic: bool = False,
    ) -> Report:
        """The report of the last word on a group. It counts as reported once the patch is accepted, with the Events
        that `notices` then returns; unless the object is gone by then.
        """
        based_on: Any = record.group
        announcement = record.announced

        def accepted(answer: bytes | None) -> Iterable[Notice]:
            told = [*notices()]
            if record.group is not None and record.group.metadata.uid == based_on.metadata.uid:
                record.reported = announcement
                latest = None if answer is None else self._read(answer)
                if latest is not None:
                    record.answered = based_on, latest
            return told

        return Report(patch, strategic, accepted)

    def _read(self, answer: bytes) -> Any:
        """The object in the server's answer to a patch; None to base reports on what the informer reports alone."""
        return None
