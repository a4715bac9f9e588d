"""NodeResourcesFit: the filter rule by rule, and the events that may help. Scores are in the tests of strategies."""

import pytest

from muster.framework.config.args import NodeResourcesFitArgs
from muster.framework.contract import Action, ClusterEvent, CycleState, EventResource, Hint, Status
from muster.framework.contract.events import ASSIGNED_POD_DELETE, NODE_ADD
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info, typed

GPU = "example.com/gpu"
SCALE_DOWN = ClusterEvent(EventResource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN)


@pytest.fixture
def cluster() -> Cluster:
    """One node of 2 cores, 4Gi and 2 GPUs, on which half of everything is used."""
    cluster = Cluster(make_node("n", cpu="2", memory="4Gi", pods="2").resources({GPU: "2"}))
    cluster.place("n", make_pod("there").requests({"cpu": "1", "memory": "2Gi", GPU: "1"}))
    return cluster


def why(cluster: Cluster, pod: PodDict, args: NodeResourcesFitArgs | None = None) -> Status | None:
    return cluster.rejected(cluster.plugin(NodeResourcesFit, args), pod).get("n")


def test_a_pod_that_takes_all_that_is_left_fits(cluster: Cluster) -> None:
    assert why(cluster, make_pod("web").requests({"cpu": "1", "memory": "2Gi", GPU: "1"})) is None


def test_one_thousandth_of_a_core_too_much_does_not_fit(cluster: Cluster) -> None:
    assert why(cluster, make_pod("web").requests(cpu="1001m")) == Status.unschedulable("Insufficient cpu")


def test_everything_that_is_short_is_named_in_order(cluster: Cluster) -> None:
    cluster.place("n", make_pod("second"))
    asked = {GPU: "2", "memory": "3Gi", "cpu": "2", "example.com/a": "0"}
    assert why(cluster, make_pod("web").requests(asked)) == Status.unschedulable(
        "Too many pods", "Insufficient cpu", "Insufficient memory", f"Insufficient {GPU}"
    )


def test_nothing_helps_when_even_the_empty_node_is_too_small(cluster: Cluster) -> None:
    pod = make_pod("web").requests({"cpu": "2", GPU: "3"})
    assert why(cluster, pod) == Status.unresolvable("Insufficient cpu", f"Insufficient {GPU}")


def test_a_resource_that_the_node_does_not_offer_is_short_for_good(cluster: Cluster) -> None:
    pod = make_pod("web").requests({"hugepages-2Mi": "2Mi", "ephemeral-storage": "1"})
    assert why(cluster, pod) == Status.unresolvable("Insufficient ephemeral-storage", "Insufficient hugepages-2Mi")


def test_a_pod_that_asks_for_nothing_needs_only_a_place(cluster: Cluster) -> None:
    cluster.snapshot.resources.requested[:] = 10**15
    assert why(cluster, make_pod("web")) is None
    assert why(cluster, make_pod("web").requests({"cpu": "0", GPU: "0"})) is None
    cluster.place("n", make_pod("second"))
    assert why(cluster, make_pod("web")) == Status.unschedulable("Too many pods")


def test_a_resource_that_is_not_requested_does_not_matter_however_short_it_is(cluster: Cluster) -> None:
    cluster.place("n", make_pod("bound by hand").requests(memory="100Gi"))
    cluster.add(make_node("n", cpu="2", memory="4Gi", pods="9"))
    assert why(cluster, make_pod("web").requests(cpu="1")) is None


def test_unknown_resource_names_are_ignored(cluster: Cluster) -> None:
    assert why(cluster, make_pod("web").requests({"storage": "1Ti"})) is None


def test_init_containers_sidecars_and_overhead_count(cluster: Cluster) -> None:
    pod = make_pod("web").requests(cpu="500m").init_container("log", {"cpu": "300m"}, sidecar=True)
    assert why(cluster, pod.overhead(cpu="200m")) is None
    assert why(cluster, pod.overhead(cpu="201m")) == Status.unschedulable("Insufficient cpu")


@pytest.mark.parametrize(
    "args",
    [
        NodeResourcesFitArgs(ignored_resources=("example.com/gpu", "example.com/fpga")),
        NodeResourcesFitArgs(ignored_resource_groups=("example.com",)),
    ],
)
def test_ignored_extended_resources_are_not_checked(cluster: Cluster, args: NodeResourcesFitArgs) -> None:
    assert why(cluster, make_pod("web").requests({GPU: "9", "example.com/fpga": "1"}), args) is None
    pod = make_pod("web").requests({GPU: "9", "example.org/gpu": "1"})
    assert why(cluster, pod, args) == Status.unresolvable("Insufficient example.org/gpu")


def test_only_extended_resources_can_be_ignored(cluster: Cluster) -> None:
    args = NodeResourcesFitArgs(ignored_resources=("cpu", "hugepages-2Mi"), ignored_resource_groups=("kubernetes.io",))
    pod = make_pod("web").requests({"cpu": "3", "hugepages-2Mi": "2Mi", "kubernetes.io/batch": "1"})
    assert why(cluster, pod, args) == Status.unresolvable(
        "Insufficient cpu", "Insufficient hugepages-2Mi", "Insufficient kubernetes.io/batch"
    )


def test_more_resources_than_an_int64_has_bits_can_be_short_at_once(cluster: Cluster) -> None:
    many = {f"example.com/r{index:02}": "1" for index in range(80)}
    status = why(cluster, make_pod("web").requests(many))
    assert status == Status.unresolvable(*(f"Insufficient {name}" for name in many))


def test_a_new_resource_does_not_affect_other_pods(cluster: Cluster) -> None:
    plugin = cluster.plugin(NodeResourcesFit)
    before = make_pod("web").requests(cpu="1")
    assert cluster.rejected(plugin, before) == {}
    assert cluster.rejected(plugin, make_pod("new").requests({"example.com/new": "1"})).keys() == {"n"}
    assert cluster.rejected(plugin, before) == {}


def test_all_nodes_of_a_growing_cluster_are_filtered() -> None:
    cluster = Cluster(*(make_node(f"n{index}", cpu=str(index % 3)) for index in range(200)))
    rejected = cluster.rejected(cluster.plugin(NodeResourcesFit), make_pod("web").requests(cpu="1500m"))
    assert rejected.keys() == {f"n{index}" for index in range(200) if index % 3 < 2}


def hint(event: ClusterEvent, pod: PodDict, old: object, new: object, cluster: Cluster | None = None) -> Hint:
    registrations = (cluster or Cluster()).plugin(NodeResourcesFit).events_to_register()
    (function,) = (each.hint for each in registrations if each.event.matches(event) and each.hint is not None)
    return function(info(pod), old, new)


WEB = make_pod("web").requests({"cpu": "2", GPU: "1"})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, make_node("n", cpu="2").resources({GPU: "1"}), Hint.QUEUE),
        (None, make_node("n", cpu="1").resources({GPU: "1"}), Hint.SKIP),
        (None, make_node("n", cpu="2"), Hint.SKIP),
        (None, make_node("n", cpu="2", pods="0").resources({GPU: "1"}), Hint.SKIP),
        (make_node("n", cpu="1").resources({GPU: "1"}), make_node("n", cpu="2").resources({GPU: "1"}), Hint.QUEUE),
        (make_node("n", cpu="2"), make_node("n", cpu="2").resources({GPU: "1"}), Hint.QUEUE),
        (
            make_node("n", cpu="2", pods="1").resources({GPU: "1"}),
            make_node("n", cpu="2", pods="2").resources({GPU: "1"}),
            Hint.QUEUE,
        ),
        (
            make_node("n", cpu="2", memory="1Gi").resources({GPU: "1"}),
            make_node("n", cpu="2", memory="2Gi").resources({GPU: "1"}),
            Hint.SKIP,
        ),
    ],
)
def test_a_node_helps_if_it_offers_more_of_what_is_wanted_and_enough(
    old: NodeDict | None, new: NodeDict, expected: Hint
) -> None:
    assert hint(NODE_ADD, WEB, None if old is None else typed(old), typed(new)) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [({"cpu": "2"}, {"cpu": "1"}, Hint.QUEUE), ({"memory": "2Gi"}, {"memory": "1Gi"}, Hint.SKIP), ({}, {}, Hint.SKIP)],
)
def test_a_pod_that_shrinks_helps_if_it_gives_back_what_is_wanted(
    before: dict[str, str], after: dict[str, str], expected: Hint
) -> None:
    old, new = (info(make_pod("other").requests(requests).node("n")) for requests in (before, after))
    assert hint(SCALE_DOWN, WEB, old, new) is expected


@pytest.mark.parametrize(
    ("left", "more", "expected"),
    [
        (make_pod("web").requests({"cpu": "2", GPU: "1"}), {}, Hint.QUEUE),
        (make_pod("web").requests({"cpu": "3", GPU: "1"}), {}, Hint.SKIP),
        (make_pod("web").requests({"cpu": "2", GPU: "2"}), {}, Hint.SKIP),
        (make_pod("web").requests({"cpu": "1", "example.com/none": "1"}), {}, Hint.SKIP),
        (make_pod("web").requests({"cpu": "1"}), {"pods": "1"}, Hint.SKIP),
        (make_pod("web").requests({"cpu": "3"}).priority(1), {}, Hint.QUEUE),
        (make_pod("web").requests({"cpu": "3", "example.com/none": "0"}).priority(-1), {}, Hint.SKIP),
    ],
    ids=["enough", "too little cpu", "too few devices", "not offered", "full", "may evict others", "may not"],
)
def test_a_pod_that_leaves_helps_if_what_is_free_on_its_node_is_enough(
    left: PodDict, more: dict[str, str], expected: Hint
) -> None:
    cluster = Cluster(make_node("n", cpu="4", **more).resources({GPU: "1"}))
    cluster.place("n", make_pod("stays").requests(cpu="2"))
    gone = info(make_pod("gone").requests(cpu="1").node("n"))
    assert hint(ASSIGNED_POD_DELETE, left, gone, None, cluster) is expected


def test_capacity_released_on_an_unnamed_node_wakes_a_pod() -> None:
    pod = make_pod("web").requests(cpu="9")
    assert hint(ASSIGNED_POD_DELETE, pod, info(make_pod("reserved")), None) is Hint.QUEUE


def test_resources_that_no_node_offers_take_no_column_and_leave_nothing_behind(cluster: Cluster) -> None:
    names = {f"example.com/made-up-{number:03d}": "1" for number in range(300)}
    columns, before = cluster.snapshot.resources, list(cluster.snapshot.resources.names)
    assert why(cluster, make_pod("web").requests(names).requests(cpu="1001m")) == Status.unresolvable(
        "Insufficient cpu", *(f"Insufficient {name}" for name in names)
    )
    assert columns.names == before


def test_a_verdict_that_was_given_keeps_its_meaning_when_columns_move(cluster: Cluster) -> None:
    plugin, pod, state = cluster.plugin(NodeResourcesFit), info(make_pod("web").requests({"a/new": "2"})), CycleState()
    before = plugin.filter(state, pod, cluster.view())
    cluster.add(make_node("other").resources({"a/new": "1"}), make_node("third").resources({"a/new": "2"}))
    after = plugin.filter(state, pod, cluster.view())
    assert before.table is after.table
    assert before.table[int(before.codes[0])] == Status.unresolvable("Insufficient a/new")
    assert (after.codes.tolist()[0], after.codes.tolist()[2]) == (before.codes.tolist()[0], 0)


@pytest.mark.parametrize("kinds", [20, 110])
def test_any_number_of_offered_resources_is_distinguished(cluster: Cluster, kinds: int) -> None:
    names = [f"example.com/kind-{number:03d}" for number in range(kinds)]
    offers = {f"node {i:02d}": set(names[i * 3 : i * 3 + 40]) for i in range(kinds // 4)}
    for node, offered in offers.items():
        cluster.add(make_node(node).resources(dict.fromkeys(offered, "2")))
    found = cluster.rejected(cluster.plugin(NodeResourcesFit), make_pod("web").requests(dict.fromkeys(names, "2")))
    assert {node: found[node].reasons for node in offers if node in found} == {
        node: tuple(f"Insufficient {name}" for name in names if name not in offered)
        for node, offered in offers.items()
        if len(offered) < kinds
    }
