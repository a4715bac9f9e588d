"""Memory management of the process: the return of memory to the system, and the times of garbage collection.

`muster run` calls `limit_heaps` at its start. glibc keeps freed memory: it takes ever larger blocks
from heaps that shrink only at their ends, and has a heap for each thread. One object of a MiB, decoded and dropped,
would occupy its memory for good.

Garbage collection is adjusted if the process has its interpreter to itself. A listed cluster has hundreds of thousands
of objects, most of which stay: the collector would walk them again and again and find no garbage.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Awaitable, Callable, Mapping

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""The constants of glibc's `mallopt(3)`."""
_BLOCK = 1 << 19
"""Larger than the 256 KiB buffer of each read from TLS: with a separate block for it, a read would cost double."""
_HEAPS = 2
_THRESHOLDS = 2_000, 3
"""The collector's thresholds: new objects per collection, as many as some dozens of pods have, and collections per
collection of the older generation. A collection blocks the loop for longer the more objects it walks."""
_INTERVAL_SECONDS = 3600.0


def limit_heaps() -> None:
    """Return large blocks and the ends of heaps to the system when they are freed. Does nothing without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_MMAP_THRESHOLD, _BLOCK), (_TRIM_THRESHOLD, _BLOCK), (_ARENA_MAX, _HEAPS)):
            mallopt(parameter, value)


def suspend_collection() -> None:
    """Suspend garbage collection until `resume_collection` is called."""
    gc.disable()


def resume_collection() -> None:
    """Freeze all existing objects, and collect garbage among those created from now on.

    Objects that survive two collections are frozen too; otherwise, collections would get longer with every new pod.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.callbacks.append(_freeze_survivors)
    gc.enable()


def _freeze_survivors(phase: str, info: Mapping[str, int]) -> None:
    if phase == "stop" and info["generation"] >= len(_THRESHOLDS) - 1:
        gc.freeze()


async def collect_hourly(idle: Callable[[], bool], sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
    """Collect garbage among the frozen objects once an hour, as soon as the process is `idle`.

    This blocks the loop for 0.2 s in a cluster with 150,000 pods. Runs until it is cancelled.
    """
    while True:
        await sleep(_INTERVAL_SECONDS)
        while not idle():
            await sleep(1.0)
        gc.unfreeze()
        gc.collect()
