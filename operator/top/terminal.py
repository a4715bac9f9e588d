"""The terminal of `muster top`: its keys and its alternate screen.

`on_terminal` and `reading` restore the terminal, whatever ends the block.
"""

from __future__ import annotations

import asyncio
import os
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from .keys import KeyDecoder

_READ = 1 << 10
_PAUSE_SECONDS = 0.05
"""The longest time between two bytes of one key."""
_CONTROL_CHARACTERS = 6
"""The index of the control characters in termios' attributes."""
_DISABLED = b"\x00"


class LiveScreen:
    """The alternate screen of a terminal. Implements `TerminalScreen`."""

    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live

    @property
    def size(self) -> tuple[int, int]:
        """See `TerminalScreen`."""
        return self._console.size

    def show(self, lines: list[Text]) -> None:
        """See `TerminalScreen`."""
        self._live.update(Group(*lines), refresh=True)


@contextmanager
def on_terminal(console: Console) -> Iterator[LiveScreen]:
    """The alternate screen, without a cursor, while the block lasts."""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        yield LiveScreen(console, live)


@contextmanager
def reading(descriptor: int, take: Callable[[Sequence[str]], None], end: Callable[[], None]) -> Iterator[None]:
    """Pass on each key as it is pressed while the block lasts, without an echo; `end` when the terminal is gone.

    Ctrl-C still interrupts. Ctrl-Z does nothing, because it would leave the shell a terminal in this mode.
    """
    before = termios.tcgetattr(descriptor)
    loop, reader = asyncio.get_running_loop(), _Reader(take, end)
    try:
        tty.setcbreak(descriptor)
        changed = termios.tcgetattr(descriptor)
        changed[_CONTROL_CHARACTERS][termios.VSUSP] = _DISABLED
        termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
        loop.add_reader(descriptor, reader.read, descriptor)
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class _Reader:
    """Decodes the input, and waits a moment for the rest of a key."""

    def __init__(self, take: Callable[[Sequence[str]], None], end: Callable[[], None]) -> None:
        self._take = take
        self._end = end
        self._decoder = KeyDecoder()
        self._waiting: asyncio.TimerHandle | None = None

    def read(self, descriptor: int) -> None:
        """Read the available input."""
        try:
            data = os.read(descriptor, _READ)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(descriptor)
            self._end()
            return
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        self._take(self._decoder.feed(data))
        if self._decoder.unfinished:
            self._waiting = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self._flush)

    def _flush(self) -> None:
        self._waiting = None
        self._take(self._decoder.flush())
