"""Task sets: owners of tasks, which start and await them, so that no exception is lost."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

log = logging.getLogger(__name__)


class TaskSet:
    """A set of running tasks. `on_failure` is called whenever one of them has ended with an exception.

    An unrequested cancellation counts as an exception, because any code of a task may raise CancelledError.
    """

    def __init__(self, *, on_failure: Callable[[], None] | None = None) -> None:
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._on_failure = on_failure

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` as a task, and log an exception in it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    async def drain(self, *, within: float) -> int:
        """Wait for all tasks, for `within` seconds at most; cancel the others. Returns how many were cancelled."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=within)
        left = tuple(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return len(left)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            if task.cancelling():
                return
            log.error("a task ended by a cancellation without a request for it")
        elif (error := task.exception()) is not None:
            log.error("a task failed", exc_info=error)
        else:
            return
        if self._on_failure is not None:
            self._on_failure()
