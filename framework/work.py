"""Work that pauses: a plain function that lets others in at the checkpoints beneath it.

There is one event loop, and to decide about a gang of thousands takes long. A `Worker` runs a function on a stack of
its own (a greenlet). Wherever the function, or a plugin that it calls, passes a `checkpoint` after its slice of time is
over, it stops there and whoever called `go_on` continues. So nothing between the scheduler and the checkpoint need be a
generator or a coroutine, and the same function runs in one go where no worker runs it, as in `explain` and in tests.

The scheduler runs decisions by a worker, `SetAside` the long searches of Filter plugins, and `Standstill` tasks of the
engine that change thousands of pods. Guarantees:

1. A function goes on only in `go_on` and `give_up`, on the caller's thread.
2. A function that is given up ends at its checkpoint as if it had never begun: `finally` and `with` run. Inside of
   `shielded` it goes on to the end of that first; after `commit` it is carried through instead.
3. Whatever the function raises comes out of the call that let it go on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Protocol

from greenlet import getcurrent, greenlet

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
    """Let nobody in."""


class Observed(Protocol):
    """Follows which function runs on whose account."""

    def suspend(self) -> Any:
        """The function under way stops at a checkpoint. The answer is for `resume`."""
        ...

    def resume(self, suspended: Any) -> BaseException | None:
        """It goes on. An exception that is answered ends what the function is at."""
        ...


class GivenUp(BaseException):
    """Ends a function that is given up. Whoever catches it must raise it again."""


class _Stack(greenlet):
    """Where functions run, one after another: a stack that is kept costs a tenth of a new one."""

    function: Callable[[], object] | None = None
    is_over: IsOver
    begun: bool
    committed: bool
    ending: BaseException | None
    shields: int
    failure: BaseException | None = None

    def run(self) -> None:
        while self.function is not None:
            self.begun = True
            try:
                self.function()
            except BaseException as error:
                self.failure = error
            self.function = None
            self.resume_caller()

    def end(self) -> None:
        """Raise what is to end the function, or the call that it is at. A committed function is carried through."""
        ending, self.ending = self.ending, None
        if isinstance(ending, GivenUp):
            self.is_over = never  # what cleans up, or is carried through, is done in one go
        if ending is not None and not (self.committed and isinstance(ending, GivenUp)):
            raise ending

    def resume_caller(self) -> None:
        """Go on where `go_on` or `give_up` was called, until this stack is switched to again."""
        caller = self.parent
        if caller is None:
            raise RuntimeError("the stack of a worker has no caller")
        caller.switch()


class Worker:
    """Runs one function at a time, each in a copy of the context that it is taken on in.

    `observed` hears when the function stops and goes on.
    """

    def __init__(self, observed: Observed | None = None) -> None:
        self._stack = _Stack()
        self._observed = observed
        self._suspended: Any = None

    def __del__(self) -> None:
        """End the stack: one that stands still refers to itself, where the garbage collector does not see it."""
        stack = self._stack
        if stack and stack.function is None:
            stack.parent = getcurrent()
            stack.throw()

    @property
    def busy(self) -> bool:
        """Whether a function has begun and not ended."""
        return self._stack.function is not None

    def begin(self, function: Callable[[], object]) -> None:
        """Take a function on; `go_on` runs it. Raises RuntimeError while there is another one."""
        if self.busy:
            raise RuntimeError("the worker has not ended what it began")
        stack = self._stack
        stack.function, stack.begun, stack.committed, stack.ending, stack.shields = function, False, False, None, 0
        stack.gr_context = copy_context()

    def go_on(self, is_over: IsOver = never) -> bool:
        """Go on until the function ends, or to the first checkpoint at which the slice is over. Whether it ended."""
        self._stack.is_over = is_over
        return self._resume()

    def give_up(self) -> None:
        """End the function where it stands, or carry it through if it is committed. Nothing when there is none."""
        stack = self._stack
        if stack.function is None:
            return
        if not stack.begun:
            stack.function = None
        else:
            stack.ending, stack.is_over = GivenUp(), at_each
            try:
                self._resume()
            except GivenUp:
                return

    def _resume(self) -> bool:
        stack = self._stack
        stack.parent = getcurrent()
        if self._observed is not None and stack.begun:
            error = self._observed.resume(self._suspended)
            if error is not None and stack.ending is None:
                stack.ending = error
        stack.switch()
        if self._observed is not None and stack.function is not None:
            self._suspended = self._observed.suspend()
        error, stack.failure = stack.failure, None
        if error is not None:
            raise error
        return stack.function is None


def checkpoint() -> None:
    """Let others in if the slice of the function under way is over. Costs next to nothing, also without any worker."""
    stack = getcurrent()
    if isinstance(stack, _Stack) and stack.is_over():
        if stack.ending is None:
            stack.resume_caller()
        if stack.ending is not None and not stack.shields:
            stack.end()


def commit() -> None:
    """From here on the function is carried through: something has been acted on that giving up would not undo."""
    stack = getcurrent()
    if isinstance(stack, _Stack):
        stack.committed = True


class _Shield:
    """See `shielded`."""

    def __enter__(self) -> None:
        stack = getcurrent()
        if isinstance(stack, _Stack):
            stack.shields += 1

    def __exit__(self, *_: object) -> None:
        stack = getcurrent()
        if isinstance(stack, _Stack):
            stack.shields -= 1


shielded = _Shield()
"""Around what has to be done to its end: the function may stop at checkpoints inside, and is not given up there."""
