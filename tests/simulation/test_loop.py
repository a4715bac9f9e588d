"""The loop of a simulation: virtual time, lots between owners, order inside one."""

import asyncio
from collections.abc import Callable
from random import Random

from muster.testing.simulation.loop import SimulatedLoop


def order(seed: int, steps: Callable[[SimulatedLoop, list[str]], None]) -> list[str]:
    loop, seen = SimulatedLoop(Random(seed)), list[str]()
    steps(loop, seen)
    loop.run_until(loop.time() + 100)
    loop.end()
    return seen


def two_owners(loop: SimulatedLoop, seen: list[str]) -> None:
    for name in ("a", "b"):
        owner = loop.owner(name)
        for number in range(3):
            loop.call_soon(seen.append, f"{name}{number}", context=owner.context)


def test_an_owner_keeps_its_order_and_lots_are_drawn_between_them() -> None:
    seen = [order(seed, two_owners) for seed in range(20)]
    assert len({tuple(each) for each in seen}) > 5
    assert all([name for name in each if name[0] == "a"] == ["a0", "a1", "a2"] for each in seen)
    assert order(3, two_owners) == seen[3]


def test_sleeping_takes_no_time_but_the_loops() -> None:
    async def sleeps(loop: SimulatedLoop, seen: list[str]) -> None:
        for seconds in (2.0, 5.0):
            await asyncio.sleep(seconds)
            seen.append(f"{loop.time():g}")

    def steps(loop: SimulatedLoop, seen: list[str]) -> None:
        loop.call_soon(lambda: loop.create_task(sleeps(loop, seen)) and None, context=loop.owner("a").context)

    assert order(1, steps) == ["1002", "1007"]


def test_an_owner_that_stands_misses_nothing_and_is_late() -> None:
    def steps(loop: SimulatedLoop, seen: list[str]) -> None:
        stands, other = loop.owner("stands"), loop.owner("other")
        stands.stopped = True
        loop.call_later(1, lambda: seen.append(f"{loop.time():g}"), context=stands.context)
        loop.call_later(9, lambda: setattr(stands, "stopped", False), context=other.context)

    assert order(1, steps) == ["1009"]


def test_a_slow_owner_takes_its_time_for_each_step() -> None:
    def steps(loop: SimulatedLoop, seen: list[str]) -> None:
        slow = loop.owner("slow")
        slow.pace = 2.0
        for _ in range(3):
            loop.call_soon(lambda: seen.append(f"{loop.time():g}"), context=slow.context)

    assert order(1, steps) == ["1000", "1002", "1004"]
