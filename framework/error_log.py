"""A log for errors that repeat, such as those of a broken plugin: now and then a line with a traceback for each cause.

The queue, the runtime and the scheduler, which call plugins, log through it. It never raises, and its memory is
bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping

from cachetools import LRUCache

QUIET_SECONDS = 30.0
_CAUSES = 1_000


class ErrorLog:
    """Writes to one logger. `now` is in seconds; of the causes the last thousand are remembered."""

    def __init__(self, log: logging.Logger, now: Callable[[], float]) -> None:
        self._log = log
        self._now = now
        self._causes: LRUCache[Hashable, tuple[float, int]] = LRUCache(_CAUSES)

    def error(
        self, message: str, *, cause: Hashable, error: BaseException | None = None, pairs: Mapping[str, object]
    ) -> None:
        """Log an error with its traceback, unless one of the same `cause` was logged recently.

        The next line then has the number of errors for which it stands. The type of the error is part of the cause.
        """
        key, now = (cause, type(error)), self._now()
        since, left_out = self._causes.get(key, (float("-inf"), 0))
        if now - since < QUIET_SECONDS:
            self._causes[key] = since, left_out + 1
            return
        self._causes[key] = now, 0
        more = {"notLogged": left_out} if left_out else {}
        self._log.error(message, exc_info=error, extra={"pairs": {**pairs, **more}})
