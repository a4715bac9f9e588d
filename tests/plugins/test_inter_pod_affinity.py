"""InterPodAffinity: near which pods a pod may go, from which it must keep away, and which nodes are better for it."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from muster.framework.config.args import InterPodAffinityArgs
from muster.framework.contract import CycleState, Status
from muster.framework.contract.events import EventResource
from muster.framework.model.workloads import Namespace
from muster.plugins.interpodaffinity.inter_pod_affinity import NOT_APART, NOT_NEAR, NOT_WANTED, InterPodAffinity
from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info
from tests.plugins.decisions import raw_scores, refused, scores, turned_away

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB, DB = {"app": "web"}, {"app": "db"}


def node(name: str, zone: str | None) -> NodeDict:
    return make_node(name).zone(zone) if zone else make_node(name)


def cluster_with(**pods: PodDict) -> Cluster:
    """Nodes a1 and a2 in a zone, b1 in another, and one in none, called bare; each with the pod named after it."""
    cluster = Cluster(node("a1", "a"), node("a2", "a"), node("b1", "b"), node("bare", None))
    for name, pod in pods.items():
        cluster.place(name, pod)
    return cluster


def pod(labels: Mapping[str, str] = {}, name: str = "other", namespace: str = "default") -> PodDict:
    return make_pod(name, namespace=namespace).labels(labels)


def incoming(labels: Mapping[str, str] = {}) -> PodDict:
    return pod(labels, "incoming")


def namespace(name: str, **labels: str) -> tuple[str, Any]:
    return EventResource.NAMESPACE, msgspec.convert({"metadata": {"name": name, "labels": labels}}, Namespace)


NAMESPACES = [namespace("default", team="blue"), namespace("red", team="red"), namespace("green", team="green")]


def away(cluster: Cluster, asked: PodDict) -> dict[str, Status]:
    return turned_away(cluster, cluster.plugin(InterPodAffinity, objects=NAMESPACES), asked)


def only(*names: str) -> dict[str, Status]:
    """All nodes but these are not near enough."""
    return dict.fromkeys({"a1", "a2", "b1", "bare"} - set(names), NOT_NEAR)


@pytest.mark.parametrize(
    ("running", "asked", "expected"),
    [
        ({"a1": pod(WEB)}, incoming().near(ZONE, WEB), only("a1", "a2")),
        ({"a1": pod(WEB)}, incoming().near(HOST, WEB), only("a1")),
        ({"a1": pod(WEB).terminating()}, incoming().near(ZONE, WEB), only("a1", "a2")),
        ({"a1": pod(DB)}, incoming().near(ZONE, WEB), only()),
        ({"bare": pod(WEB)}, incoming().near(ZONE, WEB), only()),
        ({"a1": pod(WEB), "b1": pod(WEB)}, incoming().near(ZONE, WEB), only("a1", "a2", "b1")),
        ({"a1": pod({**WEB, **DB})}, incoming().near(ZONE, WEB).near(HOST, DB), only()),
        ({"a1": pod({**WEB, "tier": "x"})}, incoming().near(ZONE, WEB).near(HOST, {"tier": "x"}), only("a1")),
        ({"a1": pod(WEB), "a2": pod(DB)}, incoming().near(ZONE, WEB).near(ZONE, DB), only()),
        ({"a1": pod(WEB)}, incoming().near(ZONE, {}, labelSelector={}), only("a1", "a2")),
        ({"a1": pod(WEB)}, incoming().near(ZONE, {}, labelSelector=None), only()),
    ],
    ids=[
        "the zone of such a pod",
        "the host of such a pod",
        "a pod that is being deleted counts",
        "no such pod anywhere",
        "such a pod on a node without the key",
        "one in each zone",
        "a pod that matches one of two terms",
        "one pod that matches both terms",
        "two pods that match one term each",
        "a selector for anything",
        "no selector",
    ],
)
def test_required_affinity_wants_a_pod_that_matches_every_term_in_each_domain(
    running: dict[str, PodDict], asked: PodDict, expected: dict[str, Status]
) -> None:
    assert away(cluster_with(**running), asked) == expected


@pytest.mark.parametrize(
    ("running", "asked", "expected"),
    [
        ({}, incoming(WEB).near(ZONE, WEB), only("a1", "a2", "b1")),
        ({}, incoming(WEB).near(ZONE, WEB).near(HOST, WEB), only("a1", "a2", "b1")),
        ({}, incoming(WEB).near(ZONE, WEB).near(ZONE, DB), only()),
        ({"b1": pod(WEB)}, incoming(WEB).near(ZONE, WEB), only("b1")),
        ({"bare": pod(WEB)}, incoming(WEB).near(ZONE, WEB), only("a1", "a2", "b1")),
        ({"b1": pod(WEB, namespace="red")}, incoming(WEB).near(ZONE, WEB), only("a1", "a2", "b1")),
    ],
    ids=[
        "first of its kind",
        "first of its kind with two keys",
        "not of its own kind",
        "second of its kind",
        "the others are in no domain",
        "the others are in another namespace",
    ],
)
def test_the_first_pod_of_its_kind_may_go_wherever_there_is_a_domain(
    running: dict[str, PodDict], asked: PodDict, expected: dict[str, Status]
) -> None:
    assert away(cluster_with(**running), asked) == expected


@pytest.mark.parametrize(
    ("running", "asked", "expected"),
    [
        ({"a1": pod(WEB)}, incoming().apart(ZONE, WEB), dict.fromkeys(("a1", "a2"), NOT_APART)),
        ({"a1": pod(WEB)}, incoming().apart(HOST, WEB), {"a1": NOT_APART}),
        ({"bare": pod(WEB)}, incoming().apart(ZONE, WEB), {}),
        ({"a1": pod(DB)}, incoming().apart(ZONE, WEB), {}),
        (
            {"a1": pod(WEB), "b1": pod(DB)},
            incoming().apart(HOST, WEB).apart(HOST, DB),
            {"a1": NOT_APART, "b1": NOT_APART},
        ),
        ({"a1": pod(WEB).terminating()}, incoming().apart(HOST, WEB), {"a1": NOT_APART}),
    ],
    ids=["zone", "host", "in no domain", "another kind", "either of two terms", "being deleted"],
)
def test_required_anti_affinity_keeps_off_domains_with_a_pod_that_matches_any_term(
    running: dict[str, PodDict], asked: PodDict, expected: dict[str, Status]
) -> None:
    assert away(cluster_with(**running), asked) == expected


@pytest.mark.parametrize(
    ("running", "asked", "expected"),
    [
        (pod().apart(ZONE, WEB), incoming(WEB), dict.fromkeys(("a1", "a2"), NOT_WANTED)),
        (pod().apart(HOST, WEB), incoming(WEB), {"a1": NOT_WANTED}),
        (pod().apart(HOST, WEB), incoming(DB), {}),
        (pod(namespace="red").apart(HOST, WEB), incoming(WEB), {}),
        (pod(namespace="red").apart(HOST, WEB, namespaces=["default"]), incoming(WEB), {"a1": NOT_WANTED}),
        (
            pod(namespace="red").apart(HOST, WEB, namespaceSelector={"matchLabels": {"team": "blue"}}),
            incoming(WEB),
            {"a1": NOT_WANTED},
        ),
        (pod(namespace="red").apart(HOST, WEB, namespaceSelector={}), incoming(WEB), {"a1": NOT_WANTED}),
        (pod().apart(HOST, WEB, weight=100), incoming(WEB), {}),
    ],
    ids=[
        "zone",
        "host",
        "another kind",
        "its own namespace",
        "a listed namespace",
        "a namespace by label",
        "all namespaces",
        "merely preferred",
    ],
)
def test_anti_affinity_of_running_pods_keeps_off_the_pods_it_picks(
    running: PodDict, asked: PodDict, expected: dict[str, Status]
) -> None:
    assert away(cluster_with(a1=running), asked) == expected


def test_running_pods_on_a_node_without_the_key_reject_no_pod() -> None:
    assert away(cluster_with(bare=pod().apart(ZONE, WEB)), incoming(WEB)) == {}


BLUE, RED = {"matchLabels": {"team": "blue"}}, {"matchLabels": {"team": "red"}}


@pytest.mark.parametrize(
    ("term", "found_in"),
    [
        ({}, {"default"}),
        ({"namespaces": ["red"]}, {"red"}),
        ({"namespaces": ["red", "default"]}, {"red", "default"}),
        ({"namespaceSelector": RED}, {"red"}),
        ({"namespaceSelector": BLUE, "namespaces": ["green"]}, {"default", "green"}),
        ({"namespaceSelector": {"matchExpressions": [require("team", "NotIn", "red")]}}, {"default", "green"}),
        ({"namespaceSelector": {}}, {"default", "red", "green", "unheard-of"}),
        ({"namespaceSelector": {"matchLabels": {"team": "none"}}}, set()),
    ],
    ids=["own", "listed", "two listed", "by label", "both", "not in", "all", "none"],
)
def test_a_term_picks_pods_of_its_namespaces(term: dict[str, Any], found_in: set[str]) -> None:
    for each in ("default", "red", "green", "unheard-of"):
        cluster = cluster_with(a1=pod(WEB, namespace=each))
        assert bool(away(cluster, incoming().apart(HOST, WEB, **term))) == (each in found_in)


def test_namespaces_that_get_other_labels_are_followed() -> None:
    cluster = cluster_with(a1=pod(WEB, namespace="red"))
    plugin = cluster.plugin(InterPodAffinity, objects=NAMESPACES)
    asked = incoming().apart(HOST, WEB, namespaceSelector=RED)
    _, before = namespace("red", team="red")
    _, after = namespace("red", team="blue")
    for old, new, found in ((before, after, False), (after, before, True), (before, None, False)):
        plugin.on_object(EventResource.NAMESPACE, old, new)
        assert bool(turned_away(cluster, plugin, asked)) is found


def test_affinity_speaks_before_anti_affinity_and_that_before_running_pods() -> None:
    cluster = cluster_with(a1=pod(WEB).apart(HOST, DB), b1=pod(WEB, "second"))
    asked = incoming(DB).near(ZONE, {"app": "none"}).apart(ZONE, WEB)
    assert away(cluster, asked) == only()
    assert away(cluster, incoming(DB).apart(HOST, WEB)) == {"a1": NOT_APART, "b1": NOT_APART}
    assert away(cluster, incoming(DB)) == {"a1": NOT_WANTED}


@pytest.mark.parametrize("asked", [incoming(), incoming(DB).near(ZONE, WEB, weight=3)], ids=["no term", "a preference"])
def test_pods_without_required_terms_that_no_running_pod_repels_are_not_filtered(asked: PodDict) -> None:
    cluster = cluster_with(a1=pod(WEB).apart(HOST, WEB))
    assert refused(cluster, cluster.plugin(InterPodAffinity), asked) == Status.skip()


FAULT: dict[str, Any] = {"labelSelector": {"matchExpressions": [require("app", "Above", "1")]}}
UNREADABLE = '"Above" is not a valid label selector operator'


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (incoming().near(ZONE, WEB, **FAULT), f"requiredAffinityTerms: {UNREADABLE}"),
        (incoming().apart(ZONE, WEB, weight=1, **FAULT), f"preferredAntiAffinityTerms: {UNREADABLE}"),
        (
            incoming().apart(ZONE, WEB, **FAULT).near(ZONE, WEB, weight=1, namespaceSelector=FAULT["labelSelector"]),
            f"[requiredAntiAffinityTerms: {UNREADABLE}, preferredAffinityTerms: {UNREADABLE}]",
        ),
    ],
)
def test_a_term_that_cannot_be_read_keeps_the_pod_waiting(asked: PodDict, text: str) -> None:
    cluster = cluster_with()
    plugin = cluster.plugin(InterPodAffinity)
    assert refused(cluster, plugin, asked) == Status.unresolvable(f"parsing pod: {text}")
    assert plugin.pre_score(CycleState(), info(asked), cluster.view()) == Status.failure(f"failed to parse pod: {text}")


def test_a_running_pod_with_a_term_that_cannot_be_read_has_no_terms_of_that_kind() -> None:
    unreadable = pod().apart(HOST, WEB).apart(HOST, WEB, **FAULT)
    assert away(cluster_with(a1=unreadable, b1=pod(name="second").apart(HOST, WEB)), incoming(WEB)) == {
        "b1": NOT_WANTED
    }


def ranked(cluster: Cluster, asked: PodDict, **args: Any) -> dict[str, int] | None:
    plugin = cluster.plugin(InterPodAffinity, InterPodAffinityArgs(**args), objects=NAMESPACES)
    return raw_scores(cluster, plugin, asked)


def sums(a1: int = 0, a2: int = 0, b1: int = 0, bare: int = 0) -> dict[str, int]:
    return {"a1": a1, "a2": a2, "b1": b1, "bare": bare}


@pytest.mark.parametrize(
    ("running", "asked", "expected"),
    [
        ({"a1": pod(WEB)}, incoming().near(ZONE, WEB, weight=5), sums(a1=5, a2=5)),
        ({"a1": pod(WEB)}, incoming().apart(HOST, WEB, weight=5), sums(a1=-5)),
        (
            {"a1": pod(WEB), "a2": pod(WEB), "b1": pod(WEB)},
            incoming().near(ZONE, WEB, weight=5).apart(HOST, WEB, weight=2),
            sums(a1=8, a2=8, b1=3),
        ),
        ({"a1": pod().near(ZONE, WEB, weight=7)}, incoming(WEB), sums(a1=7, a2=7)),
        ({"a1": pod().apart(HOST, WEB, weight=7)}, incoming(WEB), sums(a1=-7)),
        ({"a1": pod().near(HOST, WEB)}, incoming(WEB), sums(a1=1)),
        ({"a1": pod().near(HOST, WEB)}, incoming(DB), None),
        ({"bare": pod().near(ZONE, WEB, weight=7)}, incoming(WEB), None),
        ({"a1": pod().apart(HOST, WEB)}, incoming(WEB), None),
        ({"a1": pod(WEB)}, incoming(), None),
    ],
    ids=[
        "preferred",
        "preferred apart",
        "both, added up",
        "what a running pod prefers",
        "what it would rather not have",
        "what it requires",
        "not about this pod",
        "in no domain",
        "required anti-affinity ranks nothing",
        "nobody prefers anything",
    ],
)
def test_scores_add_up_what_the_pod_and_running_pods_prefer(
    running: dict[str, PodDict], asked: PodDict, expected: dict[str, int] | None
) -> None:
    assert ranked(cluster_with(**running), asked) == expected


def test_required_affinity_of_running_pods_has_a_weight_of_its_own() -> None:
    cluster = cluster_with(a1=pod().near(HOST, WEB))
    assert ranked(cluster, incoming(WEB), hard_pod_affinity_weight=40) == sums(a1=40)
    assert ranked(cluster, incoming(WEB), hard_pod_affinity_weight=0) is None


def test_preferences_of_running_pods_may_be_ignored_for_pods_that_prefer_nothing_themselves() -> None:
    cluster = cluster_with(a1=pod(DB).near(HOST, WEB, weight=9))
    ignoring = {"ignore_preferred_terms_of_existing_pods": True}
    assert ranked(cluster, incoming(WEB), **ignoring) is None
    assert ranked(cluster, incoming(WEB).near(HOST, DB, weight=2), **ignoring) == sums(a1=11)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (incoming().near(HOST, WEB, weight=5), sums(a1=100)),
        (incoming().near(HOST, WEB, weight=3).near(ZONE, WEB, weight=1), sums(a1=100, a2=25)),
        (incoming().apart(HOST, WEB, weight=5), sums(a2=100, b1=100, bare=100)),
        (incoming().near(HOST, WEB, weight=2).near(ZONE, WEB, weight=1), sums(a1=100, a2=33)),
    ],
    ids=["one", "a quarter", "the least gets nothing", "rounded down"],
)
def test_scores_lie_between_the_least_and_the_most(asked: PodDict, expected: dict[str, int]) -> None:
    cluster = cluster_with(a1=pod(WEB))
    assert scores(cluster, cluster.plugin(InterPodAffinity), asked) == expected


def test_equal_scores_count_for_nothing() -> None:
    cluster = cluster_with(a1=pod(WEB))
    plugin = cluster.plugin(InterPodAffinity)
    assert scores(cluster, plugin, incoming().near(HOST, WEB, weight=5), ["a1"]) == {"a1": 0}


def test_siblings_that_were_placed_in_a_trial_are_seen_both_ways() -> None:
    cluster = cluster_with()
    plugin = cluster.plugin(InterPodAffinity)
    kinds: list[tuple[Callable[[], PodDict], PodDict, Status]] = [
        (lambda: pod(WEB), incoming().apart(HOST, WEB), NOT_APART),
        (lambda: pod().apart(HOST, WEB), incoming(WEB), NOT_WANTED),
    ]
    for sibling, asked, status in kinds:
        with cluster.snapshot.trial():
            cluster.place("a1", sibling())
            assert turned_away(cluster, plugin, asked) == {"a1": status}
        assert turned_away(cluster, plugin, asked) == {}
