"""VolumeBinding's PreBind: what is written, how long it waits, and why it gives up."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from muster.framework.config.args import VolumeBindingArgs
from muster.framework.contract import ApiError, CycleState, Status
from muster.framework.contract.api import MERGE_PATCH, NoApi
from muster.framework.metrics import SchedulerMetrics
from muster.operator.metrics import blocks, registry_of
from muster.plugins.volumes.binding import VolumeBinding
from tests.builders import ObjectDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info
from tests.serving.scraping import scrape
from tests.storage import BOUND, ZONE, ClaimDict, make_claim, make_class, make_csi_node, make_volume

POD = make_pod("web").claim("made").claim("there")
TIMEOUT = 10


class FakeApi(NoApi):
    """Answers patches as the API server does, and remembers them. The informers hear of nothing by themselves."""

    def __init__(self) -> None:
        self.written: list[tuple[str, dict[str, Any]]] = []
        self.objects: dict[str, ObjectDict] = {}
        self.fails_at: str = ""

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        assert content_type == MERGE_PATCH
        name = path.rpartition("/")[2]
        if name == self.fails_at:
            raise ApiError("the object has been modified", status=409, reason="Conflict")
        patch = json.loads(body)
        assert patch["metadata"].pop("resourceVersion") == self.objects[name]["metadata"]["resourceVersion"]
        self.written.append((path, patch))
        self.objects[name] = _newer(self.objects[name], patch)
        return json.dumps(self.objects[name]).encode()


def _newer(obj: ObjectDict, patch: dict[str, Any]) -> ObjectDict:
    merged: Any = _merge(json.loads(json.dumps(obj)), patch)
    merged["metadata"]["resourceVersion"] = str(int(obj["metadata"]["resourceVersion"]) + 1)
    return type(obj)(merged)


def _merge(obj: Any, patch: dict[str, Any]) -> Any:
    for key, value in patch.items():
        if isinstance(value, dict):
            obj[key] = _merge(obj.get(key, {}), value)
        elif value is None:
            obj.pop(key, None)
        else:
            obj[key] = value
    return obj


class World:
    """A pod reserved on node a, with a volume that is there and one that is to be made."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.cluster = Cluster(make_node("a").zone("zone-a"))
        self.metrics = SchedulerMetrics()
        args = VolumeBindingArgs(bind_timeout_seconds=TIMEOUT)
        self.plugin = self.cluster.plugin(VolumeBinding, args, api=self.api, metrics=self.metrics)
        for obj in (
            make_claim("there", storage_class="local"),
            make_claim("made", storage_class="late"),
            make_volume("v", storage_class="local").on("a"),
        ):
            self.api.objects[obj.name] = obj
            self.cluster.keep(obj)
        self.cluster.keep(make_class("local", provisioner="kubernetes.io/no-provisioner"), make_class("late"))
        self.state = CycleState()
        assert self.plugin.pre_filter(self.state, info(POD), self.cluster.view()) is None
        self.cluster.place("a", POD)
        assert self.plugin.reserve(self.state, info(POD), "a") is None

    def begin(self) -> "asyncio.Task[Status | None]":
        """Begins to bind."""
        assert self.plugin.pre_bind_pre_flight(self.state, info(POD), "a") is None
        return asyncio.ensure_future(self.plugin.pre_bind(self.state, info(POD), "a"))

    def pass_time(self) -> None:
        """A second passes."""
        self.cluster.clock.move_to(self.cluster.clock.now() + 1)

    def report(self, *names: str) -> None:
        """The informers hear of these objects as they are by now."""
        self.cluster.keep(*(self.api.objects[name] for name in names))

    def change(self, name: str, patch: dict[str, Any]) -> None:
        """Change an object as another client would; the informers report it."""
        self.api.objects[name] = _newer(self.api.objects[name], patch)
        self.report(name)

    def bind(self, claim: str, volume: str) -> None:
        """The controller of volumes is done with the claim."""
        self.change(claim, {"metadata": {"annotations": BOUND}, "spec": {"volumeName": volume}})


async def settle() -> None:
    """Let everything happen that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_volumes_and_claims_are_written_against_the_versions_that_were_decided_about() -> None:
    world = World()
    binding = world.begin()
    await settle()
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "there",
        "uid": "claim-default-there",
        "resourceVersion": "1",
    }
    annotations = {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert world.api.written == [
        ("/api/v1/persistentvolumes/v", {"metadata": {"annotations": annotations}, "spec": {"claimRef": reference}}),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims/made",
            {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "a"}}},
        ),
    ]
    assert not binding.done()
    binding.cancel()


async def test_prebind_ends_as_soon_as_the_last_claim_is_bound_without_waiting_for_a_second_to_pass() -> None:
    world = World()
    binding = world.begin()
    await settle()
    world.report("v", "made")
    world.bind("there", "v")
    await settle()
    assert not binding.done()
    world.cluster.keep(make_volume("new", storage_class="late"))
    world.bind("made", "new")
    await settle()
    assert binding.result() is None
    assert world.cluster.clock.next_due() is None


async def test_prebind_waits_for_objects_that_the_informers_have_not_reported_yet() -> None:
    world = World()
    binding = world.begin()
    await settle()
    # Both claims look bound, but only versions that have not arrived yet say to which volume.
    world.cluster.keep(ClaimDict(make_claim("there", storage_class="local", volume="v")))
    world.cluster.keep(ClaimDict(make_claim("made", storage_class="late", volume="new")))
    await settle()
    assert not binding.done()
    binding.cancel()


def _claim_reset(world: World) -> None:
    world.change("v", {"spec": {"claimRef": None}})


def _refused(world: World) -> None:
    world.change("made", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None, "more": "yes"}}})


def _annotations_gone(world: World) -> None:
    world.change("made", {"metadata": {"annotations": None}})


def _made_elsewhere(world: World) -> None:
    world.cluster.keep(make_volume("new", storage_class="late").at(require(ZONE, "In", "zone-b")))
    world.bind("made", "new")


def _taken_over_elsewhere(world: World) -> None:
    disk = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    world.cluster.keep(make_csi_node("a", migrated=["kubernetes.io/aws-ebs"]))
    world.cluster.keep(make_volume("new", storage_class="late", source=disk).at(require(ZONE, "In", "zone-a")))
    world.bind("made", "new")


def _volume_gone(world: World) -> None:
    world.cluster.drop(world.api.objects["v"])


def _claims_gone(world: World) -> None:
    world.cluster.drop(world.api.objects["made"])


def _pod_gone(world: World) -> None:
    world.cluster.snapshot.remove_pod(info(POD), "a")


def _node_gone(world: World) -> None:
    world.cluster.snapshot.remove_node("a")


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (_claim_reset, 'ClaimRef got reset for pv "v"'),
        (_refused, 'provisioning failed for PVC "made"'),
        (_annotations_gone, 'selectedNode annotation reset for PVC "made"'),
        (_made_elsewhere, 'pv "new" node affinity doesn\'t match node "a": no matching NodeSelectorTerms'),
        (_taken_over_elsewhere, 'pv "new" node affinity doesn\'t match node "a": no matching NodeSelectorTerms'),
        (_volume_gone, 'failed to check binding: persistentvolumes "v" not found'),
        (_claims_gone, 'failed to check provisioning pvc: persistentvolumeclaims "default/made" not found'),
        (_pod_gone, 'pod does not exist any more: pod "web" not found'),
        (_node_gone, 'failed to get node "a": node "a" not found'),
    ],
)
async def test_prebind_gives_up_when_it_can_never_come_to_an_end(event: Callable[[World], None], reason: str) -> None:
    world = World()
    binding = world.begin()
    await settle()
    world.report("v", "made")
    world.bind("there", "v")
    event(world)
    world.pass_time()
    await settle()
    assert binding.result() == Status.failure(f"binding volumes: {reason}")


async def test_prebind_gives_up_when_time_is_up_and_its_writes_stay() -> None:
    world = World()
    binding = world.begin()
    for _ in range(TIMEOUT):
        await settle()
        assert not binding.done()
        world.pass_time()
    await settle()
    assert binding.result() == Status.failure("binding volumes: context deadline exceeded")
    # The API has the volume for this claim, whether the informers have heard of it or not.
    other = make_pod("other").claim("other")
    world.cluster.keep(make_claim("other", storage_class="local"))
    world.plugin.unreserve(world.state, info(POD), "a")
    assert world.cluster.rejected(world.plugin, other).keys() == {"a"}


@pytest.mark.parametrize(("failing", "written"), [("v", 0), ("made", 1)])
async def test_a_change_that_could_not_be_written_is_reported_and_given_back(failing: str, written: int) -> None:
    world = World()
    world.api.fails_at = failing
    assert await world.begin() == Status.failure("the object has been modified")
    assert len(world.api.written) == written
    counted = scrape(blocks(registry_of(world.metrics)))
    assert counted.value("scheduler_volume_scheduling_stage_error_total", operation="bind") == 1
    world.plugin.unreserve(world.state, info(POD), "a")
    claim = world.plugin._ledger.claims.get("default/made")
    assert claim is not None
    assert not claim.metadata.annotations
    assert len(world.plugin._ledger.volumes.assumed()) == written
