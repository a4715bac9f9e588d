"""Stages for these tests; each is ended with its test."""

from collections.abc import AsyncIterator, Callable

import pytest

from muster.framework.contract import Plugin
from tests.builders import make_node
from tests.scheduler.stage import Stage

SetStage = Callable[..., Stage]


@pytest.fixture
async def set_stage() -> AsyncIterator[SetStage]:
    """Call it with plugins, and more arguments of `Stage`, for a stage with one node, `one`."""
    stages: list[Stage] = []

    def make(*plugins: type[Plugin], **more: object) -> Stage:
        stages.append(Stage(*plugins, **more))  # type: ignore[arg-type]
        stages[-1].put_node(make_node("one"))
        return stages[-1]

    yield make
    for stage in stages:
        stage.check()
        await stage.close()
