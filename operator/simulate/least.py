"""The least number that suffices, found with as few questions as possible."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


async def least(does: Callable[[int], Awaitable[bool]], *, guess: int, limit: int) -> int | None:
    """The least number from 1 to `limit` that `does`; None when `limit` does not.

    Goes from `guess` in steps that double, then halves; so a good guess costs two questions, and so does "none". Where
    a number does although a larger one does not, the answer is one that does while the number before it does not.
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
