"""The texts of native groups that no eviction helps, or that need none, are kube-scheduler's."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from tests.builders import NodeDict, PodDict, make_node
from tests.coscheduling.preemption.evicting import plain
from tests.gangscheduling.test_preemption import World, nominated
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, NO_VICTIMS, make_composite, make_group, make_members
from tests.storage import HOSTNAME, make_claim, make_volume

BEFORE = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
NO_PLACEMENT = f"pod group is unschedulable, 0/1 placements are available, first placement status: {BEFORE}"
NO_LABEL = "no feasible placements found: no node has the label rack"
OF_TREE = "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    await made.kill()


def _node(**spec: Any) -> NodeDict:
    node = make_node("a", cpu="4").labels({HOSTNAME: "a", "zone": "z"})
    node["spec"].update(spec)
    return node


def _required(kind: str, key: str, value: str) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{kind: [{"key": key, "operator": "In", "values": [value]}]}]}


def _affinity(terms: Mapping[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


_CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
_ELSEWHERE: dict[str, tuple[dict[str, Any], NodeDict, str]] = {
    "nodeSelector": ({"nodeSelector": {"disk": "ssd"}}, _node(), "1"),
    "nodeAffinity": (_affinity(_required("matchExpressions", "disk", "ssd")), _node(), "1"),
    "node by name": (_affinity(_required("matchFields", "metadata.name", "gone")), _node(), "1"),
    "taint": ({}, _node(taints=[{"key": "own", "effect": "NoSchedule"}]), "1"),
    "cordoned": ({}, _node(unschedulable=True), "1"),
    "volume": (_CLAIM, _node(), "1"),
    "too large": ({}, _node(), "5"),
}


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize(("spec", "node", "cpu"), _ELSEWHERE.values(), ids=_ELSEWHERE)
async def test_a_group_that_no_eviction_helps_lacks_the_same_without_the_pods_of_lower_priority(
    world: World, spec: dict[str, Any], node: NodeDict, cpu: str, low: bool
) -> None:
    """kube-scheduler tries the group without them, and reports their absence only if there are none in the cluster."""
    world.add_nodes(node)
    world.fill("a", 1, priority=0 if low else 20)
    world.api.put("persistentvolumeclaims", make_claim("data", volume="gone"))
    affinity = {"required": _required("matchExpressions", HOSTNAME, "gone")}
    world.api.put("persistentvolumes", make_volume("gone", nodeAffinity=affinity))
    world.api.put(KIND, make_group("high", 2, priority=10))
    members = make_members("high", 2, cpu=cpu, priority=10)
    for pod in members:
        pod["spec"].update(spec)
    world.add(*members)
    await world.settle()
    assert world.said("high").message == BEFORE + (f", pod group preemption: {BEFORE}" if low else NO_VICTIMS)
    assert world.conditions["default/high-0"][1].startswith("0/1 nodes are available: 1 ")
    result = "Unschedulable" if low else "UnschedulableAndUnresolvable"
    assert {*world.metrics.workload_preemption_attempts.values()} == {(result,)}
    assert world.evicted == []


@pytest.mark.parametrize(
    ("spec", "before", "then"),
    [
        ({"schedulingConstraints": {"topology": [{"key": "zone"}]}}, NO_PLACEMENT, NO_PLACEMENT),
        ({"schedulingConstraints": {"topology": [{"key": "rack"}]}}, NO_LABEL, NO_LABEL),
        ({"parentCompositePodGroupName": "job"}, BEFORE, OF_TREE),
    ],
    ids=["in a zone", "without a domain", "in a tree"],
)
@pytest.mark.parametrize("low", [True, False])
async def test_a_group_in_a_domain_or_a_tree_that_no_eviction_helps_reports_what_the_whole_lacks(
    world: World, spec: dict[str, Any], before: str, then: str, low: bool
) -> None:
    world.add_nodes(_node())
    world.fill("a", 1, priority=0 if low else 20)
    world.api.put(COMPOSITE_KIND, make_composite("job", 1, priority=10))
    world.api.put(KIND, make_group("high", 2, priority=10, **spec))
    world.add(*(pod.node_selector({"disk": "ssd"}) for pod in make_members("high", 2, priority=10)))
    await world.settle()
    assert world.said("high").message == before + (f", pod group preemption: {then}" if low else NO_VICTIMS)


async def test_pods_of_a_group_of_higher_priority_are_no_pods_of_lower_priority(world: World) -> None:
    """Pods that have a lower priority than their group were started by other means."""
    world.add_nodes(_node())
    world.api.put(KIND, make_group("running", 1, priority=20))
    world.add(*(pod.node("a") for pod in make_members("running", 1, priority=0)))
    await world.settle()
    world.api.put(KIND, make_group("high", 2, priority=10))
    world.add(*(pod.node_selector({"disk": "ssd"}) for pod in make_members("high", 2, priority=10)))
    await world.settle()
    assert world.said("high").message == BEFORE + NO_VICTIMS


async def test_a_gang_of_coscheduling_that_no_eviction_helps_has_no_text_of_preemption(world: World) -> None:
    world.add_nodes(_node())
    world.fill("a", 1)
    keys = world.gang("gang", 2, priority=10, cpu="5")
    await world.settle()
    assert "preemption" not in world.conditions[keys[0]][1]


@pytest.mark.parametrize("selector", [{}, {HOSTNAME: "b"}], ids=["anywhere", "on another node"])
@pytest.mark.parametrize("kind", ["group", "tree", "later member"])
async def test_a_group_whose_claim_a_pod_of_lower_priority_holds_keeps_its_text_and_its_nomination(
    world: World, selector: dict[str, str], kind: str
) -> None:
    """kube-scheduler reprieves the pod: without it, VolumeRestrictions skips the group's pods, also when it returns."""
    world.add_nodes(_node(), make_node("b", cpu="2").labels({HOSTNAME: "b"}))
    modes = ["ReadWriteOncePod"]
    world.api.put("persistentvolumes", make_volume("volume", modes=modes))
    world.api.put("persistentvolumeclaims", make_claim("data", volume="volume", modes=modes))
    world.add(PodDict(plain("low")).claim("data").node("a"))
    world.api.put(COMPOSITE_KIND, make_composite("job", 1, priority=10))
    parent = {"parentCompositePodGroupName": "job"} if kind == "tree" else {}
    world.api.put(KIND, make_group("high", 1, priority=10, **parent))
    if kind == "later member":
        world.add(*make_members("high", 1, first=1, priority=10))
        await world.settle()
    world.add(*(pod.claim("data").node_selector(selector) for pod in make_members("high", 1, priority=10)))
    await world.settle()
    nominations = nominated(world, "high")
    assert {*nominations} == {"high-0"}
    for number in range(3):
        await world.run(100)
        attempts = _attempts(world)
        await world.run(100)
        assert _attempts(world) == attempts
        world.add_nodes(make_node(f"more-{number}", cpu="1"))
        await world.run(10)
        assert _attempts(world) == {"Success": attempts["Success"] + 1}
        assert nominated(world, "high") == nominations
        if kind != "later member":
            assert world.said("high").message.endswith("found a placement for podgroup, preempting 0 victims")
    assert world.evicted == []

    world.api.delete("pods", "default/low")
    await world.run(30)
    assert world.node_of("default/high-0")


def _attempts(world: World) -> dict[str, int]:
    """The number of attempts of groups at preemption, by result."""
    return {result: int(number) for (result,), number in world.metrics.workload_preemption_attempts.values().items()}
