"""Objects that were frozen and became garbage are collected when there is nothing else to do."""

import gc
import weakref
from asyncio import CancelledError
from contextlib import suppress

from muster.operator.process.memory import collect_hourly


class Itself:
    """Kept alive by itself alone."""

    def __init__(self) -> None:
        self.itself = self


async def test_frozen_objects_that_became_garbage_are_collected_once_an_hour_when_the_process_is_idle() -> None:
    left = weakref.ref(Itself())
    idle, slept = iter((False, True)), list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 2:
            raise CancelledError

    gc.freeze()
    try:
        gc.collect()
        assert left() is not None
        with suppress(CancelledError):
            await collect_hourly(lambda: next(idle), sleep)
        assert left() is None
        assert slept == [3600.0, 1.0, 3600.0]
    finally:
        gc.unfreeze()
