"""The limit of open file descriptors, which `muster run` raises at its start."""

from __future__ import annotations

import logging
import resource

log = logging.getLogger(__name__)

WANTED = 1 << 16
NEEDED = 1024
"""Enough for the pages, the webhook, the watches and a connection for each write in flight."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit as far as the hard one allows, to `WANTED` at most. Returns the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < NEEDED:
        log.warning("The process may open few files and connections", extra={"pairs": {"limit": most, "needs": NEEDED}})
    return most
