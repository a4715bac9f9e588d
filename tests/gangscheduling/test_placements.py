"""The domain of a native group: which one its running pods leave, and which one is scored highest."""

from typing import Any, ClassVar

import pytest
import yaml

from muster.framework.config import ConfigurationError
from muster.framework.contract import CycleState, DecisionFollower, GroupDecision, PodInfo, PostBindPlugin
from muster.plugins.gangscheduling.record import NativePodGroupReason
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_group as make_labelled_group
from tests.coscheduling.objects import make_members as make_labelled_members
from tests.gangscheduling.world import World, make_members

_ONE_RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
_UNDETERMINED = "cannot determine domain for already scheduled pods: "


async def test_pods_on_a_node_that_offers_none_of_a_resource_do_not_make_its_rack_fuller() -> None:
    world = World()
    world.add_nodes(*(make_node(name, cpu=cpu).labels(rack=name[0]) for name, cpu in (("a1", "0"), ("a2", "8"))))
    world.add_nodes(make_node("b1", cpu="8").labels(rack="b"))
    world.add(make_pod("old").requests(cpu="8").node("a1"), make_pod("other").requests(cpu="3").node("b1"))
    await world.settle()
    world.add_group("g", 4, **_ONE_RACK)
    world.add(*make_members("g", 4))
    await world.settle()
    assert {world.node_of(f"default/g-{number}") for number in range(4)} == {"b1"}
    world.check()


@pytest.mark.parametrize("needed", [2, 1], ids=["below its quorum", "beyond its quorum"])
async def test_a_group_with_a_pod_on_a_deleted_node_is_placed_once_that_pod_is_deleted(needed: int) -> None:
    world = World()
    world.add_nodes(*(make_node(name, cpu="2").labels(rack=name) for name in ("a", "lost")))
    train = world.add_group("train", needed, **_ONE_RACK)
    first, second = make_members("train", 2)
    world.add(first.node("lost"))
    await world.settle()
    world.api.delete("nodes", "lost")
    world.add(second)
    await world.settle()
    text = f'{_UNDETERMINED}getting node for pod default/train-0: nodeinfo not found for node name "lost"'
    assert world.conditions["default/train-1"][:2] == ("SchedulerError", text)
    if needed > 1:
        assert world.reported(train) == (NativePodGroupReason.SCHEDULER_ERROR, text)

    world.delete("default/train-0")
    world.add(*make_members("train", 1, first=2))
    await world.until(lambda: world.bound("train") == ["train-1", "train-2"], within=15)
    assert {world.node_of(f"default/train-{number}") for number in (1, 2)} == {"a"}
    world.check()


@pytest.mark.parametrize("constrained", ["the part", "a composite above it"])
@pytest.mark.parametrize(
    ("racks", "cause"),
    [
        (("a", "b"), "more than 1 domain found for pod group: a, b"),
        (("a", None), "no topology domain found for pod default/left-1"),
    ],
)
async def test_a_tree_is_an_error_as_long_as_the_pods_of_a_complete_part_run_in_no_one_domain(
    racks: tuple[str | None, ...], cause: str, constrained: str
) -> None:
    world = World()
    world.add_nodes(make_node("free", cpu="2").labels(rack="a"))
    world.add_composite("job", 2)
    of_part, of_inner = (_ONE_RACK, {}) if constrained == "the part" else ({}, _ONE_RACK)
    world.add_composite("inner", 1, parentCompositePodGroupName="job", **of_inner)
    world.add_group("left", 2, parentCompositePodGroupName="inner", **of_part)
    right = world.add_group("right", 1, parentCompositePodGroupName="job")
    members = make_members("left", 2)
    for number, rack in enumerate(racks):
        world.add_nodes(make_node(f"node-{number}", cpu="8").labels({"rack": rack} if rack else {}))
        members[number].node(f"node-{number}")
    world.add(*members, *make_members("right", 1))
    await world.settle()
    inner = "composite pod group evaluation failed due to child error: "
    text = (inner * (2 if constrained == "the part" else 1)) + _UNDETERMINED + cause
    assert world.reported(right) == (NativePodGroupReason.SCHEDULER_ERROR, text)
    assert (world.conditions["default/right-0"][:2], world.bound("right")) == (("SchedulerError", text), [])

    world.api.change("nodes", "node-1", lambda node: node["metadata"]["labels"].update(rack="a"))
    await world.until(lambda: world.bound("right") == ["right-0"], within=15)
    world.check()


@pytest.mark.parametrize(
    ("plugins", "rack"),
    [
        ({}, "b"),
        ({"multiPoint": {"disabled": [{"name": "PodGroupPodsCount"}]}}, "a"),
        ({"placementScore": {"disabled": [{"name": "PodGroupPodsCount"}]}}, "a"),
        ({"placementScore": {"enabled": [{"name": "NodeResourcesFit", "weight": 3}]}}, "a"),
        ({"multiPoint": {"enabled": [{"name": "NodeResourcesFit", "weight": 3}]}}, "a"),
        (
            {
                "multiPoint": {"enabled": [{"name": "PodGroupPodsCount", "weight": 3}]},
                "placementScore": {"enabled": [{"name": "NodeResourcesFit", "weight": 3}]},
            },
            "b",
        ),
        ({"placementScore": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}}, "a"),
        ({"placementScore": {"disabled": [{"name": "*"}], "enabled": [{"name": "PodGroupPodsCount"}]}}, "b"),
        ({"placementScore": {"enabled": [{"name": "PodGroupPodsCount", "weight": -1}]}}, None),
        ({"multiPoint": {"enabled": [{"name": "PodGroupPodsCount", "weight": -1}]}}, "a"),
    ],
)
async def test_a_small_full_rack_and_a_large_one_are_weighed_as_the_profile_says(
    plugins: dict[str, Any], rack: str | None
) -> None:
    """Two of four pods fill rack a; rack b takes all four, and is half full then."""
    if rack is None:
        with pytest.raises(ConfigurationError, match="total score of Score plugins could overflow"):
            World(configuration=_configuration(plugins))
        return
    world = World(configuration=_configuration(plugins))
    world.add_nodes(make_node("a", cpu="2").labels(rack="a"), make_node("b", cpu="8").labels(rack="b"))
    world.add_group("g", 2, **_ONE_RACK)
    world.add(*make_members("g", 4))
    await world.settle()
    assert {world.node_of(f"default/{name}") for name in world.bound("g")} == {rack}


@pytest.mark.parametrize("kind", ["a group", "a tree", "a group by label"])
@pytest.mark.parametrize("point", ["multiPoint", "placementGenerate"])
async def test_a_native_group_is_placed_anywhere_in_a_profile_without_a_generator_of_placements(
    point: str, kind: str
) -> None:
    plugins = {point: {"disabled": [{"name": "TopologyPlacementGenerator"}]}}
    plugins.setdefault("multiPoint", {}).update(enabled=[{"name": "Coscheduling"}])
    plugins["multiPoint"].setdefault("disabled", []).append({"name": "PrioritySort"})
    world = World(configuration=_configuration(plugins))
    world.add_nodes(*(make_node(name, cpu="1").labels(rack=name) for name in ("a", "b")))
    if kind == "a group by label":
        required = {"muster-scheduler.io/required-topology": "rack"}
        world.api.put("podgroups", make_labelled_group("g", 2, annotations=required))
        members = make_labelled_members("g", 2)
    else:
        parent = {}
        if kind == "a tree":
            world.add_composite("job", 1, **_ONE_RACK)
            parent = {"parentCompositePodGroupName": "job"}
        world.add_group("g", 2, **_ONE_RACK, **parent)
        members = make_members("g", 3)
    world.add(*members)
    await world.settle()
    bound = [pod["metadata"]["name"] for pod in world.api.pods.values() if pod["spec"].get("nodeName")]
    assert len(bound) == (0 if kind == "a group by label" else 2)
    if bound:
        world.add_nodes(make_node("c", cpu="1"))
        await world.until(lambda: len(world.bound("g")) == 3, within=15)


def _configuration(plugins: dict[str, Any]) -> bytes:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "muster", "plugins": plugins}],
    }
    return yaml.safe_dump(document).encode()


class Follower(PostBindPlugin, DecisionFollower):
    """Collects decisions on groups."""

    name = "Follower"
    decisions: ClassVar[list[GroupDecision]] = []

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """It extends a point, so that it is made."""

    def on_group_decision(self, decision: GroupDecision) -> None:
        self.decisions.append(decision)


async def test_members_have_the_rows_of_their_rack_also_if_another_one_was_tried_later() -> None:
    Follower.decisions.clear()
    world = World(Follower)
    world.add_nodes(make_node("a", cpu="2").labels(rack="a"), make_node("b", cpu="20").labels(rack="b"))
    world.add_group("g", 2, **_ONE_RACK)
    world.add(*make_members("g", 3))
    await world.settle()
    assert {world.node_of(f"default/{name}") for name in world.bound("g")} == {"a"}
    snapshot = world.engine.cache.snapshot
    within = [member.within for member in Follower.decisions[0].members]
    names = [rows is not None and [snapshot.names[row] for row in rows.tolist()] for rows in within]
    assert names == [["a"]] * 3
