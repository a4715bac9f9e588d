"""Worlds for these tests; each is ended with its test."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.coscheduling.world import World

MakeWorld = Callable[..., World]


@pytest.fixture
def world_class() -> type[World]:
    """What these tests happen in."""
    return World


@pytest.fixture
async def make_world(world_class: type[World]) -> AsyncIterator[MakeWorld]:
    """Call it with the arguments of `World`."""
    worlds: list[World] = []

    def make(*args: object, **more: object) -> World:
        worlds.append(world_class(*args, **more))  # type: ignore[arg-type]  # whatever a test gives
        return worlds[-1]

    yield make
    for world in worlds:
        await world.kill()


@pytest.fixture
async def world(make_world: MakeWorld) -> World:
    """A world with the plugin's default arguments."""
    return make_world()
