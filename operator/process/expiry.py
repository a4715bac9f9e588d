"""Assumed pods that the API never reports, forgotten after a time when the administrator wants that.

The process runs `expire_assumed` beside its loop if it was given a time to live. The cache names each such pod in a
warning; whoever waits for room hears of it as of a pod that was deleted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from muster.framework.contract import Clock
    from muster.framework.scheduler.engine import Engine

PERIOD_SECONDS = 1.0
"""kube-scheduler's, when it still had such a time."""


async def expire_assumed(
    engine: Engine, clock: Clock, *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Look for pods whose time to live is over, again and again; to be cancelled."""
    while True:
        await sleep(PERIOD_SECONDS)
        engine.pods.expire(clock.now())
