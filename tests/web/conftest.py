"""One browser and one event loop for all tests of pages: a browser takes seconds to start."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.web.browser import chromium
from tests.web.served import Shown, shown


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser."""
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shown]:
    """A cluster of six nodes, with its pages."""
    async with shown(tmp_path_factory.mktemp("web")) as running:
        yield running
