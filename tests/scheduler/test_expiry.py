"""Assumed pods that are never reported on their nodes release their capacity, if that is configured."""

import asyncio

import pytest

from muster.operator.process.loop import EXPIRY_PERIOD_SECONDS, expire_assumed
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.stage import Stage


async def unreported(set_stage: SetStage, assumed_ttl: float | None) -> Stage:
    """A stage where `lost` was bound to the only node, which has no capacity for `next`."""
    stage = set_stage(NodeResourcesFit, assumed_ttl=assumed_ttl)
    stage.put_node(make_node("one", cpu="1"))
    stage.put_pod(make_pod("lost").requests(cpu="1"))
    await stage.settle()
    stage.put_pod(make_pod("next").requests(cpu="1"))
    await stage.settle()
    assert (stage.place("default/lost"), stage.place("default/next")) == ("assumed", "unschedulable")
    return stage


async def let_expire(stage: Stage, seconds: int) -> None:
    """Time passes, with a look at assumed pods each second."""
    slept = 0

    async def sleep(period: float) -> None:
        nonlocal slept
        if slept == seconds:
            raise asyncio.CancelledError
        slept += 1
        stage.clock.move_to(stage.clock.now() + period)

    with pytest.raises(asyncio.CancelledError):
        await expire_assumed(stage.engine, stage.clock, sleep=sleep)
    await stage.settle()


async def test_a_pod_that_is_never_reported_is_forgotten_with_a_warning_and_its_capacity_is_used(
    set_stage: SetStage, caplog: pytest.LogCaptureFixture
) -> None:
    stage = await unreported(set_stage, 30.0)
    await let_expire(stage, int(29 / EXPIRY_PERIOD_SECONDS))
    assert stage.place("default/lost") == "assumed"

    await let_expire(stage, int(2 / EXPIRY_PERIOD_SECONDS))

    assert (stage.place("default/lost"), stage.place("default/next")) == ("", "assumed")
    text = "pod default/lost was bound to one but never reported there, and is no longer counted"
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [text]


async def test_without_a_time_to_live_it_is_waited_for_without_end(set_stage: SetStage) -> None:
    stage = await unreported(set_stage, None)
    await let_expire(stage, 120)
    assert (stage.place("default/lost"), stage.place("default/next")) == ("assumed", "unschedulable")
