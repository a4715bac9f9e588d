"""Times as the API writes them, and ages as kubectl shows them.

Used wherever a timestamp is read, written, or shown as an age. Moments are seconds since the epoch; nothing here reads
a clock.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from msgspec import Meta

from .faults import READ

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def rfc3339(wall: float) -> str:
    """Seconds since the epoch as `metav1.Time` writes them: RFC 3339, in UTC and whole seconds."""
    return datetime.fromtimestamp(int(wall), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float:
    """Seconds since the epoch of a `metav1.Time` or `metav1.MicroTime`; raises ValueError on anything else."""
    return datetime.fromisoformat(text).timestamp()


def _read_time(text: str) -> float:
    try:
        if _RFC3339.fullmatch(text):
            return parse_time(text)
    except ValueError:  # a month 13, or a day that its month does not have
        pass
    raise ValueError(f"must be a time as RFC 3339 has it: {json.dumps(text)}")


Time: TypeAlias = Annotated[str, Meta(extra={READ: _read_time})]
"""A time in an object."""


def age(text: str | None, now: float) -> str:
    """How long ago a time was, as a table shows it: `<unknown>` where there is none."""
    return human_duration(now - parse_time(text)) if text else "<unknown>"


def human_duration(seconds: float) -> str:
    """A duration with two or three significant figures, as every age in kubectl's output has.

    Clocks may differ, so up to two seconds in the future count as now.
    """
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _pair(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
