"""The watchdog: a thread that notices when the event loop is blocked, and names the cause.

Everything in the process runs on one loop, so a block delays all pods, the lease and the probes. A beat on the loop
shows that it runs; when a beat is missing, the watchdog names the plugin, its point and subject, or else the line of
code, while it still runs. A probe that the loop cannot answer fails by itself. A loop that runs but schedules nothing
is not visible from outside; `SchedulingLoop.stalled` reports that.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from muster.framework.runtime.subjects import pair_of

if TYPE_CHECKING:
    from muster.framework.runtime.call_watch import CallWatch

log = logging.getLogger(__name__)

BLOCKED_SECONDS = 0.1
"""A plugin, or code of Muster itself, that keeps the loop's thread at work for longer is reported."""
BLOCKED_WITHOUT_WORK_SECONDS = 1.0
"""A block is reported only after this time if the loop's thread did not work: then it waits, for something in a call or
for a processor of an overloaded machine."""
_BEAT_SECONDS = 0.05
_QUIET_SECONDS = 10.0
"""The time for which a cause is not reported again."""
_MOST_HOLDERS = 256


class _Late(NamedTuple):
    """A beat that was missing at the time `seen`, and the processor time of the loop's thread by then."""

    due: float
    seen: float
    worked: float


class Watchdog:
    """Watches the loop on which it is created and started. Start and stop it once each.

    Args:
        watch: which call of a plugin is in progress.
        observe: called on the loop at each beat with the seconds for which the beat was late, and with the most
            seconds of these in which the loop's thread worked. In the others it waited, for a processor or in a call
            that blocks.
        now: monotonic seconds; safe to call from any thread.
        worked: the processor time of the loop's thread in seconds; safe to call from any thread.
    """

    def __init__(
        self,
        watch: CallWatch,
        observe: Callable[[float, float], None],
        *,
        now: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] | None = None,
    ) -> None:
        self._watch = watch
        self._observe = observe
        self._now = now
        self._due = now() + _BEAT_SECONDS
        self._reported: dict[str, float] = {}
        self._reported_due = 0.0
        self._stopped = threading.Event()
        self._loop_thread = threading.get_ident()
        self._worked = worked or _processor_time_of(self._loop_thread)
        self._worked_at_beat = self._worked()
        self._seen_late = _Late(0.0, 0.0, 0.0)
        self._timer: asyncio.TimerHandle | None = None
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the thread and the beats, on the running loop."""
        self.beat()
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and the beats."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def beat(self) -> None:
        """Record that the loop runs; called on the loop."""
        now, worked, late = self._now(), self._worked(), self._seen_late
        blocked = max(0.0, now - self._due)
        at_work = late.seen - late.due + worked - late.worked if late.due == self._due else blocked
        self._observe(blocked, min(blocked, at_work, worked - self._worked_at_beat))
        self._due, self._worked_at_beat = now + _BEAT_SECONDS, worked
        if not self._stopped.is_set():
            self._timer = asyncio.get_running_loop().call_later(_BEAT_SECONDS, self.beat)

    def check(self) -> None:
        """Log what blocks the loop, if it is blocked and the cause was not logged lately; called on any thread."""
        due, running = self._due, self._watch.current
        worked, now = self._worked(), self._now()  # read in this order, so that work between the two calls counts
        if now >= due and self._seen_late.due != due:
            self._seen_late = _Late(due, now, worked)
        if now - due < BLOCKED_SECONDS or due == self._reported_due:
            return
        at_work = running is not None or worked - self._worked_at_beat >= BLOCKED_SECONDS
        if not at_work and now - due < BLOCKED_WITHOUT_WORK_SECONDS:
            return
        self._reported_due = due
        if running is not None:
            holders, about = {"plugin": running.plugin.name, "point": running.point.name}, pair_of(running.about)
        else:
            holders, about = {"at": _place(sys._current_frames().get(self._loop_thread))}, {}
        holder = " ".join(holders.values())
        if now - self._reported.get(holder, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            if len(self._reported) > _MOST_HOLDERS:
                self._reported.clear()
            self._reported[holder] = now
            log.warning(
                "The event loop is blocked", extra={"pairs": {**holders, **about, "seconds": f"{now - due:.3f}"}}
            )

    def _run(self) -> None:
        # The first check comes when a beat is due, so that the lateness is known exactly; then one comes per beat.
        while not self._stopped.wait(left if (left := self._due - self._now()) > 0 else _BEAT_SECONDS):
            self.check()


def _processor_time_of(thread: int) -> Callable[[], float]:
    """The processor time of a thread of this process, in seconds; all time where the system does not report it."""
    if not hasattr(time, "pthread_getcpuclockid"):  # on macOS
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _place(frame: FrameType | None) -> str:
    """The innermost line of Muster's own code on the loop's thread, or of any code if there is none."""
    innermost = frame
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("muster.") and module != __name__:
            return f"{module}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
    return f"{innermost.f_globals.get('__name__', '')}:{innermost.f_lineno}" if innermost is not None else "?"
