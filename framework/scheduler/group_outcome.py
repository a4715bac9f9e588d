"""The outcome of deciding a group, member by member: `GroupScheduler` collects it, then acts on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..contract.decision import GroupDecision
from ..contract.status import Status
from ..metrics import GroupResult
from ..runtime.group_calls import GroupCalls
from .attempt import Attempt


@dataclass(slots=True)
class GroupOutcome:
    """Each member is in one of the lists.

    Attributes:
        placed: attempts that have a node, reserved.
        failed: attempts that have none, each with its status.
        together: whether the failed ones failed as a group, for one reason.
        first_lost: the first that had a node and could not be reserved there.
        decision: what the trial came to; None where all members were tried each on its own.
        alone: those that were.
        whole: whether all that are placed are bound, or none.
        awaits_victims: whether others are evicted for those that failed.
        asks: whether extenders have to be asked first; then no member is in any list.
    """

    placed: list[Attempt] = field(default_factory=list)
    failed: list[Attempt] = field(default_factory=list)
    together: bool = False
    first_lost: Attempt | None = None
    decision: GroupDecision | None = None
    alone: list[Attempt] = field(default_factory=list)
    whole: bool = False
    awaits_victims: bool = False
    asks: bool = False

    @classmethod
    def at_fault(
        cls, plugin: GroupCalls, group: str, missing: int, attempts: Sequence[Attempt], *, status: Status
    ) -> GroupOutcome:
        """An error of the group: all members get this status."""
        for attempt in attempts:
            attempt.fail(status)
        waiting = [attempt.pod for attempt in attempts]
        decision = GroupDecision(plugin.name, group, status, status, 0, missing, (), waiting)
        return cls(failed=[*attempts], together=True, decision=decision)

    @classmethod
    def unheard(
        cls, plugin: GroupCalls, group: str, missing: int, attempts: Sequence[Attempt], *, status: Status
    ) -> GroupOutcome:
        """Extenders have to be asked before the group can be decided, or one of them failed."""
        if status.rejected:
            return cls(asks=True)
        return cls.at_fault(plugin, group, missing, attempts, status=status.by(plugin.name))

    def failure(self) -> GroupResult:
        """The result of an attempt that did not start the group, as a label of metrics."""
        if self.awaits_victims:
            return "waiting_on_preemption"
        statuses = [attempt.status for attempt in self.failed if attempt.status is not None]
        return "unschedulable" if all(status.rejected for status in statuses) else "error"
