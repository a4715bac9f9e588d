"""Integers as Kubernetes reads them out of labels."""

from __future__ import annotations

import re

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
