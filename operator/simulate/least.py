"""The least number that suffices, found with as few tries as possible."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


async def least(does: Callable[[int], Awaitable[bool]], *, guess: int, limit: int) -> int | None:
    """The least number from 1 to `limit` for which `does` is true; None if it is false for `limit`.

    Steps from `guess` double, then halve; so a good guess costs two tries, and so does "none". If `does` is true for a
    number and false for a larger one, the result is a number for which it is true, but false for the number below.
    """
    if limit < 1:
        return None
    too_few, step = 0, 1
    enough = min(max(guess, 1), limit)
    if await does(enough):
        while enough - step > 0 and await does(enough - step):
            enough, step = enough - step, 2 * step
        too_few = max(0, enough - step)
    else:
        if enough == limit or not await does(limit):
            return None
        while True:
            too_few, enough, step = enough, min(enough + step, limit), 2 * step
            if enough == limit or await does(enough):
                break
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if await does(middle):
            enough = middle
        else:
            too_few = middle
    return enough
