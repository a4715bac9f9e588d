"""Hundreds of objects unlike one another leave nothing behind that grows with them.

Each family makes every object large and different from all before, in whatever may be kept by its value: labels,
signatures, selectors, groups, reasons. A cache that keeps a few thousand values for good, each as large as the API
stores it, would be gigabytes in the end.
"""

import gc
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakValueDictionary

import pytest

from muster.framework.model import pod_info
from muster.framework.model.label_selector import LabelSet
from muster.framework.model.node_selector import NodeRequirement
from muster.framework.model.pod_info import EquivalenceClass, PodInfo, PodSignature
from muster.framework.queue.entity import QueuedEntity, QueuedPodInfo
from muster.framework.scheduler.attempt import Attempt
from muster.plugins.coscheduling import topology
from tests.builders import PodDict, make_node, make_pod, require
from tests.coscheduling.objects import make_group, make_member
from tests.coscheduling.world import World
from tests.dynamicresources.objects import exactly, make_claim
from tests.gangscheduling import world as native

KEPT = (PodInfo, PodSignature, LabelSet, EquivalenceClass, QueuedEntity, QueuedPodInfo, Attempt)
MANY = 60
AT_ONCE = 20
LARGE = 12_000
"""Characters, about, of what is different in each object."""
MOST_BYTES = 300_000
"""Less than half of what is different in all objects together."""
LONGEST_MEMORY_SECONDS = 400.0
"""No timer of the engine is longer, nor the time limit of what waits."""

Objects = list[tuple[str, Mapping[str, Any]]]


def _texts(number: int, length: int = 40) -> list[str]:
    return [f"t{number}-{index}-{'x' * (length - 12)}" for index in range(LARGE // length)]


def _pod(number: int, change: Callable[[PodDict], object]) -> Objects:
    pod = make_pod(f"pod-{number}").requests(cpu="1")
    change(pod)
    return [("pods", pod)]


def _labels(number: int) -> Objects:
    return _pod(number, lambda pod: pod.labels({f"example.com/{text}": "x" for text in _texts(number)}))


def _annotations(number: int) -> Objects:
    return _pod(number, lambda pod: pod.annotations({"example.com/note": "".join(_texts(number))}))


def _tolerations(number: int) -> Objects:
    return _pod(number, lambda pod: [pod.tolerate(text) for text in _texts(number)])


def _resources(number: int) -> Objects:
    return _pod(number, lambda pod: pod.requests({f"example.com/{text}": "1" for text in _texts(number)}))


def _terms(number: int) -> Objects:
    return _pod(number, lambda pod: [pod.require_nodes(require(text, "In", text)) for text in _texts(number)[:100]])


def _affinity(number: int) -> Objects:
    def change(pod: PodDict) -> None:
        for text in _texts(number, 60)[:31]:
            pod.apart("kubernetes.io/hostname", {"example.com/own": text}, weight=1)
        pod.apart("topology.kubernetes.io/zone", {"example.com/own": f"{number}"})

    return _pod(number, change)


def _spreading(number: int) -> Objects:
    def change(pod: PodDict) -> None:
        for text in _texts(number, 60)[:32]:
            pod.spread("kubernetes.io/hostname", {"example.com/own": text})

    return _pod(number, change)


def _spreading_over_own_nodes(number: int) -> Objects:
    def change(pod: PodDict) -> None:
        for text in _texts(number)[:100]:
            pod.require_nodes(require("kubernetes.io/hostname", "NotIn", text))
        for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone"):
            pod.spread(key, {"example.com/own": "x"})

    return _pod(number, change)


def _images(number: int) -> Objects:
    texts = _texts(number)[:60]
    return _pod(number, lambda pod: [pod.container(f"c{index}", image=text) for index, text in enumerate(texts)])


def _volumes(number: int) -> Objects:
    return _pod(number, lambda pod: [pod.claim(text) for text in _texts(number)])


def _preemptors(number: int) -> Objects:
    victims = [("pods", make_pod(f"victim-{number}-{index}").requests(cpu="4")) for index in range(3)]

    def change(pod: PodDict) -> None:
        pod.priority(100)
        for text in _texts(number):
            pod.tolerate(text)

    return [*victims, *_pod(number, change)]


def _groups(number: int) -> Objects:
    group = make_group(f"group-{number}", 3)
    group["metadata"]["annotations"] = {"example.com/note": "".join(_texts(number))}
    group["spec"]["minResources"] = {f"example.com/{text}": "1" for text in _texts(number)[:50]}
    members = [make_member(f"member-{number}-{index}", f"group-{number}") for index in range(3)]
    return [("podgroups", group), *(("pods", member) for member in members)]


def _topologies(number: int) -> Objects:
    group = make_group(f"group-{number}", 2)
    texts = _texts(number)[:60]
    group["metadata"]["annotations"] = {topology.REQUIRED: ",".join(texts)[:4000]}
    members = [make_member(f"member-{number}-{index}", f"group-{number}") for index in range(2)]
    return [("podgroups", group), *(("pods", member) for member in members)]


def _lost_members(number: int) -> Objects:
    return [("pods", make_member(f"member-{number}", _texts(number, 250)[0]))]


def _native_groups(number: int) -> Objects:
    group = native.make_group(f"native-{number}", 2)
    group["spec"]["schedulingConstraints"] = {"topology": [{"key": text} for text in _texts(number)[:8]]}
    members = native.make_members(f"native-{number}", 2, cpu="5")
    return [(native.KIND, group), *(("pods", member) for member in members)]


def _claims(number: int) -> Objects:
    expressions = [f'device.driver == "{text}"' for text in _texts(number, 400)]
    claim = make_claim(f"claim-{number}", exactly(1, *expressions))

    def change(pod: PodDict) -> None:
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": f"claim-{number}"}]

    return [("resourceclaims", claim), *_pod(number, change)]


FAMILIES: Mapping[str, Callable[[int], Objects]] = {
    "labels": _labels,
    "annotations": _annotations,
    "tolerations": _tolerations,
    "resources": _resources,
    "required terms": _terms,
    "affinity": _affinity,
    "spreading": _spreading,
    "spreading over own nodes": _spreading_over_own_nodes,
    "images": _images,
    "volumes": _volumes,
    "preemptors": _preemptors,
    "groups": _groups,
    "topologies": _topologies,
    "members of no group": _lost_members,
    "native groups": _native_groups,
    "claims": _claims,
}


async def come_and_go(world: World, make: Callable[[int], Objects], first: int, count: int) -> None:
    """So many come, some at a time, are decided, wait, and go; then the time passes in which anything is remembered."""
    for begin in range(first, first + count, AT_ONCE):
        objects = [each for number in range(begin, begin + AT_ONCE) for each in make(number)]
        keys = [(kind, world.api.put(kind, obj)) for kind, obj in objects]
        del objects
        await world.run(3.0)
        for kind, key in reversed(keys):
            world.api.delete(kind, key)
        await world.run(3.0)
    await world.run(LONGEST_MEMORY_SECONDS)
    for log in (world.events, world.conditions, world.nominations, world.api.bindings):
        log.clear()


def alive() -> Counter[str]:
    """What there is of that which is made for each pod."""
    gc.collect()
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, KEPT))


@pytest.fixture(autouse=True)
def signatures_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that an earlier test has left behind holds signatures, and with them what this one caches by them."""
    monkeypatch.setattr(pod_info, "_signatures", WeakValueDictionary())


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("family", FAMILIES)
async def test_objects_unlike_all_others_leave_nothing(family: str, caplog: pytest.LogCaptureFixture) -> None:
    world, make = World(), FAMILIES[family]
    world.add_nodes(*(make_node(f"n{number}", cpu="4").zone(f"z{number % 2}") for number in range(4)))
    tracemalloc.start()
    try:
        await come_and_go(world, make, 0, 3 * AT_ONCE)
        caplog.clear()
        before, held = alive(), tracemalloc.get_traced_memory()[0]
        await come_and_go(world, make, 3 * AT_ONCE, MANY)
        caplog.clear()
        assert alive() - before == Counter()
        assert not [each for each in gc.get_objects() if isinstance(each, NodeRequirement) and each.terms]
        assert tracemalloc.get_traced_memory()[0] - held < MOST_BYTES
    finally:
        tracemalloc.stop()
