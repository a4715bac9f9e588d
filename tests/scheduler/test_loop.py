"""The loop holds decisions back while many pods are on their way to be bound, however they were decided for."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from muster.framework.contract import CycleState, NoDomain, PostBindPlugin, PreFilterPlugin, Status
from muster.framework.contract.group import GroupPlugin
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.schedule_one import MEMBERS_AT_ONCE
from muster.operator.process.loop import SchedulingLoop
from tests.builders import PodDict, make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.doorman import HOLD, Doorman
from tests.scheduler.stage import Stage


class Groups(GroupPlugin, PostBindPlugin):
    """Pods with the same label `group`, three of which must be placed at once. A point makes it part of the profile."""

    name = "Groups"

    def group_of(self, pod: PodInfo) -> str | None:
        return pod.labels.get("group")

    def missing(self, group: str) -> int:
        return 3

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        return cause

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass


@pytest.fixture
def stage(set_stage: SetStage) -> Stage:
    stage = set_stage(Doorman, Groups)
    stage.put_node(make_node("one", cpu="1000", pods="1000"))
    return stage


@contextmanager
def scheduling(stage: Stage, *, max_bindings: int) -> Iterator[None]:
    """The loop at work on the stage."""
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True, max_bindings=max_bindings)
    stage.on_wake = loop.wake
    task = asyncio.get_running_loop().create_task(loop.run())
    try:
        yield
    finally:
        task.cancel()


def create(stage: Stage, count: int, change: Callable[[PodDict], object] = lambda pod: None, name: str = "pod") -> None:
    for index in range(count):
        pod = make_pod(f"{name}-{index}")
        change(pod)
        stage.put_pod(pod)


def label(pod: PodDict, **labels: str) -> None:
    pod.labels(**labels)


async def turns() -> None:
    """Some turns of the test's own loop, which the scheduling loop runs on."""
    for _ in range(40):
        await asyncio.sleep(0)


async def test_no_more_pods_are_decided_for_than_may_be_bound_at_once(stage: Stage) -> None:
    stage.hold_bindings()
    create(stage, 10)
    with scheduling(stage, max_bindings=4):
        await turns()
        assert (len(stage.binds), stage.engine.cache.assumed_count) == (4, 4)
        stage.release_bindings()
        await turns()
        assert len(stage.binds) == 10


async def test_pods_that_permit_holds_keep_nobody_waiting(stage: Stage) -> None:
    create(stage, 10, lambda pod: pod.labels(**{HOLD: ""}))
    create(stage, 3, name="free")
    with scheduling(stage, max_bindings=2):
        await turns()
        assert (len(stage.engine.waiting_pods), len(stage.binds)) == (10, 3)


async def test_a_gang_that_is_being_bound_counts_as_its_members(stage: Stage) -> None:
    stage.hold_bindings()
    create(stage, 3, lambda pod: pod.labels(group="a"), name="member")
    with scheduling(stage, max_bindings=3):
        await turns()
        create(stage, 2)
        await turns()
        assert len(stage.binds) == 3
        stage.release_bindings()
        await turns()
        assert len(stage.binds) == 5


async def test_a_pod_that_comes_while_a_large_gang_is_bound_does_not_wait_for_all_of_it(stage: Stage) -> None:
    stage.hold_bindings()
    create(stage, 3 * MEMBERS_AT_ONCE, lambda pod: pod.labels(group="a"), name="member")
    with scheduling(stage, max_bindings=2 * MEMBERS_AT_ONCE):
        await turns()
        create(stage, 1)
        await turns()
        assert (len(stage.binds), stage.engine.cache.assumed_count) == (MEMBERS_AT_ONCE + 1, 3 * MEMBERS_AT_ONCE + 1)
        stage.release_bindings()
        await turns()
        assert len(stage.binds) == 3 * MEMBERS_AT_ONCE + 1


async def test_gangs_count_before_their_binding_has_begun(stage: Stage) -> None:
    stage.hold_bindings()
    for gang in range(8):
        create(stage, 3, partial(label, group=str(gang)), name=f"member-{gang}")
    with scheduling(stage, max_bindings=4):
        await turns()
        assert (len(stage.binds), stage.engine.cache.assumed_count) == (6, 6)
        stage.release_bindings()
        await turns()
        assert len(stage.binds) == 24


async def test_a_gang_that_waits_for_a_held_member_keeps_nobody_waiting(stage: Stage) -> None:
    create(stage, 2, lambda pod: pod.labels(group="a"), name="member")
    create(stage, 1, lambda pod: pod.labels(group="a", **{HOLD: ""}), name="held")
    create(stage, 10)
    with scheduling(stage, max_bindings=2):
        await turns()
        assert (len(stage.engine.waiting_pods), len(stage.binds)) == (1, 10)


async def test_a_pod_that_loses_its_node_before_its_binding_allows_a_further_decision(stage: Stage) -> None:
    create(stage, 2)
    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True, max_bindings=2)
    assert [stage.engine.scheduler.step() for _ in range(2)] == [True, True]
    assert stage.engine.scheduler.bindings_in_flight == 2
    stage.drop_node("one")
    await turns()
    assert (stage.binds, stage.engine.scheduler.bindings_in_flight) == ([], 0)
    assert loop.stalled() is None


async def test_gangs_that_permit_holds_make_no_room_for_others(stage: Stage) -> None:
    stage.hold_bindings()
    create(stage, 3, lambda pod: pod.labels(group="a", **{HOLD: ""}), name="member")
    create(stage, 10)
    with scheduling(stage, max_bindings=4):
        await turns()
        assert (len(stage.engine.waiting_pods), len(stage.binds)) == (3, 4)


async def test_a_bound_member_allows_a_further_decision_while_its_siblings_are_being_bound(stage: Stage) -> None:
    first = asyncio.Event()
    stage.hold_bindings(first)
    create(stage, 3, lambda pod: pod.labels(group="a"), name="member")
    with scheduling(stage, max_bindings=3):
        await turns()
        create(stage, 2)
        await turns()
        assert len(stage.binds) == 3
        first.set()
        await turns()
        assert len(stage.binds) == 4


class Stalls(PreFilterPlugin):
    """Takes so long about a pod as its label `stalls` says, in milliseconds, on the stage's clock."""

    name = "Stalls"
    stage: Stage

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: object) -> None:
        clock = self.stage.clock
        clock.move_to(clock.now() + int(pod.labels.get("stalls", "0")) / 1000)


@pytest.mark.parametrize(("milliseconds", "rests"), [(250, [0.05, 0.05, 0.05]), (20, [0, 0, 0])])
async def test_after_a_slice_in_which_a_plugin_stalled_everything_else_gets_more_than_one_step(
    set_stage: SetStage, milliseconds: int, rests: list[float]
) -> None:
    stage = Stalls.stage = set_stage(Stalls)
    stage.put_node(make_node("one", cpu="1000", pods="1000"))
    create(stage, 3, lambda pod: pod.labels(stalls=str(milliseconds)))
    rested: list[float] = []

    async def rest(seconds: float) -> None:
        rested.append(seconds)
        await asyncio.sleep(0)

    loop = SchedulingLoop(stage.engine, stage.clock, may_schedule=lambda: True, sleep=rest)
    task = asyncio.get_running_loop().create_task(loop.run())
    await turns()
    task.cancel()
    assert (len(stage.binds), rested) == (3, rests)
