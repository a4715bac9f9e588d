"""A process that schedules nothing says so to its probes, whatever stopped it."""

import asyncio
import logging

import pytest

from muster.operator.process.loop import SchedulingLoop
from muster.operator.process.tasks import TaskSet
from tests.builders import make_node, make_pod
from tests.scheduler.stage import Stage


async def turn(loop: SchedulingLoop) -> asyncio.Task[None]:
    """The loop at work, after it has decided whatever it can."""
    task = asyncio.get_running_loop().create_task(loop.run())
    for _ in range(20):
        await asyncio.sleep(0)
    return task


async def test_a_loop_that_has_not_begun_is_nothing_to_worry_about() -> None:
    stage = Stage()
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    stage.clock.move_to(stage.clock.now() + 1000)
    assert (loop.stands(), loop.idles()) == (None, None)


async def test_a_loop_that_does_not_turn_any_more_stands() -> None:
    stage = Stage()
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    task = await turn(loop)
    task.cancel()
    await asyncio.wait([task])
    stage.clock.move_to(stage.clock.now() + 9)
    assert loop.stands() is None
    stage.clock.move_to(stage.clock.now() + 4)
    assert loop.stands() == "the scheduling loop has not turned for 13 s"


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
    assert loop.idles() == "nothing has been decided for 61 s while 2 pods are ready and 1 are being bound"
    stage.release_bindings()
    task.cancel()
    await stage.close()


async def test_a_loop_with_nothing_to_decide_is_not_idle() -> None:
    stage = Stage()
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True)
    task = await turn(loop)
    stage.clock.move_to(stage.clock.now() + 1000)
    assert loop.idles() is None
    task.cancel()


async def test_a_cancellation_that_nobody_asked_for_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
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
        "a task ended by a cancellation that nobody asked for"
    ]
