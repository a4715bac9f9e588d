"""Worlds whose API takes evictions; each is ended with its test."""

from collections.abc import Callable

import pytest

from .evicting import EvictingWorld

MakeWorld = Callable[..., EvictingWorld]


@pytest.fixture
def world_class() -> type[EvictingWorld]:
    """What these tests happen in."""
    return EvictingWorld
