"""Ever new signatures, labels, groups, taints, images and reasons come and go, and the memory comes back."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.coscheduling.objects import make_group, make_members
from tests.coscheduling.world import World
from tests.dynamicresources.objects import claiming_pod, device, exactly, make_claim, make_class, make_slice
from tests.gangscheduling.world import KIND as NATIVE
from tests.gangscheduling.world import make_group as make_native_group
from tests.gangscheduling.world import make_members as make_native_members
from tests.growth import grown, sizes

MANY = 300
SLACK = 20
ELSEWHERE = ("muster.testing", "tests")
SHAPES = (
    *("asks", "selects", "tolerates", "is_near", "is_spread", "has_labels"),
    *("has_volumes", "claims_devices", "is_grouped"),
)


def pods_of(shape: str, of: str, number: int) -> Iterator[PodDict]:
    """A pod, or a group's, unlike any other there ever was."""
    name = f"{shape.replace('_', '-')}-{of}-{number}"
    pod, label = make_pod(name).requests(cpu="10m"), {f"key-{of}-{number}": name}
    match shape:
        case "asks":
            yield pod.requests(cpu=f"{number}m", **{f"example.com/{of}-{number}": "1"})
        case "selects":
            yield pod.node_selector(label).tolerate()
            yield make_pod(f"{name}-in").tolerate().require_nodes(require(f"key-{of}-{number}", "In", *label.values()))
        case "tolerates":
            yield pod.tolerate(f"key-{of}-{number}").host_port(1024 + number)
        case "is_near":
            yield pod.labels(label).near("kubernetes.io/hostname", label).apart("zone", {"app": name})
        case "is_spread":
            yield pod.labels(label).spread(f"topology-{of}-{number}", label).spread("kubernetes.io/hostname", label)
        case "has_labels":
            yield pod.labels(label).annotations(label)
        case "has_volumes":
            yield pod.claim(name)
        case "claims_devices":
            yield claiming_pod(name, name).tolerate()
        case _:
            yield from make_members(f"gang-{of}-{number}", 2, cpu="64" if number % 2 else "1m")
            yield from make_native_members(f"native-{of}-{number}", 2, cpu="64" if number % 2 else "1m")
            yield from make_members(f"missing-{of}-{number}", 1)


def node_of(of: str, number: int) -> NodeDict:
    """A node unlike any other."""
    name = f"node-{of}-{number}"
    node = make_node(name).labels({f"key-{of}-{number}": name, "kubernetes.io/hostname": name, "zone": name})
    return node.taint(f"taint-{of}-{number}").image(f"image-{of}-{number}", size=number + 1)


def objects_of(shape: str, of: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What comes and goes along with the pods, by kind."""
    if shape == "is_grouped":
        yield "podgroups", make_group(f"gang-{of}-{number}", 2)
        yield NATIVE, make_native_group(f"native-{of}-{number}", 2)
    elif shape == "claims_devices":
        yield "resourceclaims", make_claim(f"claims-devices-{of}-{number}", exactly(1))
        if number % 2:
            yield "resourceslices", make_slice(f"slice-{of}-{number}", device("a"), node=f"node-{of}-{number}")


async def come_and_go(world: World, shape: str, of: str) -> None:
    """Many of them, some at a time, and all are gone in the end."""
    for first in range(0, MANY, 50):
        numbers = range(first, min(first + 50, MANY))
        world.add_nodes(*(node_of(of, number) for number in numbers[:10]))
        others = [(kind, world.api.put(kind, obj)) for number in numbers for kind, obj in objects_of(shape, of, number)]
        keys = world.add(*(pod for number in numbers for pod in pods_of(shape, of, number)))
        await world.run(3)
        world.delete(*keys)
        for kind, key in others:
            world.api.delete(kind, key)
        for number in numbers[:10]:
            world.api.delete("nodes", f"node-{of}-{number}")
        await world.run(3)
    await world.run(1000)


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", SHAPES)
async def test_nothing_grows_with_what_has_ever_been(shape: str) -> None:
    world = World()
    world.add_nodes(make_node("stays"))
    world.add(make_pod("stays").requests(cpu="1"))
    world.api.put("deviceclasses", make_class("gpu"))
    await come_and_go(world, shape, "first")
    before = sizes(world.engine, ELSEWHERE)
    await come_and_go(world, shape, "second")

    assert world.engine.cache.pod_count == 1
    assert grown(before, sizes(world.engine, ELSEWHERE), SLACK) == {}
