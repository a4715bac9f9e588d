"""Fixtures for the tests of plugins."""

import asyncio

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_event_loop_is_left_over() -> None:
    """Says that there is no current event loop: Python 3.11 would make one for pytest-asyncio to put back after a test,
    nobody would close it, and some other test would be blamed for it."""
    asyncio.set_event_loop(None)
