"""Situations about which scheduler-plugins' plugin was asked: random ones from a seed, and some by hand.

A situation is plain data that `upstream/main.go` reads; see `record`.
"""

import random
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import combinations
from typing import Any

from tests.builders import NodeDict, PodDict, make_node
from tests.noderesourcetopology.objects import RESTRICTED, SINGLE, guaranteed, make_topology

Situation = dict[str, Any]
GPU, NIC, HUGE = "example.com/gpu", "example.com/nic", "hugepages-2Mi"
STRATEGIES = ("LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes")
_DEPRECATED = ("SingleNUMANodePodLevel", "SingleNUMANodeContainerLevel", "BestEffortPodLevel", "RestrictedPodLevel")


def decisions(seed: int) -> Iterator[Situation]:
    """Random pods on random nodes, and strategies in turn. Ends never."""
    drawn, number = random.Random(seed), 0
    while True:
        names = [f"n{index}" for index in range(drawn.randint(2, 5))]
        strategy: dict[str, Any] = {"type": STRATEGIES[number % len(STRATEGIES)]}
        if drawn.random() < 0.4:
            strategy["resources"] = [{"name": name, "weight": drawn.randint(1, 5)} for name in ("cpu", GPU)]
        yield {
            "strategy": strategy,
            "nodes": [_node(drawn, name) for name in names],
            "topologies": [_topology(drawn, name) for name in names if drawn.random() < 0.9],
            "pod": _pod(drawn),
        }
        number += 1


def distances(seed: int) -> Iterator[Situation]:
    """Random pods that need several zones, of nodes with zones at random distances. Ends never."""
    drawn = random.Random(seed)
    while True:
        topologies = []
        for name in ("n0", "n1"):
            count = drawn.randint(3, 5)
            costs = [[10] * count for _ in range(count)]
            for one, other in combinations(range(count), 2):
                costs[one][other] = costs[other][one] = drawn.choice((12, 20, 30, 40))
            zones = [{"cpu": str(drawn.randint(1, 6)), "memory": "8Gi"} for _ in range(count)]
            topologies.append(make_topology(name, *zones, costs=costs, scope=drawn.choice(("container", "pod"))))
        yield {
            "strategy": {"type": "LeastNUMANodes"},
            "nodes": [make_node(name, cpu="64", memory="128Gi") for name in ("n0", "n1")],
            "topologies": topologies,
            "pod": guaranteed("pod", *({"cpu": str(drawn.randint(4, 10)), "memory": "1Gi"} for _ in range(2))),
        }


def names(seed: int) -> Iterator[Situation]:
    """Random sets of pods, whose fingerprints differ in how many bytes they hash. Ends never."""
    drawn = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz-.0123456789"
    while True:
        yield {
            "names": [
                ["".join(drawn.choices(letters, k=drawn.randint(1, 70))) for _ in range(2)]
                for _ in range(drawn.randint(0, 12))
            ]
        }


def reservations(seed: int) -> Iterator[Situation]:
    """Random pods that are placed on a node, given up, and included by reports. Ends never."""
    drawn = random.Random(seed)
    while True:
        first = _topology(drawn, "n0", pods=[])
        steps: list[Situation] = []
        placed: list[PodDict] = []
        included = 0
        for number in range(drawn.randint(2, 8)):
            roll = drawn.random()
            if roll < 0.6:
                pod = guaranteed(f"p{number}", *(_amounts(drawn) for _ in range(drawn.randint(1, 2))))
                placed.append(pod)
                steps.append({"do": "reserve", "node": "n0", "pod": pod})
            elif roll < 0.75 and len(placed) > included:
                steps.append({"do": "unreserve", "node": "n0", "pod": placed.pop()})
            elif placed:
                report = _topology(drawn, "n0", pods=[("default", pod.name) for pod in placed])
                steps.append({"do": "report", "node": "n0", "topology": report})
                steps.append({"do": "resync", "node": "n0", "pods": [deepcopy(pod).node("n0") for pod in placed]})
                included = len(placed)
        if steps:
            yield {"topologies": [first], "steps": steps}


def _node(drawn: random.Random, name: str) -> NodeDict:
    node = make_node(name, cpu="32", memory="128Gi")
    if drawn.random() < 0.8:
        node.resources({GPU: "8"})
    if drawn.random() < 0.5:
        node.resources({NIC: "8", HUGE: "1Gi", "ephemeral-storage": "100Gi"})
    return node


def _topology(drawn: random.Random, name: str, **more: Any) -> Situation:
    count = drawn.choice((1, 2, 2, 2, 4))
    zones = []
    for _ in range(count):
        zone = {"cpu": str(drawn.randint(0, 8)), "memory": f"{drawn.randint(0, 8)}Gi"}
        if drawn.random() < 0.6:
            zone[GPU] = str(drawn.randint(0, 3))
        if drawn.random() < 0.3:
            zone[NIC] = str(drawn.randint(0, 3))
        if drawn.random() < 0.3:
            zone[HUGE] = f"{drawn.choice((0, 64, 256))}Mi"
        if drawn.random() < 0.1:
            del zone["memory"]
        zones.append(zone)
    near, far = drawn.choice(((10, 20), (10, 12), (10, 10)))
    costs = [[near if one == other else far + abs(one - other) for other in range(count)] for one in range(count)]
    topology = make_topology(
        name,
        *zones,
        policy=drawn.choice((SINGLE, SINGLE, SINGLE, RESTRICTED, "best-effort", "none", "nonsense")),
        scope=drawn.choice(("container", "pod", "")),
        costs=costs if drawn.random() < 0.7 else (),
        attributes={"topologyManagerMaxNUMANodes": drawn.choice(("", "", "2", "16", "1", "many"))},
        **more,
    )
    if drawn.random() < 0.3:
        topology["topologyPolicies"] = [drawn.choice(_DEPRECATED)]
    return topology


def _pod(drawn: random.Random) -> PodDict:
    pod = guaranteed("pod", *(_amounts(drawn) for _ in range(drawn.choice((1, 1, 2, 3)))))
    for number in range(drawn.choice((0, 0, 0, 1, 2))):
        amounts = _amounts(drawn)
        sidecar = {"restartPolicy": "Always"} if drawn.random() < 0.5 else {}
        resources = {"requests": amounts, "limits": dict(amounts)}
        pod["spec"].setdefault("initContainers", []).append(
            {"name": f"i{number}", "image": "pause", "resources": resources} | sidecar
        )
    kind = drawn.random()
    if kind < 0.2:  # Burstable: nothing is limited
        for container in pod["spec"]["containers"]:
            for name in ("cpu", "memory"):
                del container["resources"]["limits"][name]
    elif kind < 0.3:  # BestEffort, perhaps with devices
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            for amounts in container["resources"].values():
                for name in ("cpu", "memory"):
                    amounts.pop(name, None)
    elif kind < 0.4:
        pod.overhead(cpu="100m", memory="64Mi")
    return pod


def _amounts(drawn: random.Random) -> dict[str, str]:
    amounts = {"cpu": drawn.choice(("1", "2", "4", "500m", "1500m")), "memory": drawn.choice(("1Gi", "2Gi", "512Mi"))}
    extra: Mapping[str, str] = {
        GPU: drawn.choice(("0", "1", "2")),
        NIC: "1",
        HUGE: "64Mi",
        "ephemeral-storage": "1Gi",
    }
    return amounts | {name: text for name, text in extra.items() if drawn.random() < 0.25}
