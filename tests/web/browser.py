"""Debian's Chromium, and the JavaScript errors of a page in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, async_playwright, expect

from tests.debian import program

_SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_PATIENCE_MILLISECONDS = 30_000
PHONE = (390, 844)
DESK = (1200, 800)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser with a profile of its own. Raises FileNotFoundError where there is none."""
    path = program("chromium", target="browser")
    expect.set_options(timeout=_PATIENCE_MILLISECONDS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=list(_SWITCHES))
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Watched:
    """A page, and what would show that something is wrong with it.

    Attributes:
        complaints: what was written to the console, violations of the Content-Security-Policy included, and failures
            of scripts.
        elsewhere: addresses on other hosts that the page asked for.
    """

    page: Page
    host: str
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def expect_no_fault(self) -> None:
        """Nothing was complained of, and nothing was fetched from elsewhere."""
        assert (self.complaints, self.elsewhere) == ([], [])


@asynccontextmanager
async def opened(
    browser: Browser,
    entrance: str,
    *,
    size: tuple[int, int] = DESK,
    scheme: Literal["light", "dark"] = "light",
) -> AsyncIterator[Watched]:
    """The page at this address, in a browser that has never been there."""
    width, height = size
    context = await browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    try:
        page = await context.new_page()
        watched = Watched(page, urlsplit(entrance).netloc)
        page.on("console", lambda message: watched.complaints.append(message.text))
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("request", lambda request: _note(watched, request.url))
        await page.goto(entrance)
        yield watched
    finally:
        await context.close()


def _note(watched: Watched, url: str) -> None:
    if urlsplit(url).netloc != watched.host:
        watched.elsewhere.append(url)
