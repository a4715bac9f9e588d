"""A pod gives back a device or a volume before anything was written, and the pod that waits for it is tried at once."""

from collections.abc import Callable
from unittest.mock import patch

import pytest

from muster.framework.scheduler.review import Review
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member
from tests.coscheduling.world import World
from tests.dynamicresources.objects import GPU, device, exactly, make_claim, make_class, make_slice
from tests.storage import make_claim as make_volume_claim
from tests.storage import make_class as make_storage_class
from tests.storage import make_volume


def want_a_device(world: World, *pods: PodDict) -> None:
    """There is one device, and each pod claims one."""
    world.api.put("deviceclasses", make_class("gpu", f"device.driver == '{GPU}'"))
    world.api.put("resourceslices", make_slice("slice", device("a"), node="one"))
    for pod in pods:
        world.api.put("resourceclaims", make_claim(pod.name, exactly()))
        pod["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": pod.name}]


def want_a_volume(world: World, *pods: PodDict) -> None:
    """There is one volume, and each pod claims one."""
    world.api.put("storageclasses", make_storage_class("local", provisioner="kubernetes.io/no-provisioner"))
    world.api.put("persistentvolumes", make_volume("v", storage_class="local").on("one"))
    for pod in pods:
        world.api.put("persistentvolumeclaims", make_volume_claim(pod.name, storage_class="local"))
        pod.claim(pod.name)


@pytest.mark.parametrize("want", [want_a_device, want_a_volume])
async def test_a_pod_is_tried_when_a_pod_at_permit_gives_back_what_it_waits_for(
    make_world: MakeWorld, want: Callable[..., None]
) -> None:
    world = make_world({"placement": "PodByPod", "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("one", cpu="4"))
    first, other = make_member("first", "g"), make_pod("other").requests(cpu="1")
    want(world, first, other)
    world.add_group("g", 2)
    with patch.object(Review, "begin", lambda self: None):
        [first_key, _] = world.add(first, make_member("large", "g", cpu="100"))
        await world.run(2)
        assert [waiting.pod.key for waiting in world.engine.waiting_pods] == [first_key]
        [other_key] = world.add(other)
        await world.run(2)
        assert waits(world, other_key) == [1]

        world.delete(first_key)
        await world.run(2)

    assert waits(world, other_key) != [1]


def waits(world: World, key: str) -> list[int]:
    """How often the pod has been tried; empty if it has left the queue for a node."""
    return [each.attempts for each in world.engine.queue.contents.dump() if each.pod == key]
