"""The steps of an engine's tasks: a recorder writes each step, a replayer repeats it at the recorded time.

A step inside a call to the outside, such as a request in flight, changes nothing in the engine and does not count; the
answer of that call is a separate event.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Steps(Protocol):
    """Follows the steps of tasks."""

    def begin(self, task: Task) -> Any:
        """None if the task may take its next step, else the future that it has to wait for."""


class Tasks:
    """The tasks of one engine, numbered in the order in which they were started."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._current: Task | None = None
        self._started = 0

    def follow(self, work: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        """The work as a coroutine whose steps are reported to `steps`, as `Standstill.follow` returns it."""
        self._started += 1
        return Task(self, self._started, work)

    @property
    def current(self) -> int:
        """The number of the running task; 0 if none runs."""
        return 0 if self._current is None else self._current.number

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave the running task for the block, whose steps belong to another task."""
        task = self._current
        if task is None:
            yield
            return
        task.outside += 1
        try:
            yield
        finally:
            task.outside -= 1

    def step(self, task: Task, value: Any, thrown: BaseException | None) -> Any:
        """Take a step of the task."""
        before, self._current = self._current, task
        try:
            return task.work.send(value) if thrown is None else task.work.throw(thrown)
        finally:
            self._current = before

    def waits_for(self, task: Task) -> Any:
        """The future that the task has to wait for before its next step; None if it may take it."""
        return None if task.outside else self._steps.begin(task)


class Task(Coroutine[Any, Any, Any]):
    """The work of a task as `Tasks.follow` makes it.

    Attributes:
        number: the number of the task, from 1.
        outside: whether it is inside a call to the outside.
    """

    def __init__(self, tasks: Tasks, number: int, work: Coroutine[Any, Any, Any]) -> None:
        self.number = number
        self.work = work
        self.outside = 0
        self._tasks = tasks
        self._thrown: BaseException | None = None

    def send(self, value: Any) -> Any:
        """Continue, or wait until it may continue."""
        waits = self._tasks.waits_for(self)
        if waits is not None:
            return next(iter(waits))
        thrown, self._thrown = self._thrown, None
        return self._tasks.step(self, value, thrown)

    def throw(self, error: type[BaseException] | BaseException, value: object = None, trace: object = None) -> Any:
        """Continue with an exception, usually a cancellation, or wait until it may continue."""
        self._thrown = error if isinstance(error, BaseException) else error()
        return self.send(None)

    def close(self) -> None:
        """Close the coroutine."""
        self.work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self.work.__await__())
