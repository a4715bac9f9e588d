"""How members of a group that fit get their nodes: reserved, permitted and bound together, or released together.

`schedule_group` calls `reserve_and_permit` within its decision, and runs `bind` as one task for all members.
Guarantees: none of the members that were placed in one transaction is bound if the quorum is lost before; a member that
loses its node releases what was reserved for it, the last member first; and a large group leaves writes free for other
pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from ..contract.status import Status
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed
from ..runtime.group_calls import GroupCalls
from ..runtime.points import MISSING
from ..work import Worker, checkpoint, commit
from .attempt import Attempt
from .engine_services import EngineServices
from .group_outcome import GroupOutcome
from .schedule_one import MEMBERS_AT_ONCE, PodScheduler

_BEGIN_AT_ONCE = 64


class GroupBinding:
    """Reserves and binds members of groups of all profiles, each as `schedule_one` does a pod."""

    def __init__(self, services: EngineServices, pods: PodScheduler) -> None:
        self._known = services.known
        self._call_watch = services.call_watch
        self._standstill = services.ports.standstill
        self._cycle = pods.scheduling_cycle
        self._binding_cycle = pods.binding_cycle
        self._failures = pods.failures
        self._observer = pods.observer

    def reserve_and_permit(self, fitting: Sequence[Attempt], missing: int, outcome: GroupOutcome) -> None:
        """Reserve for real, then permit. If too few members are left, all are released, the last first."""
        commit()
        for index, attempt in enumerate(fitting):
            if self._cycle.assume_and_reserve(attempt):
                outcome.placed.append(attempt)
            elif not self._go_on(attempt, len(outcome.placed) + len(fitting) - index - 1, missing, outcome):
                self._release_all(attempt, fitting[index + 1 :], outcome)
                return
            checkpoint()
        # All members are reserved before the first is permitted, so that no member waits at Permit for a sibling whose
        # Reserve fails.
        placed, outcome.placed = outcome.placed, []
        for index, attempt in enumerate(placed):
            if self._cycle.permit(attempt):
                outcome.placed.append(attempt)
            elif not self._go_on(attempt, len(outcome.placed) + len(placed) - index - 1, missing, outcome):
                outcome.placed += placed[index + 1 :]
                self._release_all(attempt, (), outcome)
                return
            checkpoint()

    def _go_on(self, lost: Attempt, left: int, missing: int, outcome: GroupOutcome) -> bool:
        outcome.failed.append(lost)
        outcome.first_lost = outcome.first_lost or lost
        return left >= missing

    def _release_all(self, lost: Attempt, rest: Sequence[Attempt], outcome: GroupOutcome) -> None:
        for attempt in reversed(outcome.placed):
            self._release(attempt, lost)
            checkpoint()
        for attempt in rest:
            attempt.fail_with(lost)
        outcome.failed += [*outcome.placed, *rest]
        outcome.placed = []

    async def bind(self, plugin: GroupCalls, group: str, outcome: GroupOutcome) -> None:
        """Bind members that were placed in one transaction; if the quorum is lost before that, none is bound."""
        with self._observer.binding():
            attempts = outcome.placed
            # What became of each member is read from its status below.
            await self._all(map(self._binding_cycle.await_clearance, attempts))
            # The last check before the first Binding, which cannot be undone: members may have been deleted, or lost
            # their nodes, while others waited at Permit.
            gone = [attempt for attempt in attempts if attempt.status is None and not self._is_there(attempt.pod)]
            if gone or outcome.first_lost is not None or any(attempt.status is not None for attempt in attempts):
                release_lost = partial(self._release_lost, plugin, group, outcome, gone)
                # No decision begins between the slices: it would see the capacity of some members and not of the
                # others.
                await self._standstill.in_slices(release_lost, Worker(self._call_watch))
            await self._in_turn(self._binding_cycle.bind, [attempt for attempt in attempts if attempt.status is None])

    def _release_lost(self, plugin: GroupCalls, group: str, outcome: GroupOutcome, gone: Sequence[Attempt]) -> None:
        """Release the nodes of members that lost theirs or are gone; of all members if too few are left."""
        for attempt in gone:
            attempt.fail_on_node(Status.unschedulable("removed"))
            self._cycle.unreserve_and_forget(attempt)
            checkpoint()
        lost = [attempt for attempt in outcome.placed if attempt.status is not None]
        first_lost = outcome.first_lost or next(iter(lost), None)
        if first_lost is None or (not outcome.whole and has_quorum(plugin, group)):
            for attempt in lost:
                self._failures.handle_release([attempt])
            return
        for attempt in reversed([attempt for attempt in outcome.placed if attempt.status is None]):
            self._release(attempt, first_lost)
            checkpoint()
        self._failures.handle_release(outcome.placed)

    def _release(self, attempt: Attempt, because: Attempt) -> None:
        """Release a member's node, because a sibling of the same transaction lost its node."""
        attempt.fail_with(because)
        self._cycle.unreserve_and_forget(attempt)

    async def _in_turn(
        self, work: Callable[[Attempt], Coroutine[Any, Any, object]], attempts: Sequence[Attempt]
    ) -> None:
        """Run the work for all members in their order, for `MEMBERS_AT_ONCE` of them at a time."""
        left = iter(attempts)

        async def take_turns() -> None:
            for attempt in left:
                await work(attempt)

        await self._all(take_turns() for _ in range(min(MEMBERS_AT_ONCE, len(attempts))))

    async def _all(self, works: Iterable[Coroutine[Any, Any, object]]) -> None:
        """Run all concurrently; some begin in each turn of the loop."""
        tasks: list[asyncio.Task[object]] = []
        try:
            for work in works:
                tasks.append(asyncio.ensure_future(self._standstill.pace_own(work)))
                if len(tasks) % _BEGIN_AT_ONCE == 0:
                    await asyncio.sleep(0)
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise

    def _is_there(self, pod: PodInfo) -> bool:
        """Whether the pod has not been deleted."""
        current = self._known.get(pod.key)
        return current is not None and current.uid == pod.uid and not current.terminating


def has_quorum(plugin: GroupCalls, group: str) -> bool:
    """Whether the group has its quorum; False if its plugin fails: better no member is bound than too few."""
    try:
        return plugin.missing(group) <= 0
    except Failed as failed:
        plugin.log_failure(MISSING, group, failed.status)
        return False
