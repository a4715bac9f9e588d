"""A loop that stands is told of with whoever holds it, once and again after a while; one that turns is not."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from muster.framework.contract import CycleState, NodeView, Plugin, PreFilterPlugin, Status
from muster.framework.metrics import SchedulerMetrics
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.points import SCORE
from muster.framework.runtime.call_watch import CallWatch, Running
from muster.operator.process.watchdog import Watchdog
from tests.builders import make_node, make_pod
from tests.scheduler.stage import Stage

HELD = "The event loop is held"


def told_nobody(held: float, worked: float) -> None:
    """What a beat tells, where it does not matter."""


class Slow(Plugin):
    """Somebody's plugin."""

    name = "Slow"


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    caplog.set_level(logging.WARNING)

    def pairs() -> list[dict[str, Any]]:
        return [cast("Any", record).pairs for record in caplog.records if record.message == HELD]

    return pairs


def running(clock: Clock) -> CallWatch:
    """The calls of plugins while `Slow` scores a pod."""
    pod = PodInfo(msgspec.convert(dict(make_pod("web")), Pod))
    watch = CallWatch(clock, SchedulerMetrics())
    watch.current = Running(cast("Plugin", object.__new__(Slow)), SCORE, pod, clock.now)
    return watch


def test_a_loop_that_turns_is_not_told_of(clock: Clock, told: Callable[[], list[dict[str, Any]]]) -> None:
    watchdog = Watchdog(running(clock), told_nobody, now=clock)
    clock.now += 0.1
    watchdog.look()
    assert told() == []


def test_plugin_point_and_pod_are_named_while_they_hold_the_loop(
    clock: Clock, told: Callable[[], list[dict[str, Any]]]
) -> None:
    watchdog = Watchdog(running(clock), told_nobody, now=clock)
    clock.now += 0.3
    watchdog.look()
    watchdog.look()
    assert told() == [{"plugin": "Slow", "point": "Score", "pod": "default/web", "seconds": "0.250"}]


async def test_the_same_holder_is_named_again_after_a_while_only(
    clock: Clock, told: Callable[[], list[dict[str, Any]]]
) -> None:
    watchdog = Watchdog(running(clock), told_nobody, now=clock)
    for _ in range(4):
        clock.now += 4.0
        watchdog.look()
        watchdog.beat()
    watchdog.stop()
    assert [each["seconds"] for each in told()] == ["3.950", "3.950"]


def test_without_a_plugin_the_line_of_code_is_named(clock: Clock, told: Callable[[], list[dict[str, Any]]]) -> None:
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), told_nobody, now=clock)
    clock.now += 2.0
    seen = threading.Thread(target=watchdog.look)
    seen.start()
    seen.join()
    [pairs] = told()
    assert pairs.keys() == {"at", "seconds"}
    assert ":" in pairs["at"]


def test_muster_itself_is_named_when_it_works_for_long_and_not_when_it_has_no_processor(
    clock: Clock, told: Callable[[], list[dict[str, Any]]]
) -> None:
    worked = Clock()
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), told_nobody, now=clock, worked=worked)
    clock.now += 0.3
    worked.now += 0.05
    watchdog.look()
    assert told() == []
    worked.now += 0.06
    watchdog.look()
    [pairs] = told()
    assert pairs["seconds"] == "0.250"


def test_what_the_loop_worked_before_it_turned_does_not_count(
    clock: Clock, told: Callable[[], list[dict[str, Any]]]
) -> None:
    async def turn() -> None:
        watchdog.beat()
        watchdog.stop()

    worked = Clock()
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), told_nobody, now=clock, worked=worked)
    clock.now += 0.3
    worked.now += 0.3
    asyncio.run(turn())
    clock.now += 0.3
    watchdog.look()
    assert told() == []


async def test_each_beat_says_for_how_long_the_loop_was_held(clock: Clock) -> None:
    observed: list[float] = []
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), lambda held, worked: observed.append(held), now=clock)
    clock.now += 0.05
    watchdog.beat()
    clock.now += 0.35
    watchdog.beat()
    watchdog.stop()
    assert observed == pytest.approx([0.0, 0.3])


async def test_each_beat_says_for_how_long_of_that_the_loop_was_at_work_at_most(clock: Clock) -> None:
    observed: list[float] = []
    worked = Clock()
    watchdog = Watchdog(
        CallWatch(clock, SchedulerMetrics()), lambda held, worked: observed.append(worked), now=clock, worked=worked
    )
    worked.now += 0.04
    clock.now += 0.06
    watchdog.look()
    worked.now += 0.01
    clock.now += 0.2
    watchdog.look()
    worked.now += 0.02
    clock.now += 0.1
    watchdog.beat()
    worked.now += 0.03
    clock.now += 0.09
    watchdog.beat()
    worked.now += 0.06
    clock.now += 0.09
    watchdog.beat()
    watchdog.stop()
    assert observed == pytest.approx([0.01 + 0.01 + 0.02, 0.03, 0.04])


async def test_what_is_worked_while_the_watchdog_looks_counts(clock: Clock) -> None:
    observed: list[float] = []
    worked, each_look = Clock(), 0.0

    def let_it_work() -> float:
        worked.now += each_look
        clock.now += each_look
        return worked.now

    watchdog = Watchdog(
        CallWatch(clock, SchedulerMetrics()),
        lambda held, worked: observed.append(worked),
        now=clock,
        worked=let_it_work,
    )
    clock.now += 0.05
    each_look = 0.01
    watchdog.look()
    each_look = 0.0
    watchdog.beat()
    watchdog.stop()
    assert observed == pytest.approx([0.01])


async def test_it_watches_until_it_is_stopped() -> None:
    beaten = asyncio.Event()
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), lambda held, worked: beaten.set())
    watchdog.start()
    await beaten.wait()
    beaten.clear()
    await beaten.wait()
    watchdog.stop()


def test_a_call_that_never_returns_is_named_while_nobody_is_answered(
    told: Callable[[], list[dict[str, Any]]],
) -> None:
    entered, let_go, probed = threading.Event(), threading.Event(), threading.Event()

    class Stuck(PreFilterPlugin):
        name = "Stuck"

        def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
            entered.set()
            let_go.wait()
            return None

    loops: list[asyncio.AbstractEventLoop] = []

    async def schedule() -> None:
        loops.append(asyncio.get_running_loop())
        stage = Stage(Stuck)
        watchdog = Watchdog(stage.engine.call_watch, told_nobody)
        watchdog.start()
        stage.put_node(make_node("one"))
        stage.put_pod(make_pod("web"))
        await stage.settle()
        watchdog.stop()
        await stage.close()

    thread = threading.Thread(target=asyncio.run, args=(schedule(),))
    thread.start()
    try:
        entered.wait()
        loops[0].call_soon_threadsafe(probed.set)
        while not told():
            time.sleep(0.01)
        assert {key: told()[0][key] for key in ("plugin", "point", "pod")} == {
            "plugin": "Stuck",
            "point": "PreFilter",
            "pod": "default/web",
        }
        assert not probed.is_set()
    finally:
        let_go.set()
        thread.join()
    assert probed.is_set()
