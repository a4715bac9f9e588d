"""Pods arrive at the rate that is asked for, and a latency runs from a pod's creation to its binding."""

import asyncio

import pytest
from rich.console import Console

from bench.latency import IN_FLIGHT, Arrival, arriving, create_evenly, table
from bench.scale import Body


def test_a_latency_runs_from_creation_to_binding_and_is_never_negative() -> None:
    created = {f"p{at}": float(at) for at in range(101)}
    bound = {pod: at + at / 10 for pod, at in created.items()} | {"p0": -1.0}

    found = Arrival.of(1, created, bound)

    assert (found.rate, found.created, found.p50, found.p99, found.longest) == pytest.approx((1, 1.0, 5.0, 9.9, 10.0))


def test_pods_have_names_of_their_own_at_every_rate() -> None:
    assert len({**arriving(2, 3), **arriving(3, 3)}) == 15


class _Slow:
    """An API server whose first answer comes when the last request is there."""

    def __init__(self, pods: int) -> None:
        self._left = pods
        self._all = asyncio.Event()
        self.asked: list[Body] = []

    async def post(self, path: str, body: bytes) -> bytes:
        self.asked.append((path, body))
        if len(self.asked) == self._left:
            self._all.set()
        await self._all.wait()
        return b""


async def test_a_slow_answer_keeps_no_pod_from_arriving() -> None:
    pods, done = arriving(1000, 1), [0]
    some = dict(list(pods.items())[:50])
    server = _Slow(len(some))

    created = await create_evenly(server, some.items(), 1000, lambda count: done.append(done[-1] + count))

    assert server.asked == list(some.values())
    assert created.keys() == some.keys()
    assert done[-1] == len(some)


async def test_an_api_server_that_does_not_answer_gets_a_bounded_number_of_requests() -> None:
    pods = arriving(2 * IN_FLIGHT, 1)
    server = _Slow(len(pods))

    creating = asyncio.create_task(create_evenly(server, pods.items(), 1_000_000, lambda _: None))
    for _ in range(5 * len(pods)):
        await asyncio.sleep(0)

    assert len(server.asked) == IN_FLIGHT
    creating.cancel()


def test_the_table_has_a_row_for_each_rate_and_both_sides() -> None:
    rows = [Arrival(100, 99.6, 0.005, 0.02, 0.1), Arrival(300, 250.0, 1.5, 2.0, 3.0)]
    console = Console(record=True, width=150)
    console.print(table({"kube-scheduler": rows, "muster": rows}))
    text = [" ".join(line.replace("│", " ").split()) for line in console.export_text().splitlines()]
    assert "100 100 5 20 100 5 20" in text
    assert "300 250 1500 2000 250 1500 2000" in text
