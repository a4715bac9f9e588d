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
    """Each member is in one of the lists `placed` and `failed`.

    Attributes:
        placed: attempts that have a node reserved.
        failed: attempts that have no node, each with its status.
        together: whether the failed members failed as a group, for one reason.
        first_lost: the first member that found a node but could not be reserved or permitted there.
        decision: the result of the trial; None if all members were tried one by one.
        alone: the members that were tried one by one.
        whole: whether the placed members are bound all or none.
        awaits_victims: whether pods are evicted for the failed members.
        needs_extenders: whether extenders have to be asked first; no member is in any list then.
    """

    placed: list[Attempt] = field(default_factory=list)
    failed: list[Attempt] = field(default_factory=list)
    together: bool = False
    first_lost: Attempt | None = None
    decision: GroupDecision | None = None
    alone: list[Attempt] = field(default_factory=list)
    whole: bool = False
    awaits_victims: bool = False
    needs_extenders: bool = False

    @classmethod
    def at_fault(
        cls, plugin: GroupCalls, group: str, missing: int, attempts: Sequence[Attempt], *, status: Status
    ) -> GroupOutcome:
        """The outcome of an error of the group: all members get this status."""
        for attempt in attempts:
            attempt.fail(status)
        waiting = [attempt.pod for attempt in attempts]
        decision = GroupDecision(plugin.name, group, status, status, 0, missing, (), waiting)
        return cls(failed=[*attempts], together=True, decision=decision)

    @classmethod
    def of_extenders(
        cls, plugin: GroupCalls, group: str, missing: int, attempts: Sequence[Attempt], *, status: Status
    ) -> GroupOutcome:
        """The outcome if extenders have to be asked first (`status` is a rejection), or one failed (an ERROR)."""
        if status.rejected:
            return cls(needs_extenders=True)
        return cls.at_fault(plugin, group, missing, attempts, status=status.by(plugin.name))

    def failure(self) -> GroupResult:
        """The result of an attempt that did not start the group, as a label of metrics."""
        if self.awaits_victims:
            return "waiting_on_preemption"
        statuses = [attempt.status for attempt in self.failed if attempt.status is not None]
        return "unschedulable" if all(status.rejected for status in statuses) else "error"
