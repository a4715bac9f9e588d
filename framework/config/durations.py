"""Durations as Go writes them (`15s`, `1m30s`, `1.5h`), which is how the Kubernetes API spells them.

Called for every duration in a configuration and wherever Muster shows one next to kube-scheduler's texts. Parsing and
formatting are exact to the nanosecond within Go's range of about 292 years, and error texts are Go's.
"""

import re
from typing import Final

NANOSECONDS_PER_SECOND = 1_000_000_000

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": NANOSECONDS_PER_SECOND,
    "m": 60 * NANOSECONDS_PER_SECOND,
    "h": 3600 * NANOSECONDS_PER_SECOND,
}
_LONGEST = 2**63 - 1
_PART = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>[^0-9.]*)")


def parse_duration(text: str) -> float:
    """Seconds in `text`. Raises ValueError with Go's message."""
    return parse_nanoseconds(text) / NANOSECONDS_PER_SECOND


def parse_nanoseconds(text: str) -> int:
    """Nanoseconds in `text`. Raises ValueError with Go's message."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    total = position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None or not (part["whole"] or part["fraction"]):
            raise ValueError(f'time: invalid duration "{text}"')
        if not part["unit"]:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if part["unit"] not in _UNITS:
            raise ValueError(f'time: unknown unit "{part["unit"]}" in duration "{text}"')
        total += _amount(part["whole"], part["fraction"] or "", _UNITS[part["unit"]])
        position = part.end()
    if total > _LONGEST + (sign < 0):
        raise ValueError(f'time: invalid duration "{text}"')
    return sign * total


def _amount(whole: str, fraction: str, unit: int) -> int:
    scale: int = 10 ** len(fraction)
    return int(whole or "0") * unit + int(fraction or "0") * unit // scale


def format_duration(seconds: float) -> str:
    """`seconds` as Go prints a duration: `1.5s`, `10m0s`, `250ms`, `0s`."""
    nanoseconds = round(seconds * NANOSECONDS_PER_SECOND)
    sign, nanoseconds = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if nanoseconds < NANOSECONDS_PER_SECOND:
        return sign + _below_a_second(nanoseconds)
    minutes, rest = divmod(nanoseconds, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    text = _decimal(rest, NANOSECONDS_PER_SECOND) + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _below_a_second(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    unit = next(unit for unit in ("ms", "µs", "ns") if nanoseconds >= _UNITS[unit])
    return _decimal(nanoseconds, _UNITS[unit]) + unit


def _decimal(value: int, unit: int) -> str:
    """`value / unit` in decimal, exactly, without trailing zeros; `unit` is a power of ten."""
    whole, rest = divmod(value, unit)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
