"""Worlds for these tests; each is ended with its test."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.coscheduling.world import World

MakeWorld = Callable[..., World]


@pytest.fixture
async def make_world() -> AsyncIterator[MakeWorld]:
    """Call it with the arguments of `World`."""
    worlds: list[World] = []

    def make(*args: object, **more: object) -> World:
        worlds.append(World(*args, **more))  # type: ignore[arg-type]
        return worlds[-1]

    yield make
    for world in worlds:
        await world.kill()


@pytest.fixture
async def world(make_world: MakeWorld) -> World:
    """A world with the plugin's default arguments."""
    return make_world()
