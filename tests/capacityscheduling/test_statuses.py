"""Statuses: what is used is written a moment after it has changed, by the process that leads, and nothing else is."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from muster.framework.contract import ApiError
from muster.framework.contract.api import MERGE_PATCH, NoApi
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.plugins.capacityscheduling.api import ELASTIC_QUOTAS
from muster.plugins.capacityscheduling.plugin import CapacityScheduling
from muster.testing import VirtualScheduler
from tests.builders import make_node, make_pod
from tests.capacityscheduling.objects import make_quota


class Statuses(NoApi):
    """The API's quotas as statuses are written to them.

    Attributes:
        written: how often each was, by key.
        failing: the HTTP status of every answer; 0 for success.
    """

    def __init__(self, world: "World") -> None:
        self.world = world
        self.written: list[str] = []
        self.failing = 0

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        *_, namespace, plural, name, status = path.split("/")
        assert (plural, status, content_type) == ("elasticquotas", "status", MERGE_PATCH)
        if self.failing:
            raise ApiError("no", status=self.failing)
        self.written.append(f"{namespace}/{name}")
        used = msgspec.json.decode(body)["status"]["used"]

        def merge(quota: dict[str, Any]) -> None:
            merged = {**quota.get("status", {}).get("used", {}), **used}
            quota["status"] = {"used": {key: text for key, text in merged.items() if text is not None}}

        self.world.api.change(ELASTIC_QUOTAS.resource, f"{namespace}/{name}", merge)
        return b"{}"


class World(VirtualScheduler):
    """A cluster whose API takes statuses of quotas."""

    def __init__(self) -> None:
        self.statuses = Statuses(self)
        super().__init__(CapacityScheduling)

    def build(self, ports: Ports) -> Engine:
        return super().build(replace(ports, api=self.statuses))

    def used(self, key: str) -> dict[str, str]:
        """What the status of a quota says."""
        found: dict[str, str] = self.api.objects[ELASTIC_QUOTAS.resource][key].get("status", {}).get("used", {})
        return found


@pytest.fixture
def world() -> World:
    world = World()
    world.add_nodes(make_node("node"))
    world.api.put(ELASTIC_QUOTAS.resource, make_quota("ml", min={"cpu": "2"}, max={"cpu": "4", "gpu": "1"}))
    return world


async def test_a_status_names_what_is_used_of_the_resources_of_min_and_max(world: World) -> None:
    world.add(make_pod("a", namespace="ml").requests(cpu="1500m", memory="1Gi"))
    await world.run(3.0)
    assert world.used("ml/quota") == {"cpu": "1500m", "gpu": "0"}


async def test_a_status_is_written_once_for_changes_that_come_together(world: World) -> None:
    await world.run(3.0)
    world.statuses.written.clear()
    world.add(*(make_pod(f"p{n}", namespace="ml").requests(cpu="1") for n in range(2)))
    await world.run(3.0)
    assert world.used("ml/quota")["cpu"] == "2"
    assert world.statuses.written == ["ml/quota"]
    await world.run(60.0)
    assert world.statuses.written == ["ml/quota"]


async def test_quotas_that_change_all_the_time_do_not_keep_others_from_their_statuses(world: World) -> None:
    world.add_nodes(make_node("large", pods="1000"))
    names = [f"busy-{n:02}" for n in range(50)]
    for name in (*names, "last"):
        world.api.put(ELASTIC_QUOTAS.resource, make_quota(name, min={"cpu": "1"}))
    for second in range(10):
        world.add(*(make_pod(f"p{second}", namespace=name).requests(cpu="1m") for name in names))
        await world.run(1.0)
    assert world.used("last/quota") == {"cpu": "0"}


async def test_a_resource_that_is_named_no_more_is_taken_out(world: World) -> None:
    await world.run(3.0)
    world.api.change(ELASTIC_QUOTAS.resource, "ml/quota", lambda quota: quota["spec"]["max"].pop("gpu"))
    await world.run(3.0)
    assert world.used("ml/quota") == {"cpu": "0"}


async def test_a_process_that_does_not_lead_writes_nothing_until_it_does(world: World) -> None:
    world.may_report = lambda: False
    world.add(make_pod("a", namespace="ml").requests(cpu="1"))
    await world.run(30.0)
    assert world.statuses.written == []
    world.may_report = lambda: True
    await world.run(15.0)
    assert world.used("ml/quota")["cpu"] == "1"


@pytest.mark.parametrize("status", [409, 503])
async def test_a_write_that_fails_is_repeated(world: World, status: int) -> None:
    world.statuses.failing = status
    world.add(make_pod("a", namespace="ml").requests(cpu="1"))
    await world.run(5.0)
    assert world.used("ml/quota") == {}
    world.statuses.failing = 0
    await world.run(15.0)
    assert world.used("ml/quota")["cpu"] == "1"


async def test_a_quota_that_is_gone_is_left_alone(world: World) -> None:
    world.statuses.failing = 404
    await world.run(5.0)
    world.api.delete(ELASTIC_QUOTAS.resource, "ml/quota")
    world.statuses.failing = 0
    await world.run(60.0)
    assert world.statuses.written == []
