"""A blocked loop is logged with the cause, and again after a while if it is still blocked; a running loop is not."""

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
from muster.framework.runtime.call_watch import CallWatch, Running
from muster.framework.runtime.points import SCORE
from muster.operator.process.watchdog import Watchdog
from tests.builders import make_node, make_pod
from tests.clocks import ManualClock
from tests.scheduler.stage import Stage

BLOCKED = "The event loop is blocked"


def ignore(held: float, worked: float) -> None:
    """Takes what a beat observes."""


class Slow(Plugin):
    """A plugin of another package."""

    name = "Slow"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    caplog.set_level(logging.WARNING)

    def pairs() -> list[dict[str, Any]]:
        return [cast("Any", record).pairs for record in caplog.records if record.message == BLOCKED]

    return pairs


def running(clock: ManualClock) -> CallWatch:
    """The calls of plugins while `Slow` scores a pod."""
    pod = PodInfo(msgspec.convert(dict(make_pod("web")), Pod))
    watch = CallWatch(clock, SchedulerMetrics())
    watch.current = Running(cast("Plugin", object.__new__(Slow)), SCORE, pod, clock.time)
    return watch


def test_a_loop_that_runs_is_not_reported(clock: ManualClock, warnings: Callable[[], list[dict[str, Any]]]) -> None:
    watchdog = Watchdog(running(clock), ignore, now=clock)
    clock.time += 0.1
    watchdog.check()
    assert warnings() == []


def test_plugin_point_and_pod_are_named_while_they_hold_the_loop(
    clock: ManualClock, warnings: Callable[[], list[dict[str, Any]]]
) -> None:
    watchdog = Watchdog(running(clock), ignore, now=clock)
    clock.time += 0.3
    watchdog.check()
    watchdog.check()
    assert warnings() == [{"plugin": "Slow", "point": "Score", "pod": "default/web", "seconds": "0.250"}]


async def test_the_same_holder_is_named_again_after_a_while_only(
    clock: ManualClock, warnings: Callable[[], list[dict[str, Any]]]
) -> None:
    watchdog = Watchdog(running(clock), ignore, now=clock)
    for _ in range(4):
        clock.time += 4.0
        watchdog.check()
        watchdog.beat()
    watchdog.stop()
    assert [each["seconds"] for each in warnings()] == ["3.950", "3.950"]


def test_without_a_plugin_the_line_of_code_is_named(
    clock: ManualClock, warnings: Callable[[], list[dict[str, Any]]]
) -> None:
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), ignore, now=clock)
    clock.time += 2.0
    seen = threading.Thread(target=watchdog.check)
    seen.start()
    seen.join()
    [pairs] = warnings()
    assert pairs.keys() == {"at", "seconds"}
    assert ":" in pairs["at"]


def test_muster_itself_is_named_when_it_works_for_long_and_not_when_it_has_no_processor(
    clock: ManualClock, warnings: Callable[[], list[dict[str, Any]]]
) -> None:
    worked = ManualClock()
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), ignore, now=clock, worked=worked)
    clock.time += 0.3
    worked.time += 0.05
    watchdog.check()
    assert warnings() == []
    worked.time += 0.06
    watchdog.check()
    [pairs] = warnings()
    assert pairs["seconds"] == "0.250"


def test_work_before_the_last_beat_does_not_count(
    clock: ManualClock, warnings: Callable[[], list[dict[str, Any]]]
) -> None:
    async def turn() -> None:
        watchdog.beat()
        watchdog.stop()

    worked = ManualClock()
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), ignore, now=clock, worked=worked)
    clock.time += 0.3
    worked.time += 0.3
    asyncio.run(turn())
    clock.time += 0.3
    watchdog.check()
    assert warnings() == []


async def test_each_beat_says_for_how_long_the_loop_was_held(clock: ManualClock) -> None:
    observed: list[float] = []
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), lambda held, worked: observed.append(held), now=clock)
    clock.time += 0.05
    watchdog.beat()
    clock.time += 0.35
    watchdog.beat()
    watchdog.stop()
    assert observed == pytest.approx([0.0, 0.3])


async def test_each_beat_says_for_how_long_of_that_the_loop_was_at_work_at_most(clock: ManualClock) -> None:
    observed: list[float] = []
    worked = ManualClock()
    watchdog = Watchdog(
        CallWatch(clock, SchedulerMetrics()), lambda held, worked: observed.append(worked), now=clock, worked=worked
    )
    worked.time += 0.04
    clock.time += 0.06
    watchdog.check()
    worked.time += 0.01
    clock.time += 0.2
    watchdog.check()
    worked.time += 0.02
    clock.time += 0.1
    watchdog.beat()
    worked.time += 0.03
    clock.time += 0.09
    watchdog.beat()
    worked.time += 0.06
    clock.time += 0.09
    watchdog.beat()
    watchdog.stop()
    assert observed == pytest.approx([0.01 + 0.01 + 0.02, 0.03, 0.04])


async def test_work_between_the_readings_of_a_check_counts(clock: ManualClock) -> None:
    observed: list[float] = []
    worked, each_check = ManualClock(), 0.0

    def let_it_work() -> float:
        worked.time += each_check
        clock.time += each_check
        return worked.time

    watchdog = Watchdog(
        CallWatch(clock, SchedulerMetrics()),
        lambda held, worked: observed.append(worked),
        now=clock,
        worked=let_it_work,
    )
    clock.time += 0.05
    each_check = 0.01
    watchdog.check()
    each_check = 0.0
    watchdog.beat()
    watchdog.stop()
    assert observed == pytest.approx([0.01])


async def test_a_watchdog_watches_until_it_is_stopped() -> None:
    beaten = asyncio.Event()
    watchdog = Watchdog(CallWatch(clock, SchedulerMetrics()), lambda held, worked: beaten.set())
    watchdog.start()
    await beaten.wait()
    beaten.clear()
    await beaten.wait()
    watchdog.stop()


def test_a_call_that_never_returns_is_named_while_the_loop_is_blocked(
    warnings: Callable[[], list[dict[str, Any]]],
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
        watchdog = Watchdog(stage.engine.call_watch, ignore)
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
        while not warnings():
            time.sleep(0.01)
        assert {key: warnings()[0][key] for key in ("plugin", "point", "pod")} == {
            "plugin": "Stuck",
            "point": "PreFilter",
            "pod": "default/web",
        }
        assert not probed.is_set()
    finally:
        let_go.set()
        thread.join()
    assert probed.is_set()
