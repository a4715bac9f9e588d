"""The watchdog: a thread that notices when the event loop is blocked, and names the cause.

Everything in the process runs on one loop, so a block delays all pods, the lease and the probes. A beat on the loop
shows that it turns; when a beat is missing, the watchdog names the plugin, its point and the pod, or else the line of
code, while it still runs. A probe that the loop cannot answer fails by itself. A loop that turns but schedules nothing
is not visible from outside; `SchedulingLoop` reports that.
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

if TYPE_CHECKING:
    from muster.framework.runtime.call_watch import CallWatch

log = logging.getLogger(__name__)

HELD_SECONDS = 0.1
"""A plugin that holds the loop for longer is told of."""
HELD_SOMEHOW_SECONDS = 1.0
"""So is code of Muster itself that works for as long. When the loop's thread did not, it stands for a moment through
not caused by the code, as on an overloaded machine, or it waits for something: that is told of later."""
_BEAT_SECONDS = 0.05
_QUIET_SECONDS = 10.0
"""How long the same holder is not named again."""
_MOST_HOLDERS = 256


class _Late(NamedTuple):
    """A beat that was due and had not come when this was seen, and what the loop's thread had worked by then."""

    due: float
    seen: float
    worked: float


class Watchdog:
    """Watches the loop that it is started on. Start and stop once each.

    Args:
        watch: what the plugins' calls are at.
        observe: told on the loop, after each beat, for how many seconds the loop did nothing else, and for how many of
            them, at most, its thread was at work. Else it waited, for a processor or in a call that blocks.
        now: seconds, monotonic; safe to call from any thread.
        worked: seconds that the loop's thread has been at work, of a processor's time; the same.
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
        self._told: dict[str, float] = {}
        self._telling_of = 0.0
        self._stopped = threading.Event()
        self._loop_thread = threading.get_ident()  # it is made on the loop, too
        self._worked = worked or _time_of(self._loop_thread)
        self._worked_by_then = self._worked()
        self._seen_late = _Late(0.0, 0.0, 0.0)
        self._timer: asyncio.TimerHandle | None = None
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin, on the loop that runs."""
        self.beat()
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def beat(self) -> None:
        """The loop turns. Called on it."""
        now, worked, late = self._now(), self._worked(), self._seen_late
        held = max(0.0, now - self._due)
        at_work = late.seen - late.due + worked - late.worked if late.due == self._due else held
        self._observe(held, min(held, at_work, worked - self._worked_by_then))
        self._due, self._worked_by_then = now + _BEAT_SECONDS, worked
        if not self._stopped.is_set():
            self._timer = asyncio.get_running_loop().call_later(_BEAT_SECONDS, self.beat)

    def look(self) -> None:
        """Whether the loop stands now; if so, and that was not told of lately, say who holds it. On any thread."""
        due, running = self._due, self._watch.current
        worked, now = self._worked(), self._now()  # in this order: what is worked in between is counted, not lost
        if now >= due and self._seen_late.due != due:
            self._seen_late = _Late(due, now, worked)
        if now - due < HELD_SECONDS or due == self._telling_of:
            return
        at_work = running is not None or worked - self._worked_by_then >= HELD_SECONDS
        if not at_work and now - due < HELD_SOMEHOW_SECONDS:
            return
        self._telling_of = due
        if running is not None:
            plugin, point, pod, _ = running
            pairs = {"plugin": plugin.name, "point": point.name, "pod": pod.key}
        else:
            pairs = {"at": _place(sys._current_frames().get(self._loop_thread))}
        holder = " ".join(pairs[key] for key in pairs if key != "pod")
        if now - self._told.get(holder, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            if len(self._told) > _MOST_HOLDERS:
                self._told.clear()
            self._told[holder] = now
            log.warning("The event loop is held", extra={"pairs": {**pairs, "seconds": f"{now - due:.3f}"}})

    def _run(self) -> None:
        # First when a beat is due, so that little of how late it comes is unknown, then as often as beats are.
        while not self._stopped.wait(left if (left := self._due - self._now()) > 0 else _BEAT_SECONDS):
            self.look()


def _time_of(thread: int) -> Callable[[], float]:
    """The processor's time that a thread of this process has had, in seconds; where nothing tells, all time is work."""
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
