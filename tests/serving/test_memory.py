"""What is taken for what stays, and becomes garbage all the same, is found when there is nothing else to do."""

import gc
import weakref
from asyncio import CancelledError
from contextlib import suppress

from muster.operator.process.memory import look_at_all


class Itself:
    """Kept alive by itself alone."""

    def __init__(self) -> None:
        self.itself = self


async def test_what_was_kept_and_became_garbage_is_found_once_an_hour_when_the_process_rests() -> None:
    left = weakref.ref(Itself())
    rests, slept = iter((False, True)), list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 2:
            raise CancelledError

    gc.freeze()
    try:
        gc.collect()
        assert left() is not None
        with suppress(CancelledError):
            await look_at_all(lambda: next(rests), sleep)
        assert left() is None
        assert slept == [3600.0, 1.0, 3600.0]
    finally:
        gc.unfreeze()
