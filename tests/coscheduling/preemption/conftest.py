"""Worlds whose API takes evictions; each is ended with its test."""

from collections.abc import AsyncIterator, Callable

import pytest

from .evicting import EvictingWorld

MakeWorld = Callable[..., EvictingWorld]


@pytest.fixture
async def make_world() -> AsyncIterator[MakeWorld]:
    """Call it with the arguments of `World`."""
    worlds: list[EvictingWorld] = []

    def make(*args: object, **more: object) -> EvictingWorld:
        worlds.append(EvictingWorld(*args, **more))
        return worlds[-1]

    yield make
    for world in worlds:
        await world.kill()


@pytest.fixture
async def world(make_world: MakeWorld) -> EvictingWorld:
    """A world with the plugin's default arguments."""
    return make_world()
