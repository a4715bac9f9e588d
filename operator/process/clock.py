"""The clock of the running process."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster.framework.contract import Timer


class LoopClock:
    """Implements `contract.Clock` on the running event loop.

    Attributes:
        now: seconds on the monotonic clock; the function itself, because it is called dozens of times per pod.
        wall: seconds since the epoch.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self.now = now
        self.wall = wall

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """call `callback` on the loop after `seconds`, unless the timer is cancelled."""
        return asyncio.get_running_loop().call_later(seconds, callback)
