"""A process that schedules nothing says so to its probes, whatever stopped it."""

import asyncio
import logging
from itertools import count

import pytest

from muster.operator.process.loop import SchedulingLoop
from muster.operator.process.tasks import TaskSet
from muster.testing import VirtualScheduler
from tests.builders import make_node, make_pod
from tests.scheduler.stage import Stage


async def turn(loop: SchedulingLoop) -> asyncio.Task[None]:
    """The loop at work, after it has decided whatever it can."""
    task = asyncio.get_running_loop().create_task(loop.run())
    await go_on(loop)
    return task


async def go_on(loop: SchedulingLoop) -> None:
    """Let the loop turn some more."""
    loop.wake()
    for _ in range(20):
        await asyncio.sleep(0)


class Thorough(VirtualScheduler):
    """Two full nodes, a pod whose victims are looked for in slices, and others that are ready. It takes no time."""

    def __init__(self) -> None:
        self.steps = count()
        super().__init__(stopwatch=lambda: float(next(self.steps)))
        self.add_nodes(*(make_node(f"node-{number}", cpu="4") for number in range(2)))
        self.add(*(make_pod(f"low-{n}").requests(cpu="1").priority(0).node(f"node-{n % 2}") for n in range(8)))
        self.add(make_pod("first").requests(cpu="3").priority(10))
        self.add(*(make_pod(f"ready-{n}") for n in range(500)))
        while not self.engine.scheduler.under_way:
            self.step()


async def test_a_loop_that_has_not_begun_is_nothing_to_worry_about() -> None:
    stage = Stage()
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    stage.clock.move_to(stage.clock.now() + 1000)
    assert (loop.stopped(), loop.stalled()) == (None, None)


async def test_a_loop_that_does_not_turn_any_more_stands() -> None:
    stage = Stage()
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    task = await turn(loop)
    task.cancel()
    await asyncio.wait([task])
    stage.clock.move_to(stage.clock.now() + 9)
    assert loop.stopped() is None
    stage.clock.move_to(stage.clock.now() + 4)
    assert loop.stopped() == "the scheduling loop has not turned for 13 s"


async def test_pods_that_are_ready_while_nothing_is_decided_make_it_idle() -> None:
    stage = Stage()
    stage.put_node(make_node("one"))
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True, max_bindings=1)
    stage.on_wake = loop.wake
    stage.hold_bindings()
    for name in ("first", "second", "third"):
        stage.put_pod(make_pod(name))
    task = await turn(loop)
    assert len(stage.binds) == 1
    stage.clock.move_to(stage.clock.now() + 61)
    assert loop.stalled() == "nothing has been decided for 61 s while 2 pods are ready and 1 are being bound"
    stage.release_bindings()
    task.cancel()
    await stage.close()


async def test_a_decision_that_does_not_end_makes_it_idle_later() -> None:
    world = Thorough()
    world.engine.scheduler.step = lambda: True  # type: ignore[method-assign]  # it goes on, and nothing comes of it
    loop = SchedulingLoop(world.engine, world.clock, may_schedule=lambda: True)
    task = await turn(loop)
    for _ in range(10):
        world.clock.move_to(world.clock.now() + 59)
        await go_on(loop)
        assert loop.stalled() is None
    world.clock.move_to(world.clock.now() + 11)
    assert (loop.stopped(), loop.stalled()) == (
        "the scheduling loop has not turned for 11 s",
        "one decision has been under way for 601 s while 500 pods are ready",
    )
    await go_on(loop)
    assert (loop.stopped(), loop.stalled()) == (
        None,
        "one decision has been under way for 601 s while 500 pods are ready",
    )
    task.cancel()


async def test_a_scheduler_that_takes_nothing_from_its_queue_idles() -> None:
    stage = Stage()
    stage.put_pod(*(make_pod(f"ready-{n}") for n in range(500)))
    stage.engine.scheduler.step = lambda: False  # type: ignore[method-assign]
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    task = await turn(loop)
    for seconds in (59, 1):
        assert loop.stalled() is None
        stage.clock.move_to(stage.clock.now() + seconds)
        await go_on(loop)
    assert loop.stalled() == "nothing has been decided for 60 s while 500 pods are ready and 0 are being bound"
    stage.clock.move_to(stage.clock.now() + 940)
    await go_on(loop)
    assert loop.stalled() == "nothing has been decided for 1000 s while 500 pods are ready and 0 are being bound"
    task.cancel()


async def test_a_pod_that_comes_after_a_long_time_without_any_does_not_make_it_idle() -> None:
    stage = Stage()
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    task = await turn(loop)
    stage.clock.move_to(stage.clock.now() + 1000)
    await go_on(loop)
    stage.engine.scheduler.step = lambda: False  # type: ignore[method-assign]
    stage.put_pod(make_pod("late"))
    assert loop.stalled() is None
    await go_on(loop)
    assert loop.stalled() is None
    task.cancel()


async def test_a_gang_that_is_bound_slowly_does_not_make_it_idle() -> None:
    stage = Stage()
    stage.put_node(make_node("one"))
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True, max_bindings=1)
    stage.on_wake = loop.wake
    for number in range(4):
        stage.put_pod(make_pod(f"pod-{number}"))
    stage.hold_bindings()
    task = await turn(loop)
    for _ in range(3):
        stage.clock.move_to(stage.clock.now() + 59)
        assert loop.stalled() is None
        stage.release_bindings()
        stage.hold_bindings()
        await go_on(loop)
    stage.release_bindings()
    task.cancel()
    await stage.close()


async def test_a_standby_does_not_idle_nor_does_it_when_it_has_just_become_the_leader() -> None:
    stage = Stage()
    leads = False
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: leads)
    stage.put_pod(make_pod("waits"))
    task = await turn(loop)
    stage.clock.move_to(stage.clock.now() + 1000)
    await go_on(loop)
    assert loop.stalled() is None
    stage.engine.scheduler.step = lambda: False  # type: ignore[method-assign]
    leads = True
    await go_on(loop)
    assert loop.stalled() is None
    task.cancel()


async def test_a_loop_with_nothing_to_decide_is_not_idle() -> None:
    stage = Stage()
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    task = await turn(loop)
    stage.clock.move_to(stage.clock.now() + 1000)
    assert loop.stalled() is None
    task.cancel()


async def test_an_unrequested_cancellation_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[None] = []
    tasks = TaskSet(on_failure=lambda: failures.append(None))

    async def broken() -> None:
        raise asyncio.CancelledError

    async def patient() -> None:
        await asyncio.Event().wait()

    asked = tasks.spawn(patient())
    await asyncio.sleep(0)
    asked.cancel()
    await asyncio.wait([asked, tasks.spawn(broken())])
    assert failures == [None]
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "a task ended by a cancellation without a request for it"
    ]
