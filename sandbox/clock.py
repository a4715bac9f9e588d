"""Time, uids and generated names: where they come from, and how times are written and read.

The sources are injected, so that a test or a simulation can run twice and see the same. The clock counts seconds since
the epoch; objects hold RFC 3339 texts with a resolution of one second.
"""

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What generated names end in: no vowels, so no words; nothing that looks like something else."""


def _random_uid() -> str:
    return str(uuid.uuid4())


def _random_suffix() -> str:
    return "".join(random.choices(_LETTERS, k=5))


@dataclass(frozen=True, slots=True)
class Sources:
    """`clock` counts seconds since the epoch, `uid` makes a new uid, `suffix` five characters for `generateName`."""

    clock: Callable[[], float] = time.time
    uid: Callable[[], str] = _random_uid
    suffix: Callable[[], str] = _random_suffix


REAL = Sources()
"""The machine's clock, and uids and names that no one can foresee."""


def format_time(seconds: float) -> str:
    """Seconds since the epoch as `metav1.Time` writes them."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float:
    """Seconds since the epoch of a `metav1.Time` or `metav1.MicroTime`; raises ValueError on anything else."""
    return datetime.fromisoformat(text).timestamp()


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
