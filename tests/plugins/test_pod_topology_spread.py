"""PodTopologySpread: which nodes a pod may not go to lest it lie unevenly, and which are better."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from muster.framework.config.args import PodTopologySpreadArgs
from muster.framework.config.args.models import TopologySpreadConstraint
from muster.framework.contract import CycleState, Status
from muster.framework.contract.events import EventResource
from muster.framework.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from muster.plugins.topologyspread.pod_topology_spread import KEY_MISSING, UNEVEN, PodTopologySpread
from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info
from tests.plugins.decisions import raw_scores, refused, scores, turned_away

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"app": "web"}
ANYWAY: dict[str, Any] = {"whenUnsatisfiable": "ScheduleAnyway"}
ANYTHING: dict[str, Any] = {"labelSelector": {}}


def node(name: str, zone: str | None = None) -> NodeDict:
    return make_node(name).zone(zone) if zone else make_node(name)


def web(name: str = "incoming") -> PodDict:
    return make_pod(name).labels(WEB)


def zones(**counts: int) -> Cluster:
    """A node in each of these zones, with as many pods of WEB."""
    cluster = Cluster(*(node(f"n{zone}", zone) for zone in counts))
    for zone, count in counts.items():
        cluster.place(f"n{zone}", *(web(f"{zone}{number}") for number in range(count)))
    return cluster


def away(cluster: Cluster, pod: PodDict, args: PodTopologySpreadArgs | None = None) -> dict[str, Status]:
    return turned_away(cluster, cluster.plugin(PodTopologySpread, args), pod)


@pytest.mark.parametrize(
    ("counts", "max_skew", "full"),
    [
        ({"a": 0, "b": 0}, 1, []),
        ({"a": 1, "b": 0}, 1, ["na"]),
        ({"a": 1, "b": 0}, 2, []),
        ({"a": 2, "b": 1, "c": 1}, 1, ["na"]),
        ({"a": 5, "b": 4, "c": 2}, 2, ["na", "nb"]),
        ({"a": 3}, 1, []),
    ],
)
def test_a_domain_takes_no_pod_that_puts_it_more_than_max_skew_above_the_emptiest(
    counts: dict[str, int], max_skew: int, full: list[str]
) -> None:
    assert away(zones(**counts), web().spread(ZONE, WEB, max_skew=max_skew)) == dict.fromkeys(full, UNEVEN)


def test_a_pod_that_its_own_selector_does_not_pick_adds_nothing() -> None:
    assert away(zones(a=1, b=0), make_pod("p").spread(ZONE, WEB)) == {}
    assert away(zones(a=2, b=0), make_pod("p").spread(ZONE, WEB)) == {"na": UNEVEN}


def test_a_node_without_the_key_is_no_place_and_its_pods_do_not_count() -> None:
    cluster = zones(a=1, b=1)
    cluster.add(node("bare"))
    cluster.place("bare", web("w"))
    assert away(cluster, web().spread(ZONE, WEB)) == {"bare": KEY_MISSING}


@pytest.mark.parametrize(
    ("counts", "min_domains", "full"),
    [
        ({"a": 1, "b": 1}, 3, ["na", "nb"]),
        ({"a": 1, "b": 1}, 2, []),
        ({"a": 0, "b": 1}, 3, ["nb"]),
    ],
)
def test_fewer_domains_than_asked_for_count_as_one_more_that_is_empty(
    counts: dict[str, int], min_domains: int, full: list[str]
) -> None:
    pod = web().spread(ZONE, WEB, minDomains=min_domains)
    assert away(zones(**counts), pod) == dict.fromkeys(full, UNEVEN)


def test_every_constraint_must_hold_and_the_first_that_does_not_speaks() -> None:
    cluster = Cluster(node("a1", "a"), node("a2", "a"), node("b1", "b"), node("bare"))
    cluster.place("a1", web("w1"))
    cluster.place("b1", web("w2"))
    pod = web().spread(ZONE, WEB).spread(HOST, WEB)
    assert away(cluster, pod) == {"a1": UNEVEN, "b1": UNEVEN, "bare": KEY_MISSING}


def test_pods_on_nodes_that_lack_any_of_the_keys_do_not_count_for_any_constraint() -> None:
    cluster = zones(a=0, b=0)
    cluster.add(_without_host(make_node("c").zone("a")))
    cluster.place("c", web("w1"), web("w2"))
    assert away(cluster, web().spread(ZONE, WEB).spread(HOST, WEB)) == {"c": KEY_MISSING}


def _without_host(made: NodeDict) -> NodeDict:
    del made["metadata"]["labels"][HOST]
    return made


@pytest.mark.parametrize(
    "other",
    [
        make_pod("other").labels(app="db"),
        make_pod("other", namespace="elsewhere").labels(WEB),
        make_pod("other").labels(WEB).terminating(),
    ],
    ids=["other labels", "other namespace", "terminating"],
)
def test_only_pods_of_the_same_namespace_that_stay_and_match_count(other: PodDict) -> None:
    cluster = zones(a=0, b=0)
    cluster.place("na", other)
    assert away(cluster, web().spread(ZONE, WEB)) == {}


@pytest.mark.parametrize(
    ("selector", "full"),
    [
        ({"labelSelector": {}}, []),
        ({"labelSelector": None}, []),
        ({"labelSelector": {"matchExpressions": [require("app", "Exists")]}}, ["na"]),
    ],
    ids=["empty", "none", "expression"],
)
def test_a_selector_that_asks_for_nothing_counts_no_running_pod(selector: dict[str, Any], full: list[str]) -> None:
    pod = web().spread(ZONE, WEB, **{key: value for key, value in selector.items() if value is not None})
    if selector["labelSelector"] is None:
        del pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert away(zones(a=2, b=1), pod) == dict.fromkeys(full, UNEVEN)


def test_match_label_keys_narrow_the_selector_to_pods_like_this_one() -> None:
    cluster = zones(a=2, b=0)
    cluster.place("nb", web("new").labels(version="2"))
    pod = web().labels(version="2").spread(ZONE, WEB, matchLabelKeys=["version", "absent"])
    assert away(cluster, pod) == {"nb": UNEVEN}


def zones_of_which_one_is_out_of_reach() -> Cluster:
    """Two zones with a pod each, and an empty one on a node that affinity and a taint keep pods from."""
    cluster = Cluster(
        node("na", "a").labels(disk="ssd"), node("nb", "b").labels(disk="ssd"), node("nc", "c").taint("dedicated")
    )
    cluster.place("na", web("w1"))
    cluster.place("nb", web("w2"))
    return cluster


@pytest.mark.parametrize(
    ("policies", "full"),
    [
        ({}, []),
        ({"nodeAffinityPolicy": "Honor"}, []),
        ({"nodeAffinityPolicy": "Ignore"}, ["na", "nb"]),
        ({"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}, []),
    ],
    ids=str,
)
def test_policies_say_which_nodes_make_up_domains(policies: dict[str, Any], full: list[str]) -> None:
    cluster = zones_of_which_one_is_out_of_reach()
    pod = web().node_selector({"disk": "ssd"}).spread(ZONE, WEB, **policies)
    assert away(cluster, pod) == dict.fromkeys(full, UNEVEN)


def test_taints_that_are_tolerated_make_no_difference() -> None:
    cluster = zones_of_which_one_is_out_of_reach()
    pod = web().tolerate("dedicated").spread(ZONE, WEB, nodeTaintsPolicy="Honor")
    assert away(cluster, pod) == {"na": UNEVEN, "nb": UNEVEN}


@pytest.mark.parametrize(
    "pod", [web(), web().spread(ZONE, WEB, **ANYWAY)], ids=["no constraint", "one that only ranks"]
)
def test_pods_without_a_hard_constraint_are_not_filtered(pod: PodDict) -> None:
    cluster = zones(a=5, b=0)
    assert refused(cluster, cluster.plugin(PodTopologySpread), pod) == Status.skip()


FAULT: dict[str, Any] = {"labelSelector": {"matchExpressions": [require("app", "Above", "1")]}}
UNREADABLE = '"Above" is not a valid label selector operator'


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    cluster = zones(a=0)
    plugin = cluster.plugin(PodTopologySpread)
    hard, soft = web().spread(ZONE, WEB, **FAULT), web().spread(ZONE, WEB, **FAULT, **ANYWAY)
    told = "obtaining pod's hard topology spread constraints"
    assert refused(cluster, plugin, hard) == Status.failure(f"get constraints from pod: {told}: {UNREADABLE}")
    assert refused(cluster, plugin, soft) == Status.skip()
    told = "obtaining pod's soft topology spread constraints"
    status = plugin.pre_score(CycleState(), info(soft), cluster.view())
    assert status == Status.failure(f"calculating preScoreState: {told}: {UNREADABLE}")


class TestPodsTried:
    """A trial puts pods on nodes or takes them off, and tells the plugin."""

    @pytest.mark.parametrize(
        ("other", "selector", "counted"),
        [
            (web("w"), {}, True),
            (web("w").terminating(), {}, True),
            (web("w"), ANYTHING, True),
            (make_pod("w").labels(app="db"), {}, False),
            (make_pod("w", namespace="elsewhere").labels(WEB), {}, False),
        ],
        ids=["plain", "terminating", "selector for anything", "other labels", "other namespace"],
    )
    def test_a_pod_that_is_added_counts_even_if_it_would_not_when_it_ran(
        self, other: PodDict, selector: dict[str, Any], counted: bool
    ) -> None:
        cluster = zones(a=0, b=0)
        plugin, state, pod = cluster.plugin(PodTopologySpread), CycleState(), info(web().spread(ZONE, WEB, **selector))
        assert plugin.pre_filter(state, pod, cluster.view()) is None
        added = info(other)
        with cluster.snapshot.trial():
            cluster.snapshot.add_pod(added, "na")
            trial = state.clone()
            plugin.add_pod(trial, pod, added, "na")
            assert bool(plugin.filter(trial, pod, cluster.view(["na"])).codes[0]) is counted
            plugin.remove_pod(trial, pod, added, "na")
            cluster.snapshot.remove_pod(added, "na")
            assert not plugin.filter(trial, pod, cluster.view(["na"])).codes[0]
        assert not plugin.filter(state, pod, cluster.view(["na"])).codes[0]

    def test_a_terminating_pod_that_is_taken_away_counts_less_than_nothing(self) -> None:
        cluster = zones(a=1, b=0)
        gone = info(web("gone").terminating())
        cluster.snapshot.add_pod(gone, "na")
        plugin, state, pod = cluster.plugin(PodTopologySpread), CycleState(), info(web().spread(ZONE, WEB))
        assert plugin.filter(state, pod, cluster.view(["na"])).codes[0]
        with cluster.snapshot.trial():
            cluster.snapshot.remove_pod(gone, "na")
            plugin.remove_pod(state, pod, gone, "na")
            assert not plugin.filter(state, pod, cluster.view(["na"])).codes[0]

    def test_siblings_that_were_placed_in_a_trial_are_seen(self) -> None:
        cluster = zones(a=0, b=0)
        plugin = cluster.plugin(PodTopologySpread)
        with cluster.snapshot.trial():
            cluster.place("na", web("sibling"))
            assert turned_away(cluster, plugin, web().spread(ZONE, WEB)) == {"na": UNEVEN}
        assert turned_away(cluster, plugin, web().spread(ZONE, WEB)) == {}


def raw(cluster: Cluster, pod: PodDict, feasible: list[str] | None = None, **defaults: Any) -> dict[str, int] | None:
    args = PodTopologySpreadArgs(**defaults) if defaults else None
    return raw_scores(cluster, cluster.plugin(PodTopologySpread, args), pod, feasible)


def test_a_score_is_the_pods_in_each_domain_weighed_by_the_size_of_the_topology() -> None:
    cluster = zones(a=3, b=1)
    two = math.log(2 + 2)
    assert raw(cluster, web().spread(ZONE, WEB, **ANYWAY)) == {"na": round(3 * two), "nb": round(1 * two)}
    assert raw(cluster, web().spread(ZONE, WEB, max_skew=5, **ANYWAY)) == {
        "na": round(3 * two + 4),
        "nb": round(two + 4),
    }
    pod = web().spread(ZONE, WEB, **ANYWAY).spread(HOST, WEB, max_skew=2, **ANYWAY)
    assert raw(cluster, pod) == {"na": round(3 * two + 3 * two + 1), "nb": round(two + two + 1)}


def test_only_feasible_nodes_make_up_the_topology_but_all_pods_count() -> None:
    cluster = zones(a=1, b=1, c=1)
    cluster.add(node("na2", "a"))
    cluster.place("na2", web("w"))
    assert raw(cluster, web().spread(ZONE, WEB, **ANYWAY), ["na"]) == {"na": round(2 * math.log(3))}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"a": 0, "b": 0}, {"na": 100, "nb": 100}),
        ({"a": 4, "b": 0}, {"na": 0, "nb": 100}),
        ({"a": 4, "b": 2}, {"na": 50, "nb": 100}),
    ],
)
def test_the_emptiest_domain_gets_100_and_others_less(counts: dict[str, int], expected: dict[str, int]) -> None:
    cluster = zones(**counts)
    assert scores(cluster, cluster.plugin(PodTopologySpread), web().spread(ZONE, WEB, **ANYWAY)) == expected


def test_nodes_that_lack_a_key_get_nothing_and_count_for_nothing() -> None:
    cluster = zones(a=4, b=2)
    cluster.add(node("bare"))
    pod = web().spread(ZONE, WEB, **ANYWAY)
    assert scores(cluster, cluster.plugin(PodTopologySpread), pod) == {"na": 50, "nb": 100, "bare": 0}
    assert scores(cluster, cluster.plugin(PodTopologySpread), pod, ["bare"]) == {"bare": 0}


def test_pods_without_a_soft_constraint_are_not_scored() -> None:
    assert raw(zones(a=1), web()) is None
    assert raw(zones(a=1), web().spread(ZONE, WEB)) is None


def meta(name: str, namespace: str = "default") -> dict[str, str]:
    return {"name": name, "namespace": namespace}


def obj(kind: type[Any], selector: object, namespace: str = "default") -> tuple[str, Any]:
    wire = {"metadata": meta("s", namespace), "spec": {} if selector is None else {"selector": selector}}
    return kind.__name__, msgspec.convert(wire, kind)


OWNED: Mapping[str, Callable[[], PodDict]] = {
    "nobody": web,
    "controller": lambda: web().owned_by("ReplicationController", "s", version="v1"),
    "replicas": lambda: web().owned_by("ReplicaSet", "s"),
    "stateful": lambda: web().owned_by("StatefulSet", "s"),
    "bystander": lambda: web().owned_by("ReplicaSet", "s", controller=False),
    "other version": lambda: web().owned_by("ReplicaSet", "s", version="v1"),
    "job": lambda: web().owned_by("Job", "s", version="batch/v1"),
}


@pytest.mark.parametrize(
    ("owner", "objects", "spread"),
    [
        ("nobody", [], False),
        ("nobody", [obj(Service, WEB)], True),
        ("nobody", [obj(Service, {"app": "db"})], False),
        ("nobody", [obj(Service, None)], False),
        ("nobody", [obj(Service, {})], False),
        ("nobody", [obj(Service, WEB, "elsewhere")], False),
        ("controller", [obj(ReplicationController, WEB)], True),
        ("replicas", [obj(ReplicaSet, {"matchLabels": WEB})], True),
        ("stateful", [obj(StatefulSet, {"matchLabels": WEB})], True),
        ("replicas", [obj(ReplicaSet, {"matchExpressions": [require("app", "Above")]})], False),
        ("replicas", [], False),
        ("bystander", [obj(ReplicaSet, {"matchLabels": WEB})], False),
        ("other version", [obj(ReplicaSet, {"matchLabels": WEB})], False),
        ("job", [obj(ReplicaSet, {"matchLabels": WEB})], False),
        ("job", [obj(Service, WEB)], True),
    ],
)
def test_pods_that_services_and_controllers_pick_are_spread_by_default(
    owner: str, objects: list[tuple[str, Any]], spread: bool
) -> None:
    cluster = zones(a=3, b=0)
    plugin = cluster.plugin(PodTopologySpread, objects=objects)
    assert scores(cluster, plugin, OWNED[owner]()) == ({"na": 42, "nb": 100} if spread else None)
    assert refused(cluster, plugin, OWNED[owner]()) == Status.skip()


def test_system_defaults_are_a_skew_of_3_over_hosts_and_of_5_over_zones() -> None:
    cluster = zones(a=3, b=0)
    plugin = cluster.plugin(PodTopologySpread, objects=[obj(Service, WEB)])
    two = math.log(4)
    assert raw_scores(cluster, plugin, web()) == {"na": round(3 * two + 2 + 3 * two + 4), "nb": 6}


def test_system_defaults_still_spread_over_hosts_where_nodes_have_no_zone() -> None:
    cluster = Cluster(node("a"), node("b"), node("c", "z"))
    cluster.place("a", web("w"))
    plugin = cluster.plugin(PodTopologySpread, objects=[obj(Service, WEB)])
    assert raw_scores(cluster, plugin, web()) == {"a": round(math.log(5) + 2), "b": 2, "c": 2 + 4}


def test_a_pods_own_constraints_put_the_defaults_aside() -> None:
    cluster = zones(a=3, b=0)
    plugin = cluster.plugin(PodTopologySpread, objects=[obj(Service, WEB)])
    assert raw_scores(cluster, plugin, web().spread(ZONE, WEB)) is None


LISTED = PodTopologySpreadArgs(
    default_constraints=(TopologySpreadConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule"),),
    defaulting_type="List",
)


def test_listed_defaults_may_be_hard() -> None:
    cluster = zones(a=1, b=0)
    plugin = cluster.plugin(PodTopologySpread, LISTED, objects=[obj(Service, WEB)])
    assert turned_away(cluster, plugin, web()) == {"na": UNEVEN}
    assert raw_scores(cluster, plugin, web()) is None
    assert refused(cluster, plugin, make_pod("p").labels(app="db")) == Status.skip()


def test_an_empty_list_spreads_nobody_by_default() -> None:
    cluster = zones(a=1, b=0)
    plugin = cluster.plugin(
        PodTopologySpread, PodTopologySpreadArgs(defaulting_type="List"), objects=[obj(Service, WEB)]
    )
    assert raw_scores(cluster, plugin, web()) is None


def test_services_and_controllers_that_come_change_and_go_are_followed() -> None:
    cluster = zones(a=1, b=0)
    plugin = cluster.plugin(PodTopologySpread, LISTED)
    _, service = obj(Service, WEB)
    _, other = obj(Service, {"app": "db"})
    for old, new, full in (
        (None, service, True),
        (service, other, False),
        (other, service, True),
        (service, None, False),
    ):
        plugin.on_object(EventResource.SERVICE, old, new)
        assert turned_away(cluster, plugin, web()) == ({"na": UNEVEN} if full else {})
