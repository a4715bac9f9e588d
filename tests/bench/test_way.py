"""The calls that are counted on a pod's way."""

import asyncio
import io

from rich.console import Console

from bench.way import WAYS, table, ways
from muster.testing.engine import VirtualScheduler


def test_a_count_is_the_same_every_time() -> None:
    for act in WAYS.values():
        _, once, again = (asyncio.run(ways(act)) for _ in range(3))  # the process remembers some from the first
        assert [way.calls for way in once] == [way.calls for way in again]
        assert all(way.total > len(way.modules) > 0 for way in once)


def test_a_way_leads_through_the_product_alone() -> None:
    [way] = asyncio.run(ways(WAYS["plain pod"], times=1))
    assert "muster.framework.scheduler.schedule_one" in way.modules
    assert all(module.startswith("muster.") for module in way.modules)
    assert "muster.testing.engine" not in way.modules


def test_a_pod_that_is_not_bound_has_no_way() -> None:
    async def nothing(scheduler: VirtualScheduler, name: str) -> None:
        scheduler.api.put("pods", {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": []}})

    async def found() -> str:
        try:
            await ways(nothing)
        except RuntimeError as error:
            return str(error)
        return ""

    assert asyncio.run(found()) == "a pod was not bound, so this is not its whole way"


def test_the_table_has_a_line_for_each_kind() -> None:
    [way] = asyncio.run(ways(WAYS["plain pod"], times=1))
    console = Console(file=io.StringIO(), width=200)
    console.print(table({"plain pod": [way, way]}))
    output = console.file
    assert isinstance(output, io.StringIO)
    line = next(line for line in output.getvalue().splitlines() if "plain pod" in line)
    assert line.count(str(way.total)) == 2
