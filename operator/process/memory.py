"""How the process gives memory back to the system; `muster run` sets it before anything is allocated.

glibc keeps what was freed: it takes ever larger blocks from heaps that shrink at their ends alone, and has a heap for
each thread. One object of a MiB, decoded and forgotten, would cost its memory for good.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""glibc's names for them: `mallopt(3)`."""
_BLOCK = 1 << 17
_HEAPS = 2


def give_memory_back() -> None:
    """Large blocks go back when they are freed, and so do the ends of heaps. Does nothing where the C library is not
    glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_MMAP_THRESHOLD, _BLOCK), (_TRIM_THRESHOLD, _BLOCK), (_ARENA_MAX, _HEAPS)):
            mallopt(parameter, value)
