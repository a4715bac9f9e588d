"""Time of the running process."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster.framework.contract import Timer


class LoopClock:
    """Implements `contract.Clock` on the running event loop."""

    now = staticmethod(time.monotonic)
    """Seconds on the monotonic clock. Asked for dozens of times a pod, so nothing stands in between."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back on the loop, unless the timer is cancelled."""
        return asyncio.get_running_loop().call_later(seconds, callback)
