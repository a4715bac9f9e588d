"""The surroundings of a replaying engine: time, tasks and answers arrive as in the recording.

As long as the engine decides as recorded, each timer, each step of a task and each answer happens with its recorded
event. After a deviation this is impossible: from then on, timers fire at their time, tasks run freely, and a binding is
accepted if the recorded scheduler bound the pod, so that the cluster continues as recorded.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from muster.framework.contract import MERGE_PATCH, ApiError, Status
from muster.framework.embedded.clock import VirtualClock, VirtualTimer
from muster.framework.embedded.loop import VirtualLoop

from .calls import api_request, binding
from .events import Answered, Failure
from .tasks import Task, Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from muster.framework.contract import PodInfo

_SOON_SECONDS = 5.0
"""A pod that was bound within this time is bound to any node that is chosen; another pod releases its capacity."""


class Bound(NamedTuple):
    """The node of a bound pod, and when it was bound."""

    node: str
    at: float


class ReplayClock(VirtualClock):
    """A clock with the time of the current event, whose timers fire one by one."""

    def __init__(self, now: float, wall: float) -> None:
        super().__init__(now, wall)
        self._set: list[VirtualTimer] = []

    def call_later(self, seconds: float, callback: Callable[[], None]) -> VirtualTimer:
        """Call `callback` with the recorded event, or, after a deviation, at its time."""
        self._set.append(timer := super().call_later(seconds, callback))
        return timer

    def stand_at(self, moment: float) -> None:
        """Set the clock to this time, without firing timers."""
        self._now = max(self._now, moment)

    def go_off(self, number: int) -> bool:
        """Fire the `number`-th timer; returns whether it exists."""
        return 0 < number <= len(self._set) and self._set[number - 1].go_off()


class ReplayTasks:
    """Implements `tasks.Steps`: lets each task continue at its recorded steps.

    Attributes:
        free: whether tasks run freely.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self.tasks = Tasks(self)
        self.free = False
        self._loop = loop
        self._may: defaultdict[int, int] = defaultdict(int)
        self._waiting: dict[int, asyncio.Future[None]] = {}

    def begin(self, task: Task) -> asyncio.Future[None] | None:
        """None if this task may continue, else the future that it has to wait for."""
        if self.free:
            return None
        if self._may[task.number]:
            self._may[task.number] -= 1
            return None
        waits = self._waiting[task.number] = self._loop.create_future()
        return waits

    def let_go_on(self, number: int) -> bool:
        """Let a task take one step; returns whether it did."""
        self._may[number] += 1
        self._wake(number)
        while self._loop.run_ready() and self._may[number]:
            self._wake(number)
        return not self._may.pop(number)

    def let_all_go_on(self) -> None:
        """Let all tasks run freely from now on."""
        self.free = True
        for number in tuple(self._waiting):
            self._wake(number)

    def end(self) -> None:
        """Cancel the tasks in progress. Raises the exception of a task, unless it is a cancellation."""
        self.let_all_go_on()
        self._loop.end()
        for failure in self._loop.failures:
            raise failure

    def _wake(self, number: int) -> None:
        waits = self._waiting.pop(number, None)
        if waits is not None and not waits.done():
            waits.set_result(None)


class RecordedAnswers:
    """Implements `contract.Binder` and `contract.Api` with the answers of the recording.

    `bound` has the node to which each pod, by UID, was bound in the recording; `left` has the number of remaining
    answers to each call.
    """

    def __init__(self, loop: VirtualLoop, tasks: ReplayTasks, bound: Mapping[str, Bound], left: Counter[str]) -> None:
        self._loop = loop
        self._tasks = tasks
        self._bound = bound
        self._left = left
        self._asked: defaultdict[str, list[tuple[int, asyncio.Future[Answered]]]] = defaultdict(list)
        self._early: defaultdict[str, deque[Answered]] = defaultdict(deque)

    def answer(self, answered: Answered) -> bool:
        """Answer the request that waits for it; returns False if there is none."""
        self._left[answered.call] -= 1
        waiting = self._asked[answered.call]
        waiting[:] = [each for each in waiting if not each[1].done()]
        asker = next((each for each in waiting if self._tasks.free or each[0] == answered.task), None)
        if asker is None:
            self._early[answered.call].append(answered)
            return False
        waiting.remove(asker)
        asker[1].set_result(answered)
        self._loop.run_ready()
        return True

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod; accepted if the recorded scheduler bound it."""
        bound = self._bound.get(pod.uid)
        if not self._tasks.free:
            answered = await self._recorded(binding(pod.uid, node_name))
        elif bound is not None and bound.at - self._loop.time() <= _SOON_SECONDS:
            answered = await self._recorded(binding(pod.uid, bound.node))
        else:
            return Status.failure("it was not bound by then when it was recorded")
        return None if answered.failed is None else Status.failure(answered.failed.message)

    async def get(self, path: str) -> bytes:
        """Read an object."""
        return await self._request(api_request("get", path))

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object or a subresource."""
        return await self._request(api_request("post", path))

    async def put(self, path: str, body: bytes) -> bytes:
        """Replace an object."""
        return await self._request(api_request("put", path))

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        """Change parts of an object."""
        return await self._request(api_request("patch", path))

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        """Delete an object."""
        return await self._request(api_request("delete", path))

    async def _request(self, call: str) -> bytes:
        answered = await self._recorded(call)
        failed = answered.failed
        if failed is not None:
            raise ApiError(failed.message, status=failed.status, reason=failed.reason, retry_after=failed.retry_after)
        return answered.result.encode()

    async def _recorded(self, call: str) -> Answered:
        early = self._early.get(call)
        if early and self._tasks.free:
            return early.popleft()
        if self._left[call] <= len(self._asked[call]):
            return Answered(0.0, call, failed=Failure("this call was not recorded"))
        future: asyncio.Future[Answered] = self._loop.create_future()
        self._asked[call].append((self._tasks.tasks.current, future))
        with self._tasks.tasks.outside():
            return await future
