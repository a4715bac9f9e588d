"""What an exception says, whatever it is: that of a plugin may break whoever asks it."""

from __future__ import annotations


def text_of(error: BaseException) -> str:
    """Its text, or its type where it has none. Raises nothing."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
