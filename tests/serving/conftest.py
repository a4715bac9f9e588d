"""Event loops: what strangers do to connections is tried on uvloop too, which the process runs on."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

LoopFactories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> LoopFactories:
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if item.path.stem == "test_bounds":
        factories["uvloop"] = uvloop.new_event_loop
    return factories
