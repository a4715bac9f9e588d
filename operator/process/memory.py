"""Memory management of the process: what it returns to the system, and when the garbage collector runs.

`muster run` sets the first before anything is allocated. glibc keeps freed memory: it takes ever larger blocks from
heaps that shrink only at their ends, and has a heap for each thread. One object of a MiB, decoded and dropped, would
cost its memory for good.

The second applies if the process has its interpreter to itself. A listed cluster is hundreds of thousands of objects,
most of which stay: the collector would walk them again and again and find no garbage.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Awaitable, Callable, Mapping

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""glibc's names for them: `mallopt(3)`."""
_BLOCK = 1 << 19
"""Larger than the 256 KiB that each read from TLS sets aside: as blocks of their own, reads would cost double."""
_HEAPS = 2
_ROUNDS = 2_000, 3
"""New objects between two rounds of the collector, some dozens of pods' worth, and how many of these it takes for one
that looks at what they left, too. The more objects a round looks at the longer it holds the loop."""
_AGAIN_SECONDS = 3600.0


def give_memory_back() -> None:
    """Large blocks go back when they are freed, and so do the ends of heaps. Does nothing where the C library is not
    glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_MMAP_THRESHOLD, _BLOCK), (_TRIM_THRESHOLD, _BLOCK), (_ARENA_MAX, _HEAPS)):
            mallopt(parameter, value)


def keep_all() -> None:
    """Collect no garbage until `keep_what_there_is` is called."""
    gc.disable()


def keep_what_there_is() -> None:
    """Collect garbage among what is made from now on, and take all that there is for what stays.

    So is what is left when it was looked at twice: else ever longer rounds would walk all pods that have come since.
    """
    gc.freeze()
    gc.set_threshold(*_ROUNDS)
    gc.callbacks.append(_keep_what_is_left)
    gc.enable()


def _keep_what_is_left(phase: str, info: Mapping[str, int]) -> None:
    if phase == "stop" and info["generation"] >= len(_ROUNDS) - 1:
        gc.freeze()


async def look_at_all(rests: Callable[[], bool], sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
    """Once an hour, when the process `rests`, find what has become garbage of all that was taken for what stays.

    That holds the loop for 0.2 s where 150,000 pods run. To be cancelled.
    """
    while True:
        await sleep(_AGAIN_SECONDS)
        while not rests():
            await sleep(1.0)
        gc.unfreeze()
        gc.collect()
