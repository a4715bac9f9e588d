"""Reports about groups to users: the plugin that keeps the book of groups decides on their statuses and Events.

The process calls the reporter: one worker for each kind of group writes a group at most once a second, and only while
the process leads. A reporter has no memory of its own: what was reported of a group is in its record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from ..contract.handle import Clock
from ..model.times import rfc3339
from .book import GroupBook
from .record import GroupRecord


class Notice(NamedTuple):
    """The variable parts of an Event; `type` is Normal or Warning."""

    type: str
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class ReportTime:
    """When to report on a group: `after` seconds. Reports with `patient` are written after all other due reports."""

    after: float = 0.0
    patient: bool = False


class DatedCondition(Protocol):
    """A condition in a status."""

    @property
    def status(self) -> str:
        """True, False or Unknown."""
        ...

    @property
    def last_transition_time(self) -> str | None:
        """When the condition got this status."""
        ...


def transition_time(previous: DatedCondition | None, status: str, *, now: float) -> str:
    """When the condition got this status: unless `previous` has it already, `now`, in seconds since the epoch."""
    since = previous.last_transition_time if previous is not None and previous.status == status else None
    return since or rfc3339(now)


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

    def __init__(self, groups: GroupBook[Any, Any], clock: Clock) -> None:
        self._groups = groups
        self._clock = clock

    def report_time(self, group: str) -> ReportTime | None:
        """When to call `report` for a group that changed or was deleted; None for never."""
        return ReportTime() if group in self._groups else None

    @abstractmethod
    def report(self, group: str) -> Report | None:
        """The changes of an existing group; None for none. Called again if the patch was not accepted."""

    def report_of(
        self,
        record: GroupRecord[Any],
        patch: bytes | None,
        notices: Callable[[], Iterable[Notice]],
        *,
        strategic: bool = False,
    ) -> Report:
        """The report of a group's latest announcement, which counts as reported once the patch is accepted.

        `notices` is called then, and returns the Events to record.
        """
        based_on: Any = record.group
        announcement = record.announced

        def accepted(answer: bytes | None) -> Iterable[Notice]:
            events = [*notices()]
            if record.group is not None and record.group.metadata.uid == based_on.metadata.uid:
                record.reported = announcement
                latest = None if answer is None else self._read(answer)
                if latest is not None:
                    record.answered = based_on, latest
            return events

        return Report(patch, strategic, accepted)

    def _read(self, answer: bytes) -> Any:
        """The object in the server's answer to a patch; None to base every report on the informer's object."""
        return None
