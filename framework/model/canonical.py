"""The text of a quantity as the API server stores and prints it (`Quantity.String`)."""

from __future__ import annotations

import re

from .quantity import NANO_PER_MILLI, NANO_PER_UNIT, Quantity, nanos

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_EXPONENTS = tuple(f"e{exponent}" for exponent in range(-9, 19, 3))
_EXPONENT = re.compile(r"\d[eE][+-]?\d+$")


def canonical(quantity: Quantity, *, grain: int = 1) -> str:
    """A quantity as the API stores it: `0.5` is `500m`, `1024Mi` is `1Gi`. Raises QuantityError for no quantity.

    It is rounded up to a multiple of `grain` in nano units.
    """
    return canonical_like(quantity, -(-nanos(quantity) // grain) * grain)


def canonical_like(quantity: Quantity, amount: int) -> str:
    """An amount in nano units, in the format of the quantity: powers of 1024, or of 1000, or exponents."""
    text = str(quantity).strip()
    if text.endswith("i") and abs(amount) >= 1024 * NANO_PER_UNIT:
        return _shortened(-(-amount // NANO_PER_UNIT), 1024, _BINARY)
    if _EXPONENT.search(text):
        return _shortened(amount, 1000, _EXPONENTS).removesuffix("e0")
    return _shortened(amount, 1000, _DECIMAL)


def canonical_amount(quantity: Quantity) -> str:
    """The amount of a resource as the API stores it, which is to the thousandth."""
    return canonical(quantity, grain=NANO_PER_MILLI)


def _shortened(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    if amount == 0:
        return "0"
    step = 0
    while amount % base == 0 and step < len(suffixes) - 1:
        amount, step = amount // base, step + 1
    return f"{amount}{suffixes[step]}"
