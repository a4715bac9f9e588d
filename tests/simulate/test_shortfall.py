"""How many nodes are missing: no more than it takes, as found by trying every number."""

from itertools import chain

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.meta import ObjectMeta
from muster.framework.model.node import Node
from muster.operator.simulate.additions import LikePods, NodeAddition, Shortfall
from muster.operator.simulate.manifests import Objects
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.simulate.rehearsing import (
    member,
    objects,
    place,
    pod_group,
    simulate,
    with_bound,
    with_nodes,
)

GANGS = {"small": 2, "large": 5}


def one_of(missing: Shortfall | None) -> NodeAddition:
    """The only addition that would help."""
    assert missing is not None
    [addition] = missing.additions
    return addition


def copies(node: NodeDict, count: int) -> list[Node]:
    """New nodes of the same shape."""
    [plain] = objects(node).nodes
    return [
        msgspec.structs.replace(
            plain, metadata=ObjectMeta(name=name, labels={**plain.metadata.labels, "kubernetes.io/hostname": name})
        )
        for name in (f"copy-{number}" for number in range(count))
    ]


async def fits(cluster: Objects, wanted: Objects, node: NodeDict, count: int) -> bool:
    """Whether all are placed with so many nodes like `node` more."""
    return all((await place(with_nodes(cluster, copies(node, count)), wanted)).values())


async def test_nothing_is_missing_when_all_fit() -> None:
    _, missing = await simulate(objects(make_node("one")), objects(make_pod("web")))
    assert missing is None


async def test_there_is_no_shortfall_if_no_node_of_an_existing_shape_would_help() -> None:
    placements, missing = await simulate(
        objects(make_node("one", cpu="4"), make_node("gpu").resources({"example.com/gpu": "1"}).unschedulable()),
        objects(make_pod("large").requests(cpu="5"), make_pod("gpu").requests({"example.com/gpu": "1"})),
    )
    assert all(placement.lacks_nodes for placement in placements.values())
    assert missing is None


async def test_a_hopeless_group_does_not_keep_the_others_from_their_answer() -> None:
    small = [make_pod(f"p-{n}").requests(cpu="3") for n in range(4)]
    hopeless = [member(f"m-{n}", "gang").requests(cpu="1" if n else "9") for n in range(2)]
    wanted = objects(pod_group("gang", 2), *hopeless, make_pod("huge").requests(cpu="10"), *small)
    _, missing = await simulate(objects(make_node("one", cpu="4")), wanted)
    assert missing is not None
    assert [*missing.sentences] == [
        "3 more nodes like one (4 cpu, 32Gi memory, 110 pods) would make default/p-1 and 2 more like it fit.",
        "More nodes of the shapes that the cluster has would not help default/gang, default/huge.",
    ]
    assert missing.hopeless == (LikePods("default/gang", True, 2), LikePods("default/huge", False, 1))


async def test_each_group_and_set_of_like_pods_is_shown_with_what_it_takes_by_itself() -> None:
    gangs = [pod_group("small", 2), pod_group("large", 5)]
    members = [member(f"{name}-{n}", name).requests(cpu="3") for name, size in GANGS.items() for n in range(size)]
    wanted = objects(*gangs, *members, *(make_pod(f"web-{n}").requests(cpu="1") for n in range(8)))
    filled = make_pod("filler").requests(cpu="4").node("one")
    _, missing = await simulate(objects(make_node("one", cpu="4"), filled), wanted)
    assert missing is not None
    [addition] = missing.additions
    assert addition.nodes == 8
    assert addition.sets == (
        LikePods("default/web-0", False, 8, nodes=2),
        LikePods("default/large", True, 5, nodes=5),
        LikePods("default/small", True, 2, nodes=2),
    )
    assert [*missing.sentences] == [
        "8 more nodes like one (4 cpu, 32Gi memory, 110 pods) would make the rest fit.",
        "Alone, default/web-0 and 7 more like it would take 2 of them, default/large would take 5 of them, "
        "default/small would take 2 of them.",
    ]


async def test_groups_that_nodes_of_one_shape_do_not_help_are_listed_with_another_shape() -> None:
    nodes = [make_node("plain", cpu="4"), make_node("gpu", cpu="4").resources({"cpu": "4", "example.com/gpu": "1"})]
    full = [make_pod(f"full-{node.name}").requests(cpu="4").node(node.name) for node in nodes]
    picky = [member(f"m-{n}", "gang").node_selector({"kind": "plain"}).requests(cpu="2") for n in range(4)]
    gpus = [make_pod(f"gpu-{n}").requests({"cpu": "1", "example.com/gpu": "1"}) for n in range(3)]
    huge = make_pod("huge").requests(cpu="64")
    cluster = objects(NodeDict(nodes[0], metadata={"name": "plain", "labels": {"kind": "plain"}}), nodes[1], *full)
    _, missing = await simulate(cluster, objects(pod_group("gang", 4), *picky, *gpus, huge))
    assert missing is not None
    assert [(each.like, each.nodes, *map(str, each.sets)) for each in missing.additions] == [
        ("plain", 2, "default/gang"),
        ("gpu", 3, "default/gpu-0 and 2 more like it"),
    ]
    assert [*map(str, missing.hopeless)] == ["default/huge"]


async def test_the_shape_that_helps_most_pods_wins_before_the_one_of_which_fewest_are_needed() -> None:
    wanted = objects(make_pod("large").requests(cpu="7"), *(make_pod(f"p-{n}").requests(cpu="3") for n in range(3)))
    nodes = [make_node("one", cpu="3"), make_node("two", cpu="3"), make_node("large", cpu="7")]
    full = [
        make_pod(f"full-{name}").requests(cpu=cpu).node(name)
        for name, cpu in (("one", "3"), ("two", "3"), ("large", "7"))
    ]
    _, missing = await simulate(objects(*nodes, *full), wanted)
    assert (one_of(missing).like, one_of(missing).nodes) == ("large", 3)


async def test_of_several_shapes_the_one_of_which_fewest_are_needed_is_named() -> None:
    cluster = objects(make_node("small", cpu="1"), make_node("smaller", cpu="1"), make_node("large", cpu="8"))
    _, missing = await simulate(cluster, objects(*(make_pod(f"p-{n}").requests(cpu="1") for n in range(20))))
    assert (one_of(missing).nodes, one_of(missing).like) == (2, "large")
    assert one_of(missing).allocatable == {"cpu": "8", "memory": "32Gi", "pods": "110"}


async def test_of_shapes_that_need_equally_many_the_most_common_is_named() -> None:
    nodes = [make_node("large", cpu="9"), make_node("one", cpu="4"), make_node("two", cpu="4")]
    _, missing = await simulate(objects(*nodes), objects(*(make_pod(f"p-{n}").requests(cpu="3") for n in range(6))))
    assert (one_of(missing).nodes, one_of(missing).like) == (1, "one")


async def test_labels_taints_and_ports_count() -> None:
    east, west = make_node("east").zone("east").taint("dedicated"), make_node("west").zone("west")
    pods = [make_pod(f"p-{n}").host_port(80).node_selector({"topology.kubernetes.io/zone": "east"}) for n in range(4)]
    _, missing = await simulate(objects(west, east), objects(*(pod.tolerate("dedicated") for pod in pods)))
    assert (one_of(missing).nodes, one_of(missing).like) == (3, "east")


async def test_min_resources_of_a_group_count_for_the_missing_nodes() -> None:
    gang = [member(f"m-{number}", "gang").requests(cpu="1") for number in range(4)]
    _, missing = await simulate(
        objects(make_node("one", cpu="4")), objects(pod_group("gang", 4, minResources={"cpu": "10"}), *gang)
    )
    assert one_of(missing).nodes == 2


async def test_pods_that_wait_for_something_else_need_no_node() -> None:
    gated = [make_pod(f"g-{number}").requests(cpu="4").gate("example.com/quota") for number in range(5)]
    _, missing = await simulate(objects(make_node("one", cpu="4")), objects(*gated, make_pod("web").requests(cpu="4")))
    assert missing is None
    large = [make_pod(f"web-{number}").requests(cpu="4") for number in range(3)]
    _, missing = await simulate(objects(make_node("one", cpu="4")), objects(*gated, *large))
    assert one_of(missing).nodes == 2


NODES = st.lists(
    st.builds(
        lambda cpu, memory: {"cpu": str(cpu), "memory": f"{memory}Gi"}, cpu=st.integers(1, 4), memory=st.integers(1, 4)
    ),
    min_size=1,
    max_size=3,
)
REQUESTS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), min_size=3, max_size=7)


def make_pods(requests: list[tuple[int, int]], members: int) -> list[PodDict]:
    """A pod for each request; the first `members` are a gang."""
    pods = [make_pod(f"p-{n}").requests(cpu=str(cpu), memory=f"{memory}Gi") for n, (cpu, memory) in enumerate(requests)]
    return [pod.labels({"scheduling.x-k8s.io/pod-group": "gang"}) if n < members else pod for n, pod in enumerate(pods)]


@given(sizes=NODES, requests=REQUESTS, members=st.integers(0, 7))
async def test_the_answer_is_what_trying_every_number_finds(
    sizes: list[dict[str, str]], requests: list[tuple[int, int]], members: int
) -> None:
    members = min(members, len(requests))
    nodes = [make_node(f"node-{number}", **size) for number, size in enumerate(sizes)]
    cluster, pods = objects(*nodes, pod_group("gang", members or 1)), make_pods(requests, members)
    placements, missing = await simulate(cluster, objects(*pods))

    now = with_bound(cluster, pods, {name: placement.node for name, placement in placements.items()})
    rest = objects(*(pod for pod in pods if not placements[pod.name].node))
    found = [await least(now, rest, node) for node in nodes]
    best = min(found) if rest.pods else (0, 0)
    if missing is None:
        assert best == (0, 0)
    else:
        first, *others = missing.additions
        assert found[[node.name for node in nodes].index(first.like)] == best
        assert first.nodes == best[1]
        shown = sum(
            each.pods for each in (*chain.from_iterable(one.sets for one in (first, *others)), *missing.hopeless)
        )
        assert shown == len(rest.pods)


async def least(cluster: Objects, wanted: Objects, node: NodeDict) -> tuple[int, int]:
    """How many pods nodes like `node` help, negative, and the least number of them with which all of these are placed.

    At most one node for each pod is tried.
    """
    most = len(wanted.pods)
    placed = await place(with_nodes(cluster, copies(node, most)), wanted)
    rest = Objects(pods=[pod for pod in wanted.pods if placed[pod.metadata.name]])
    if not rest.pods:
        return 0, 0
    for count in range(most):
        if await fits(cluster, rest, node, count):
            return -len(rest.pods), count
    return -len(rest.pods), most
