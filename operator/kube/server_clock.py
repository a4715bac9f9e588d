"""The API server's time, by the `Date` headers of its answers, for comparisons with timestamps in the API.

Creation times of pods, the time since which a group has waited, and conditions are written by the API server or by
other processes; a process whose own clock is minutes off would read them as minutes older or younger than they are.
`Process` reads its wall clock through a `ServerClock`, which every answer corrects. Leader election needs no common
clock, and credentials are compared with the machine's clock.

A header is precise to a second, so the machine's clock is not corrected unless it is off by more than two seconds. The
bounds of several answers are intersected; if they contradict each other, the API server's clock was set, and only the
last answer counts.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from email.utils import parsedate
from math import inf

_HEADER_SECONDS = 1.0
"""The precision of a header, in seconds."""
TOLERATED_SECONDS = 2.0
"""The difference of the machine's clock from the bounds of the headers up to which it is not corrected."""


class ServerClock:
    """A wall clock near the API server's.

    `now` is a monotonic clock, `wall` the machine's clock: both in seconds, `wall` since the epoch.
    """

    def __init__(self, now: Callable[[], float], wall: Callable[[], float]) -> None:
        self._now = now
        self._wall = wall
        self._header: str | None = None
        self._least, self._most = -inf, inf  # of the server's time minus `now`

    def wall(self) -> float:
        """Seconds since the epoch, at most two seconds outside the bounds of the API server's answers."""
        now = self._now()
        return min(max(self._wall(), now + self._least - TOLERATED_SECONDS), now + self._most + TOLERATED_SECONDS)

    def answered(self, header: str | None, seconds: float) -> None:
        """Record that an answer with this `Date`, or None, came `seconds` seconds after its request was sent.

        An invalid date is ignored.
        """
        if header is None or header == self._header:
            return
        self._header = header
        parsed = parsedate(header)
        if parsed is None:
            return
        written, now = calendar.timegm(parsed), self._now()
        least, most = written - now, written + _HEADER_SECONDS - (now - seconds)
        self._least, self._most = max(self._least, least), min(self._most, most)
        if self._least > self._most:
            self._least, self._most = least, most
