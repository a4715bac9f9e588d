"""How the process deals with memory: what it gives back to the system, and when the collector looks for garbage.

`muster run` sets the first before anything is allocated. glibc keeps what was freed: it takes ever larger blocks from
heaps that shrink at their ends alone, and has a heap for each thread. One object of a MiB, decoded and forgotten, would
cost its memory for good.

The second is the process's, where it has its interpreter for itself. A cluster that is listed is hundreds of thousands
of objects and no garbage, and most of them stay: the collector would walk them again and again.
"""

from __future__ import annotations

import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""glibc's names for them: `mallopt(3)`."""
_BLOCK = 1 << 19
"""Larger than the 256 KiB that each read from TLS sets aside: as blocks of their own, reads would cost double."""
_HEAPS = 2
_YOUNG_OBJECTS = 10_000
"""New objects between two rounds of the collector: some hundred pods' worth."""


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
    """Collect garbage among what is made from now on, and take all that there is for what stays."""
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)
    gc.enable()
