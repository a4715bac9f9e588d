"""Whatever fails while a profile's plugins are made is told as a fault of the configuration that enables them.

`Profile` wraps every call in it that runs code of a plugin before anything is scheduled: its constructor, and the
events that it registers. So a process ends with one sentence that names the plugin, and code 2, whatever it raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..config import ConfigurationError, Problem
from ..contract.exception_text import text_of

_LONGEST_TEXT = 512


def in_a_line(error: BaseException) -> str:
    """`Type: text` of an exception in one line of bounded length, as it stands in messages to people."""
    name, told = type(error).__name__, " ".join(text_of(error).split())
    text = name if told == name else f"{name}: {told}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


@contextmanager
def built(profile: str, plugin: str, *, calling: str) -> Iterator[None]:
    """Around a call of a plugin at start. Raises ConfigurationError for all that it raises, SystemExit included."""
    try:
        yield
    except (Exception, SystemExit) as error:
        text = f'profile "{profile}": plugin "{plugin}" failed in {calling}: {in_a_line(error)}'
        raise ConfigurationError([Problem("profiles", text)]) from error
