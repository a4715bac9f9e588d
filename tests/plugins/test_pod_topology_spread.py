"""PodTopologySpread: which nodes a pod may not go to lest it lie unevenly."""

from typing import Any

import pytest

from muster.framework.config.args import PodTopologySpreadArgs
from muster.framework.contract import CycleState, Status
from muster.plugins.topologyspread.pod_topology_spread import KEY_MISSING, UNEVEN, PodTopologySpread
from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info
from tests.plugins.decisions import refused, turned_away
from tests.plugins.zones import ANYWAY, HOST, WEB, ZONE, node, web, zones

ANYTHING: dict[str, Any] = {"labelSelector": {}}


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
    reported = "obtaining pod's hard topology spread constraints"
    assert refused(cluster, plugin, hard) == Status.failure(f"get constraints from pod: {reported}: {UNREADABLE}")
    assert refused(cluster, plugin, soft) == Status.skip()
    reported = "obtaining pod's soft topology spread constraints"
    status = plugin.pre_score(CycleState(), info(soft), cluster.view())
    assert status == Status.failure(f"calculating preScoreState: {reported}: {UNREADABLE}")


class TestPodsTried:
    """A trial puts pods on nodes or removes them, and notifies the plugin."""

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
