"""Members of a gang that mount claims: each sees the volumes that the others were given, on nodes and in the trial."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from muster.framework.contract import MERGE_PATCH
from muster.framework.contract.api import NoApi
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.testing.api import InMemoryApi
from tests.builders import make_node
from tests.coscheduling.objects import make_members
from tests.coscheduling.world import World
from tests.storage import BOUND, make_claim, make_class, make_csi_node, make_volume

PLURALS = {
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses",
    "CSINode": "csinodes",
}
LOCAL = make_class("local", provisioner="kubernetes.io/no-provisioner")


class Patches(NoApi):
    """Lets volumes be given to claims, and binds each claim that has got one."""

    def __init__(self, api: InMemoryApi) -> None:
        self._api = api

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        plural, name = path.split("/")[-2:]
        claim = json.loads(body)["spec"]["claimRef"]
        self._api.change(plural, name, lambda volume: volume["spec"].update(claimRef=claim))
        key = f"{claim['namespace']}/{claim['name']}"
        self._api.change(PLURALS["PersistentVolumeClaim"], key, lambda obj: _bind(obj, name))
        return json.dumps(self._api.objects[plural][name]).encode()


def _bind(claim: dict[str, Any], volume: str) -> None:
    claim["metadata"].setdefault("annotations", {}).update(BOUND)
    claim["spec"]["volumeName"] = volume


class StorageWorld(World):
    """Nodes n0 to n2 and their storage."""

    def build(self, ports: Ports) -> Engine:
        return super().build(replace(ports, api=Patches(self.api)))

    def store(self, *objects: dict[str, Any]) -> None:
        """Storage objects come."""
        for obj in objects:
            self.api.put(PLURALS[obj["kind"]], obj)

    async def gang(self, size: int, claims: int) -> list[str]:
        """A gang whose members mount so many claims between them, in turn; the nodes that it got."""
        self.add_group("g", size)
        members = make_members("g", size)
        self.add(*(member.claim(f"c{number % claims}") for number, member in enumerate(members)))
        await self.settle()
        return [self.node_of(key) for key in self.bound()]


@pytest.fixture
async def world() -> AsyncIterator[StorageWorld]:
    world = StorageWorld()
    world.add_nodes(*(make_node(f"n{number}") for number in range(3)))
    yield world
    await world.kill()


@pytest.mark.parametrize(("size", "fits"), [(2, True), (3, True), (4, False)])
async def test_each_member_gets_a_local_volume_of_its_own_or_none_gets_any(
    world: StorageWorld, size: int, fits: bool
) -> None:
    world.store(LOCAL, *(make_volume(f"on-n{number}", storage_class="local").on(f"n{number}") for number in range(3)))
    world.store(*(make_claim(f"c{number}", storage_class="local") for number in range(size)))
    used = await world.gang(size, size)
    assert len(set(used)) == len(used) == (size if fits else 0)
    given = [volume for volume in world.api.objects["persistentvolumes"].values() if volume["spec"].get("claimRef")]
    assert len(given) == len(used)
    world.check()


async def test_volumes_of_a_failed_trial_are_left_to_others(world: StorageWorld) -> None:
    world.store(LOCAL, make_volume("on-n0", storage_class="local").on("n0"))
    world.store(*(make_claim(f"c{number}", storage_class="local") for number in range(2)))
    assert await world.gang(2, 2) == []
    world.store(make_claim("mine", storage_class="local"))
    world.add(make_members("other", 1)[0].claim("mine"))
    world.add_group("other", 1)
    await world.settle()
    assert world.bound() == ["default/other-0"]
    assert world.api.objects["persistentvolumes"]["on-n0"]["spec"]["claimRef"]["name"] == "mine"
    world.check()


@pytest.mark.parametrize(("size", "fits"), [(3, True), (4, False)])
async def test_members_count_against_the_volume_limits_of_nodes(world: StorageWorld, size: int, fits: bool) -> None:
    world.store(*(make_csi_node(f"n{number}", {"csi.example.com": 1}) for number in range(3)))
    for number in range(size):
        world.store(make_claim(f"c{number}", volume=f"v{number}"), make_volume(f"v{number}"))
    used = await world.gang(size, size)
    assert sorted(used) == (["n0", "n1", "n2"] if fits else [])
    world.check()


async def test_members_cannot_share_a_claim_for_one_pod_alone(world: StorageWorld) -> None:
    world.store(make_claim("c0", volume="v", modes=["ReadWriteOncePod"]), make_volume("v"))
    assert await world.gang(2, 1) == []
    world.check()
