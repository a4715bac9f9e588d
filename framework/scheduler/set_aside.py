"""Pods set aside: their long work runs in turn with other decisions, and they are decided when it is done.

The scheduler adds a pod when a Filter plugin could not answer at once (see `contract.LongWork`), and takes it back from
`ready`. In between the pod is in flight. Pods that are set aside take turns, so that a pod with little work does not
wait for one with much. A pod is set aside once per attempt: if changes in the meantime leave work again, it is done
within the pod's decision, while the snapshot does not change. So an attempt ends, however fast the cluster changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..runtime.call_watch import CallWatch
from ..work import IsOver, Worker
from .attempt import Attempt


class SetAside:
    """Attempts with long work. `refresh` updates an attempt's pod; it returns False if the pod no longer waits.

    Attributes:
        working: attempts whose work is not done, each with the worker that does it, in the order of their turns.
        ready: attempts whose work is done, to be taken from here and decided.
    """

    def __init__(self, refresh: Callable[[Attempt], bool], call_watch: CallWatch) -> None:
        self._refresh = refresh
        self._call_watch = call_watch
        self.working: deque[tuple[Attempt, Worker]] = deque()
        self.ready: deque[Attempt] = deque()
        self._has_turn = False

    def __bool__(self) -> bool:
        """Whether any attempt is set aside."""
        return bool(self.working or self.ready)

    def add_if_long(self, attempt: Attempt, finish: Callable[[], object]) -> bool:
        """Set the attempt aside if it has long work left, which `finish` does, and was not set aside before."""
        if attempt.state.long_work.left is None or attempt.was_set_aside:
            return False
        attempt.was_set_aside = True
        worker = Worker(self._call_watch)
        worker.begin(finish)
        self.working.append((attempt, worker))
        return True

    def has_turn(self) -> bool:
        """Whether a slice of the work in progress comes before the next decision: one in two turns."""
        self._has_turn = not self._has_turn
        return self._has_turn

    def go_on(self, is_over: IsOver) -> None:
        """Do a slice of the work whose turn it is, until `is_over`. There must be some."""
        attempt, worker = self.working.popleft()
        if not self._refresh(attempt):
            worker.abort()
        elif worker.go_on(is_over):
            self.ready.append(attempt)
        else:
            self.working.append((attempt, worker))
        self._has_turn = self._has_turn and bool(self.working)
