"""Objects come and go as a churn says, pods are deleted in turn, and a steady backlog stays as large as it is."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench.scheduler_perf.beside import Churning, Steady, delete_pods
from bench.scheduler_perf.operations import Churn, DeletePods
from bench.scheduler_perf.pods import PodWatch
from bench.scheduler_perf.writer import Writer
from tests.bench.scheduler_perf.api import Recorder

BODY = b'{"metadata":{"generateName":"pod-"}}'
PODS = "/api/v1/namespaces/n/pods"


@pytest.fixture
def api() -> Recorder:
    return Recorder()


@pytest.fixture
def writer(api: Recorder) -> Writer:
    return Writer(api, lambda count: None)


def a_churn(folder: Path, *, recreates: bool, number: int) -> Churn:
    paths = []
    for kind in ("Node", "Pod"):
        path = folder / f"{kind}.yaml"
        path.write_text(f"apiVersion: v1\nkind: {kind}\nmetadata: {{generateName: {kind.lower()}-}}\n")
        paths.append(path)
    return Churn(namespace="n", templates=paths, recreates=recreates, number=number, interval_seconds=0.001)


async def test_a_churn_that_creates_makes_as_many_of_each_as_it_is_to(
    api: Recorder, writer: Writer, tmp_path: Path
) -> None:
    await Churning(a_churn(tmp_path, recreates=False, number=3), api, writer).run()
    assert api.requests[1:] == ["POST /api/v1/nodes", f"POST {PODS}"] * 3
    assert len(writer.created) == 3


async def test_a_churn_that_recreates_deletes_what_it_made_before_it_makes_it_again(
    api: Recorder, writer: Writer, tmp_path: Path
) -> None:
    running = asyncio.create_task(Churning(a_churn(tmp_path, recreates=True, number=1), api, writer).run())
    await api.until(7)
    running.cancel()

    assert api.requests[1:7] == [
        "POST /api/v1/nodes",
        f"POST {PODS}",
        "DELETE /api/v1/nodes/node-2",
        f"DELETE {PODS}/pod-3",
        "POST /api/v1/nodes",
        f"POST {PODS}",
    ]
    assert api.bodies[3:5] == [False, False]


async def test_pods_are_deleted_in_turn_with_the_time_that_they_ask_for(api: Recorder) -> None:
    await delete_pods(DeletePods(namespace="n", per_second=1000), ["a", "b"], api)
    assert api.requests == [f"DELETE {PODS}/a", f"DELETE {PODS}/b"]
    assert api.bodies == [False, False]


class _Bound:
    """A watch that reports each pod that was created as bound, once."""

    def __init__(self, api: Recorder) -> None:
        self._api = api

    async def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
        told = 0
        while True:
            await asyncio.sleep(0)
            for number, request in enumerate(self._api.requests[told:], start=told + 1):
                if request.startswith("POST"):
                    name = f'"namespace":"n","name":"pod-{number}"'
                    yield [f'{{"type":"ADDED","object":{{"metadata":{{{name}}},"spec":{{"nodeName":"x"}}}}}}'.encode()]
                told = number


async def test_each_pod_of_a_steady_backlog_is_replaced_when_it_is_bound(api: Recorder, writer: Writer) -> None:
    async with PodWatch(_Bound(api)) as watch:
        keeping = asyncio.create_task(Steady("n", api, writer, watch).keep([BODY] * 2, 60))
        await api.until(6)
        keeping.cancel()

    create = f"POST {PODS}"
    assert api.requests[:6] == [create, create, f"DELETE {PODS}/pod-1", create, f"DELETE {PODS}/pod-2", create]
    assert api.bodies[2] is True


async def test_a_backlog_of_which_no_pod_is_bound_ends_with_none(api: Recorder, writer: Writer) -> None:
    class Silent:
        async def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
            yield []

    assert await Steady("n", api, writer, PodWatch(Silent())).keep([BODY], 0.01) == 0
