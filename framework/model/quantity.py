"""Kubernetes quantities ("100m", "1.5Gi", "2e3") as exact integers.

Called wherever a resource amount is read from an object. A quantity is held as an int of nano units, the finest grain
that Kubernetes keeps; a finer value is rounded away from zero, as `resource.ParseQuantity` does. Sums are exact in nano
units and are rounded once, at the end, by `value` or `milli_value`. Quantities, whole values and milli values are all
capped at 2^63-1 in magnitude, so that they fit the int64 columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, TypeAlias, TypeVar

from msgspec import Meta

from .faults import READ
from .integers import Int64

MAX_VALUE = 2**63 - 1
LONGEST = 256
"""Characters of a quantity; what the API server stores is shorter."""
_NANO_POWER = 9
_PLAIN_DIGITS = 18
NANO_PER_UNIT = 10**9
NANO_PER_MILLI = 10**6
_ALMOST = NANO_PER_UNIT - 1

T = TypeVar("T")

_DECIMAL_EXPONENT = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_EXPONENT = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FORM = re.compile(r"([+-]?)(\d*(?:\.\d*)?)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?", re.ASCII)


class QuantityError(ValueError):
    """A text or number that is not a Kubernetes quantity."""


def nanos(quantity: Quantity) -> int:
    """The quantity in nano units (10^-9 of its unit).

    Raises QuantityError when it is not of the form `<sign><number><suffix>`, or longer than `LONGEST`. A missing number
    counts as 0, as it does for the API server.
    """
    if isinstance(quantity, str) and len(quantity) <= _PLAIN_DIGITS and quantity.isascii() and quantity.isdecimal():
        return int(quantity) * NANO_PER_UNIT
    return _parsed(quantity)


Quantity: TypeAlias = Annotated[str | Int64 | float, Meta(extra={READ: nanos})]
"""A quantity in an object. The API server always writes strings; manifests written by people hold numbers as well."""


@lru_cache(maxsize=8192)
def _parsed(quantity: Quantity) -> int:
    text = str(quantity).strip()
    match = _FORM.fullmatch(text) if len(text) <= LONGEST else None
    if match is None or not text:
        raise QuantityError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$',"
            f" got {text[:LONGEST]!r}"
        )
    sign, number, suffix, exponent = match.groups()
    whole, _, decimals = number.partition(".")
    amount = int((whole + decimals) or 0) << _BINARY_EXPONENT.get(suffix, 0)
    power = _DECIMAL_EXPONENT.get(suffix or "", 0) if exponent is None else _bounded(int(exponent))
    power += _NANO_POWER - len(decimals)
    grain = int(10 ** abs(power))
    amount = amount * grain if power >= 0 else -(-amount // grain)
    magnitude = min(amount, MAX_VALUE * NANO_PER_UNIT)
    return -magnitude if sign == "-" else magnitude


def _bounded(exponent: int) -> int:
    """Keep absurd exponents from building absurd integers: past these bounds the result is capped anyway."""
    return max(-400, min(400, exponent))


def value(amount: int) -> int:
    """Nano units to whole units, rounded away from zero (`Quantity.Value`)."""
    return _away_from_zero(amount, NANO_PER_UNIT)


def whole_values(amounts: Mapping[T, int]) -> dict[T, int]:
    """Each of them as `value`; fast, for a pod may name thousands."""
    return {key: min((n + _ALMOST) // NANO_PER_UNIT, MAX_VALUE) if n >= 0 else value(n) for key, n in amounts.items()}


def milli_value(amount: int) -> int:
    """Nano units to thousandths, rounded away from zero (`Quantity.MilliValue`)."""
    return _away_from_zero(amount, NANO_PER_MILLI)


def _away_from_zero(amount: int, grain: int) -> int:
    magnitude = min(-(-abs(amount) // grain), MAX_VALUE)
    return magnitude if amount >= 0 else -magnitude


_LONGEST_VALUE = 63
_SURE_DIGITS = 19
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def integer(text: str) -> int | None:
    """The int64 that `text`, a label's value, spells in decimal, or None."""
    if len(text) < _SURE_DIGITS and text.isdecimal() and text.isascii():
        return int(text)
    if len(text) > _LONGEST_VALUE or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
