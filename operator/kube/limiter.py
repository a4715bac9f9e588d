"""A token bucket, for configurations that set `qps` and `burst` as for kube-scheduler.

`ApiClient` awaits it before every request. It is fair: a caller's delay is fixed on arrival, so no caller overtakes.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class TokenBucket:
    """Admits `burst` requests at once, and `qps` a second afterwards.

    Raises ValueError if one of them is not positive.
    """

    def __init__(
        self,
        *,
        qps: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError(f"qps and burst must be positive, got qps {qps} and burst {burst}")
        self._qps = qps
        self._burst = burst
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(burst)
        self._filled_at = clock()

    async def acquire(self) -> None:
        """Return when one request may go out."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps) - 1
        self._filled_at = now
        if self._tokens >= 0:
            return
        try:
            await self._sleep(-self._tokens / self._qps)
        except asyncio.CancelledError:
            self._tokens += 1
            raise
