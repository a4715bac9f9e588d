"""One run of `muster top`, which follows the cluster, handles keys, gets explanations and draws until the user quits.

`commands/top.py` runs it on a terminal. `rows`, `state` and `drawing` compute everything that it shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from rich.text import Text

from muster.operator.web.cluster import FollowedCluster
from muster.operator.web.stream import Ticker

from .drawing import TopView, draw, page_of, rows_of
from .keys import Key
from .reasons import reasons, version_of
from .rows import RowId, TopRow, summarize
from .state import Extent, TopState, press, settled, shown
from .wrapping import wrapped

_REDRAW_SECONDS = 1.0
"""The interval at which ages are redrawn while nothing changes."""
_DECIDING = "Deciding ..."


class TerminalScreen(Protocol):
    """The screen to draw on."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in characters."""
        ...

    def show(self, lines: list[Text]) -> None:
        """Show these lines and nothing else."""
        ...


class TopSession:
    """One run of `muster top`.

    Args:
        ticker: polls the cluster; it runs as long as the session.
        caution: why explanations may differ from the scheduler's decisions; "" if they cannot.
        wall: returns seconds since the epoch.
    """

    def __init__(
        self,
        cluster: FollowedCluster,
        ticker: Ticker,
        screen: TerminalScreen,
        *,
        about: str,
        caution: str,
        wall: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._ticker = ticker
        self._screen = screen
        self._about = about
        self._caution = caution
        self._wall = wall
        self._state = TopState()
        self._version = ticker.version
        self._summary = summarize(ticker.state)
        self._rows: list[TopRow] = []
        self._question: tuple[RowId, Sequence[str]] | None = None
        self._answering: asyncio.Task[None] | None = None
        self._why: list[str] = []
        self._woken = asyncio.Event()
        self._arrange()

    def take(self, keys: Iterable[str]) -> None:
        """Handle these keys."""
        for key in keys:
            self._state = press(self._state, key, self._extent())
            self._arrange()
        self._woken.set()

    def end(self) -> None:
        """End the run, like the key for it."""
        self.take([Key.INTERRUPT])

    def redraw(self) -> None:
        """Draw again, because the terminal has another size."""
        self._woken.set()

    async def run(self) -> None:
        """Return when the user has quit."""
        following = self._begun(self._follow())
        try:
            while not self._state.over:
                self._woken.clear()
                self._ask()
                self._draw()
                await self._woken.wait()
                for task in (following, self._answering):
                    if task is not None and task.done():
                        task.result()
        finally:
            for task in (following, self._answering):
                if task is not None:
                    task.cancel()

    async def _follow(self) -> None:
        while True:
            if await self._ticker.changed_since(self._version, within=_REDRAW_SECONDS):
                self._version = self._ticker.version
                self._summary = await asyncio.to_thread(summarize, self._ticker.state)
                self._arrange()
            self._woken.set()

    def _arrange(self) -> None:
        """Filter and sort again, and let the cursor follow its row."""
        self._rows = shown(self._summary.rows, self._state)
        self._state = settled(self._state, self._rows)

    def _ask(self) -> None:
        """Get the explanation of the open row, unless it is known for the row's version; one explanation at a time."""
        opened, previous = self._state.opened, self._question
        question = None if opened is None else (opened, version_of(self._cluster, self._summary, opened))
        if question == previous:
            return
        again = question is not None and previous is not None and question[0] == previous[0]
        if self._answering is not None:
            if again and not self._answering.done():
                return
            self._answering.cancel()
        if not again:
            self._why = [_DECIDING]
        self._question = question
        self._answering = None if opened is None else self._begun(self._answer(opened))

    async def _answer(self, row: RowId) -> None:
        found = await reasons(self._cluster, self._summary, row, now=self._wall())
        self._why = [*found, *(("", self._caution) if self._caution else ())]

    def _begun(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._woken.set())
        return task

    def _extent(self) -> Extent:
        width, height = self._screen.size
        page = page_of(width, height, self._cluster.missing())
        if self._state.opened is None:
            return Extent(self._rows, 0, rows_of(width, page))
        return Extent(self._rows, len(wrapped(self._why, width)), page)

    def _draw(self) -> None:
        width, height = self._screen.size
        why = wrapped(self._why, width)
        view = TopView(
            about=self._about,
            summary=self._summary,
            rows=self._rows,
            state=replace(self._state, scroll=max(min(self._state.scroll, len(why) - 1), 0)),
            why=why,
            missing=self._cluster.missing(),
            now=self._wall(),
        )
        self._screen.show(draw(view, width=width, height=height))
