"""Pods set aside: their long work runs in turn with other decisions, and they are decided when it is done.

The scheduler adds a pod when a Filter plugin could not answer at once (see `contract.LongWork`), and gets it back from
`next`. In between the pod is in flight. Pods that are set aside take turns, so that a pod with little work does not
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
    """Attempts with long work. `refresh` updates an attempt's pod; it returns False if the pod no longer waits."""

    def __init__(self, refresh: Callable[[Attempt], bool], call_watch: CallWatch) -> None:
        self._refresh = refresh
        self._call_watch = call_watch
        self._working: deque[tuple[Attempt, Worker]] = deque()
        self._ready: deque[Attempt] = deque()
        self._has_turn = False

    def __bool__(self) -> bool:
        """Whether any attempt is set aside."""
        return bool(self._working or self._ready)

    def add_if_long(self, attempt: Attempt, finish: Callable[[], object]) -> bool:
        """Set the attempt aside if it has long work left, which `finish` does, and was not set aside before."""
        if attempt.state.long_work.left is None or attempt.was_set_aside:
            return False
        attempt.was_set_aside = True
        worker = Worker(self._call_watch)
        worker.begin(finish)
        self._working.append((attempt, worker))
        return True

    def next(self) -> Attempt | None:
        """An attempt whose work is done; None if there is none."""
        return self._ready.popleft() if self._ready else None

    def has_turn(self) -> bool:
        """Whether a slice of work comes before the next decision: one in two turns."""
        self._has_turn = bool(self._working) and not self._has_turn
        return self._has_turn

    def go_on(self, is_over: IsOver) -> bool:
        """Do a slice of the work whose turn it is, until `is_over`. False if there is none."""
        if not self._working:
            return False
        attempt, worker = self._working.popleft()
        if not self._refresh(attempt):
            worker.abort()
        elif worker.go_on(is_over):
            self._ready.append(attempt)
        else:
            self._working.append((attempt, worker))
        self._has_turn = self._has_turn and bool(self._working)
        return True
