"""Answers kept from pod to pod equal fresh ones, whatever happens to devices and claims in between."""

from random import Random
from typing import Any

import msgspec
import pytest

from muster.framework.model.node import Node
from tests.builders import PodDict, make_node, make_pod
from tests.dynamicresources.bench import Bench
from tests.dynamicresources.objects import (
    GPU,
    Object,
    allocated,
    claiming_pod,
    device,
    exactly,
    first_of,
    make_claim,
    make_class,
    make_slice,
)

NODES = ("n0", "n1", "n2", "n3")
RESOURCE = "example.com/gpu"
ASKED = (exactly(1), exactly(2), first_of(exactly(2), exactly(1)), exactly(1, f"device.attributes['{GPU}'].big"))


class Story:
    """Changes in random order, made to one bench that keeps its answers, and to a new one for comparison."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.objects: dict[tuple[str, str], Object] = {}
        self.labels: dict[str, str] = dict.fromkeys(NODES, "x")
        self.offers: set[str] = set()
        self.kept = self.anew()
        self.version = 1
        self.report(make_class("gpu", f"device.driver == '{GPU}'", resource=RESOURCE))
        for at, asked in enumerate(ASKED):
            self.report(make_claim(f"wanted-{at}", asked))

    def node(self, name: str) -> Node:
        made = make_node(name).zone(self.labels[name])
        return msgspec.convert(made.resources({RESOURCE: "1"}) if name in self.offers else made, Node)

    def anew(self) -> Bench:
        made = Bench()
        for name in NODES:
            made.snapshot.set_node(self.node(name))
        made.put(*self.objects.values())
        return made

    def report(self, new: Object) -> None:
        key = new["kind"], new["metadata"]["name"]
        self.objects[key] = new
        self.kept.put(new)

    def forget(self, key: tuple[str, str]) -> None:
        self.kept.lose(self.objects.pop(key))

    def step(self) -> None:
        pick = self.random.choice
        match pick(["slice", "slice", "claim", "claim", "free", "gone", "label", "offer"]):
            case "slice":
                devices = [device(f"d{at}", big=pick([True, False])) for at in range(pick([1, 2, 3]))]
                one = {"node": pick(NODES)}
                where: dict[str, Any] = pick([one, one, {"allNodes": True}, {"nodeSelector": _zone()}])
                self.report(make_slice(f"s{pick(range(6))}", *devices, pool=f"p{pick(range(4))}", **where))
            case "claim":
                self.version += 1
                taken = make_claim(f"other-{pick(range(4))}", exactly(1))
                taken["metadata"]["resourceVersion"] = str(self.version)
                self.report(allocated(taken, (GPU, f"p{pick(range(4))}", f"d{pick(range(3))}")))
            case "free" | "gone":
                there = [key for key in self.objects if key[1].startswith(("other-", "s"))]
                if there:
                    self.forget(pick(there))
            case "label":
                name = pick(NODES)
                self.labels[name] = pick(["x", "y"])
                self.kept.snapshot.set_node(self.node(name))
            case "offer":
                name = pick(NODES)
                self.offers ^= {name}
                self.kept.snapshot.set_node(self.node(name))


def _zone() -> Object:
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["y"]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def pods() -> list[PodDict]:
    claiming = [claiming_pod(f"user-{at}", f"wanted-{at}") for at in range(len(ASKED))]
    return [*claiming, make_pod("resource").requests({RESOURCE: "1"})]


@pytest.mark.parametrize("seed", range(12))
def test_kept_and_fresh_answers_agree(seed: int) -> None:
    story = Story(seed)
    for _ in range(25):
        story.step()
        fresh = story.anew()
        for pod in pods():
            mine, theirs = story.kept.attempt(pod), fresh.attempt(pod)
            nodes = mine.nodes()
            assert nodes == theirs.nodes()
            for name in nodes[:1]:
                assert mine.reserve(name) is theirs.reserve(name) is None
                assert mine.planned(name) == theirs.planned(name)
                mine.unreserve(name)
                theirs.unreserve(name)
