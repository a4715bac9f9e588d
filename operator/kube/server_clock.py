"""The API server's time, by the `Date` headers of its answers, for whatever is compared with timestamps that it keeps.

Creation times of pods, the time since which a group has waited, and conditions are written by the API server or by
other processes; a process whose own clock is minutes off would read them as minutes older or younger than they are.
`Process` reads its wall clock through a `ServerClock`, which every answer keeps right. Leader election needs no common
clock, and credentials are read by the machine's own.

A header is precise to a second, so the machine's clock is left alone unless it is off by more than two seconds. The
bounds from several answers are intersected; when they contradict each other, the API server's clock was set, and the
last answer alone counts.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from email.utils import parsedate
from math import inf

_HEADER_SECONDS = 1.0
"""A header names the second in which it was written."""
TOLERATED_SECONDS = 2.0
"""By how much the machine's clock may differ from what the headers allow before it is corrected."""


class ServerClock:
    """A wall clock near the API server's.

    `now` is a clock that never jumps, `wall` the machine's own clock: both in seconds, `wall` since the epoch.
    """

    def __init__(self, now: Callable[[], float], wall: Callable[[], float]) -> None:
        self._now = now
        self._wall = wall
        self._header: str | None = None
        self._least, self._most = -inf, inf  # of the server's time minus `now`

    def wall(self) -> float:
        """Seconds since the epoch: the machine's, held to within two seconds of what the API server's answers allow."""
        now = self._now()
        return min(max(self._wall(), now + self._least - TOLERATED_SECONDS), now + self._most + TOLERATED_SECONDS)

    def answered(self, header: str | None, seconds: float) -> None:
        """An answer with this `Date`, None for none, has just come, so many seconds after its request was sent.

        What is no date is ignored.
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
