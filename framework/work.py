"""Work that pauses: a plain function that lets other work run at the checkpoints it passes.

There is one event loop, and deciding a gang of thousands takes long. A `Worker` runs a function on a stack of its own
(a greenlet). When the function, or a plugin that it calls, passes a `checkpoint` after its slice of time is over, it
stops there and the caller of `go_on` continues. So nothing between the scheduler and the checkpoint has to be a
generator or a coroutine, and the same function runs without pauses where no worker runs it, as in `explain` and tests.

The scheduler runs decisions in a worker, `SetAside` the long work of Filter plugins, and `Standstill` tasks of the
engine that change thousands of pods. A plugin may have workers, too: for work that begins in one of its calls and is
continued in others. A checkpoint stops the innermost worker's function. Guarantees:

1. A function runs only within `go_on` and `abort`, on the caller's thread.
2. A function that is aborted ends at its checkpoint as if it had never begun: `finally` and `with` blocks run. Within
   `shielded`, it first runs to the end of that block; after `commit`, it runs to its end. What the function is at, such
   as a call of a plugin, ends at a checkpoint if the worker's observer says so, unless a `shielded` block that has
   begun there goes on.
3. Whatever the function raises is raised by the call that resumed it.
4. A function whose worker is dropped ends at its checkpoint, unless the function itself, or what it has called, refers
   to the worker. `finally` and `with` blocks run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Protocol

from greenlet import GreenletExit, getcurrent, greenlet

Pause = Callable[[], None]
"""Called between two parts of something: `checkpoint`, or `at_once`."""
IsOver = Callable[[], bool]
"""Whether the slice of time that a function was given is over."""


def never() -> bool:
    """A slice that does not end."""
    return False


def at_each() -> bool:
    """A slice that ends at the first checkpoint."""
    return True


def at_once() -> None:
    """Do not pause."""


class WorkObserver(Protocol):
    """Follows which function is running, for accounting."""

    @property
    def current(self) -> object:
        """The call, or the like, that the running function is at."""
        ...

    def suspend(self) -> Any:
        """The running function pauses at a checkpoint. The result is passed to `resume`."""
        ...

    def resume(self, suspended: Any) -> None:
        """The function continues."""
        ...

    def ending(self) -> BaseException | None:
        """The exception that ends `current` at the checkpoint where the function continues; None if it may go on.

        Not asked within a `shielded` block that has begun in `current`.
        """
        ...


class Aborted(BaseException):
    """Ends a function that is aborted. Code that catches it must raise it again."""


class _Job:
    """The state of a worker's stack.

    Attributes:
        function: the running function; None while the stack is idle.
        is_over: whether the slice is over.
        observed: the worker's observer, while the function runs.
        begun: whether the function has begun.
        committed: whether the function is completed in any case.
        ending: the exception that has to end the function, or what the observer says that it is at.
        unasked: whether the observer could not be asked for one, because a shielded block had begun there.
        shields: for each `shielded` block around the current point, what the function was at when the block began.
        failure: what the function raised.
    """

    __slots__ = ("begun", "committed", "ending", "failure", "function", "is_over", "observed", "shields", "unasked")

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self.take_on(None, None)

    def take_on(self, function: Callable[[], object] | None, observed: WorkObserver | None) -> None:
        """Begin with a function."""
        self.function = function
        self.observed = observed
        self.is_over: IsOver = never
        self.begun = self.committed = self.unasked = False
        self.ending: BaseException | None = None
        self.shields: list[object] = []

    @property
    def current(self) -> object:
        """The call that the function is at, as its observer says."""
        return None if self.observed is None else self.observed.current

    def ask_observer(self) -> None:
        """Let the observer end what the function is at, but not within a shielded block that has begun there."""
        if self.observed is None or self.ending is not None:
            return
        self.unasked = bool(self.shields) and self.shields[-1] is self.current
        if not self.unasked:
            self.ending = self.observed.ending()

    def leave_shield(self) -> None:
        """Leave a shielded block. If the observer was not asked in it, the next checkpoint pauses, so that it is."""
        self.shields.pop()
        if self.unasked:
            self.is_over, self.unasked = at_each, False

    def end(self) -> None:
        """Raise what is to end the function, or what it is at.

        An abort waits for the end of shielded blocks, and a committed function is carried through.
        """
        ending, is_aborted = self.ending, isinstance(self.ending, Aborted)
        if ending is None or (is_aborted and self.shields):
            return
        self.ending = None
        if is_aborted:
            self.is_over = never  # what cleans up, or is carried through, is done in one go
        if not (is_aborted and self.committed):
            raise ending


class _Stack(greenlet):
    """A stack on which functions run, one after another: keeping it costs a tenth of creating one.

    The garbage collector treats everything that a started stack refers to as alive. So an idle stack refers to nothing:
    otherwise objects that refer to the worker in turn would never be freed.
    """

    job: _Job


def _run(job: _Job) -> None:
    """The main function of a stack. It must not refer to the stack, which ends with its worker."""
    while job.function is not None:
        job.begun = True
        try:
            job.function()
        except GreenletExit:  # the worker is gone
            return
        except BaseException as error:
            job.failure = error
        job.function = None
        _resume_caller()


def _resume_caller() -> None:
    """Continue where `go_on` or `abort` was called, until this stack is switched to again."""
    caller = getcurrent().parent
    if caller is None:
        raise RuntimeError("the stack of a worker has no caller")
    caller.switch()


class Worker:
    """Runs one function at a time, each in a copy of the context in which it was begun.

    `observed` is notified when the function pauses and continues.

    Attributes:
        busy: whether a function is in progress.
    """

    def __init__(self, observed: WorkObserver | None = None) -> None:
        self._job = _Job()
        self._stack = _Stack(_run)
        self._stack.job = self._job
        self._observed = observed
        self._suspended: Any = None
        self.busy = False

    def begin(self, function: Callable[[], object]) -> None:
        """Take a function on; `go_on` runs it. Raises RuntimeError while there is another one."""
        if self.busy:
            raise RuntimeError("the worker has not ended what it began")
        self.busy = True
        self._job.take_on(function, self._observed)
        self._stack.gr_context = copy_context()

    def go_on(self, is_over: IsOver = never) -> bool:
        """Go on until the function ends, or to the first checkpoint at which the slice is over. Whether it ended."""
        self._job.is_over = is_over
        return self._resume()

    def abort(self) -> None:
        """End the function at its checkpoint, or complete it if it has committed. Does nothing without a function."""
        job = self._job
        if not job.begun:
            job.function, self.busy = None, False
        elif self.busy:
            job.ending, job.is_over = Aborted(), at_each
            try:
                self._resume()
            except Aborted:
                return

    def _resume(self) -> bool:
        job, stack = self._job, self._stack
        stack.parent = getcurrent()
        if self._observed is not None and job.begun:
            self._observed.resume(self._suspended)
            self._suspended = None
            job.ask_observer()
        stack.switch() if stack else stack.switch(job)
        self.busy = job.function is not None
        if not self.busy:
            job.is_over, job.observed = never, None
            stack.gr_context = None
        elif self._observed is not None:
            self._suspended = self._observed.suspend()
        error, job.failure = job.failure, None
        if error is not None:
            raise error
        return not self.busy


def _job() -> _Job | None:
    """The job of the stack that this runs on; None outside of any worker."""
    stack = getcurrent()
    return stack.job if isinstance(stack, _Stack) else None


def checkpoint() -> None:
    """Let other work run if the slice of the running function is over. Costs next to nothing, also without a worker."""
    stack = getcurrent()
    if isinstance(stack, _Stack) and (job := stack.job).is_over():
        if job.ending is None:
            del stack  # a stack whose own frames refer to it is never freed
            _resume_caller()
        if job.ending is not None:
            job.end()


def commit() -> None:
    """From here on the function is completed in any case: it has acted on something that giving up would not undo."""
    job = _job()
    if job is not None:
        job.committed = True


class _Shield:
    """See `shielded`."""

    def __enter__(self) -> None:
        job = _job()
        if job is not None:
            job.shields.append(job.current)

    def __exit__(self, *_: object) -> None:
        job = _job()
        if job is not None:
            job.leave_shield()


shielded = _Shield()
"""Around what has to be done to its end: the function may stop at checkpoints inside, and is not ended there."""
