"""When an embedded engine is settled is counted: whatever can go on without time has gone on, however long it takes."""

import asyncio

import pytest

from muster.framework.contract import CycleState, PodInfo, PreBindPlugin, Status
from muster.framework.embedded.clock import VirtualClock
from muster.framework.embedded.loop import VirtualLoop
from muster.testing import VirtualScheduler, make_node, make_pod

TURNS = 500


class Patient(PreBindPlugin):
    """Takes many turns of the event loop."""

    name = "Patient"

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return None


class Sleepy(PreBindPlugin):
    """Sleeps by asyncio."""

    name = "Sleepy"

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        await asyncio.gather(asyncio.sleep(30), asyncio.sleep(20))
        return None


async def test_work_of_many_turns_is_done_when_the_engine_is_settled() -> None:
    world = VirtualScheduler(Patient)
    world.add_nodes(make_node("node"))
    [key] = world.add(make_pod("pod"))
    await world.settle()
    assert world.node_of(key) == "node"


async def test_asyncio_sleeps_in_virtual_time() -> None:
    world = VirtualScheduler(Sleepy)
    world.add_nodes(make_node("node"))
    [key] = world.add(make_pod("pod"))
    assert await world.until(lambda: world.node_of(key) == "node", within=60) == 30


async def test_a_task_of_a_loop_cannot_run_the_loop() -> None:
    loop = VirtualLoop(VirtualClock())
    task = loop.create_task(_run(loop))
    assert loop.run_ready()
    with pytest.raises(RuntimeError, match="cannot run it"):
        task.result()


async def _run(loop: VirtualLoop) -> None:
    loop.call_soon(lambda: None)
    loop.run_ready()


def test_tasks_end_with_the_loop_that_goes_on_by_itself() -> None:
    ended = []

    async def last() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def main() -> None:
        loop = VirtualLoop(VirtualClock())
        loop.spawn(last())
        loop.run_ready()
        assert ended == []

    asyncio.run(main())
    assert ended == [True]
