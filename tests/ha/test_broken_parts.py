"""A process of which a part has failed cannot continue: it ends, so that the kubelet restarts it."""

import asyncio
import gc
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.credentials import Connection
from muster.operator.kube.informer import Informer
from muster.operator.kube.transport import Transport
from muster.operator.leader.elector import Alone
from muster.operator.process import loop
from muster.operator.process.informers import Informers
from muster.operator.process.loop import SchedulingLoop
from muster.operator.process.machine import Machine
from muster.operator.process.process import Process
from muster.operator.process.settings import assemble, muster_configuration
from tests.builders import make_pod
from tests.controlplane.ports import free_port

SHARED = Machine(exclusive=False)
"""Other tests run in this interpreter."""


async def broken(_: object) -> None:
    raise RuntimeError("a bug")


async def complete(_: object) -> None:
    pass


@pytest.fixture
async def nobody() -> AsyncIterator[Transport]:
    """The way to an API server that is not there."""
    async with Transport(Connection(f"http://127.0.0.1:{free_port()}", auth=StaticAuth())) as transport:
        yield transport


@pytest.mark.parametrize("part", [SchedulingLoop, Informer, Alone])
async def test_a_process_ends_when_a_part_of_it_fails(
    part: type, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, nobody: Transport
) -> None:
    monkeypatch.setattr(part, "run", broken)
    monkeypatch.setattr(Informers, "complete", complete)
    process = Process(assemble(muster_configuration()), nobody, SHARED)

    process.start()
    async with asyncio.timeout(10):
        await process.over.wait()
    await process.stop()

    assert process.failed
    assert any(record.exc_info and "a bug" in str(record.exc_info[1]) for record in caplog.records)


async def test_a_process_that_ends_before_it_knows_the_cluster_leaves_garbage_to_the_collector_again(
    nobody: Transport,
) -> None:
    callbacks, thresholds = gc.callbacks[:], gc.get_threshold()
    process = Process(assemble(muster_configuration()), nobody)
    try:
        process.start()
        assert not gc.isenabled()
        await process.stop()
        assert gc.isenabled()
    finally:
        gc.callbacks[:] = callbacks
        gc.set_threshold(*thresholds)


async def test_a_process_with_a_time_to_live_forgets_what_is_never_reported(
    monkeypatch: pytest.MonkeyPatch, nobody: Transport
) -> None:
    monkeypatch.setattr(loop, "EXPIRY_PERIOD_SECONDS", 0.001)
    process = Process(replace(assemble(muster_configuration()), assumed_ttl=0.001), nobody, SHARED)
    cache, pod = process.engine.cache, PodInfo(msgspec.convert({**make_pod("lost")}, Pod))

    process.start()
    cache.assume(pod, "one")
    cache.finish_binding(pod)
    async with asyncio.timeout(10):
        while cache.is_assumed(pod.uid):  # noqa: ASYNC110  # the cache has no event for it
            await asyncio.sleep(0.001)
    await process.stop()

    assert not process.failed


async def test_a_process_that_is_stopped_has_not_failed(nobody: Transport) -> None:
    process = Process(assemble(muster_configuration()), nobody, SHARED)

    process.start()
    await process.stop()

    assert process.over.is_set()
    assert not process.failed
