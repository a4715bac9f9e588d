"""The ledger of bindings, fed with watches that a test wrote."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from bench.ledger import Ledger, WrongRunError


def line(pod: str, node: str, *, kind: str = "ADDED", version: int = 1) -> bytes:
    metadata = {"name": pod, "resourceVersion": str(version)}
    return json.dumps({"type": kind, "object": {"metadata": metadata, "spec": {"nodeName": node}}}).encode()


class Script:
    """Gives the watches in turn, the last one for ever, and remembers what was asked for."""

    def __init__(self, *watches: list[bytes]) -> None:
        self.watches = list(watches)
        self.asked: list[dict[str, str]] = []

    async def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
        self.asked.append({"path": path, **query})
        await asyncio.sleep(0)
        yield self.watches.pop(0) if len(self.watches) > 1 else self.watches[0]


def always() -> bool:
    return True


def unseen(count: int) -> None:
    """Progress that no test looks at."""


def test_a_binding_is_entered_when_it_is_seen_first() -> None:
    ledger = Ledger(Script())
    ledger.enter([line("a", "n1"), line("b", "n2")], now=5.0)
    ledger.enter([line("a", "n1", kind="MODIFIED"), line("c", "n1")], now=6.0)
    assert ledger.nodes == {"a": "n1", "b": "n2", "c": "n1"}
    assert ledger.times == {"a": 5.0, "b": 5.0, "c": 6.0}


def test_new_bindings_are_noticed_and_changes_of_bound_pods_are_not() -> None:
    noticed: list[int] = []
    ledger = Ledger(Script(), notice=lambda: noticed.append(len(ledger.nodes)))
    ledger.enter([line("a", "n1"), line("b", "n2")], now=5.0)
    ledger.enter([line("a", "n1", kind="MODIFIED")], now=6.0)
    assert noticed == [2]


def test_a_pod_that_is_bound_twice_is_a_wrong_run() -> None:
    ledger = Ledger(Script())
    ledger.enter([line("a", "n1")], now=5.0)
    with pytest.raises(WrongRunError, match="pod a was bound to n1, then to n2"):
        ledger.enter([line("a", "n2", kind="MODIFIED")], now=6.0)


@pytest.mark.parametrize("kind", ["DELETED", "ERROR"])
def test_a_watch_that_says_anything_but_bindings_is_a_wrong_run(kind: str) -> None:
    with pytest.raises(WrongRunError, match=kind):
        Ledger(Script()).enter([line("a", "n1", kind=kind)], now=5.0)


async def test_a_watch_that_ends_goes_on_where_it_was() -> None:
    script = Script([line("a", "n1", version=7)], [line("b", "n1", version=8)])
    async with Ledger(script) as ledger:
        assert await ledger.reach(2, is_alive=always, advance=unseen)
    assert list(ledger.nodes) == ["a", "b"]
    assert [asked["resourceVersion"] for asked in script.asked[:2]] == ["", "7"]
    assert {asked["fieldSelector"] for asked in script.asked} == {"spec.nodeName!="}


async def test_waiting_for_bindings_tells_how_many_came() -> None:
    told: list[int] = []
    async with Ledger(Script([line("a", "n1"), line("b", "n1"), line("c", "n1")])) as ledger:
        assert await ledger.reach(3, is_alive=always, advance=told.append)
    assert sum(told) == 3


async def test_waiting_for_bindings_ends_when_the_scheduler_ends() -> None:
    async with Ledger(Script([line("a", "n1")])) as ledger:
        assert not await ledger.reach(2, is_alive=lambda: False, advance=unseen)


async def test_a_faulty_watch_fails_the_wait_for_bindings() -> None:
    async with Ledger(Script([line("a", "n1")], [line("a", "n2")])) as ledger:
        with pytest.raises(WrongRunError):
            await ledger.reach(2, is_alive=always, advance=unseen)
