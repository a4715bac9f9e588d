"""PodTopologySpread: which nodes are better, and by which constraints pods are spread that have none."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from muster.framework.config.args import PodTopologySpreadArgs
from muster.framework.config.args.models import DefaultConstraint
from muster.framework.contract import Status
from muster.framework.contract.events import EventResource
from muster.framework.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from muster.plugins.topologyspread.pod_topology_spread import UNEVEN, PodTopologySpread
from tests.builders import PodDict, make_pod, require
from tests.plugins.cluster import Cluster
from tests.plugins.decisions import raw_scores, refused, scores, turned_away
from tests.plugins.zones import ANYWAY, HOST, WEB, ZONE, node, web, zones


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
    default_constraints=(DefaultConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule"),),
    defaulting_type="List",
)


def test_listed_defaults_may_be_hard() -> None:
    cluster = zones(a=1, b=0)
    plugin = cluster.plugin(PodTopologySpread, LISTED, objects=[obj(Service, WEB)])
    assert turned_away(cluster, plugin, web()) == {"na": UNEVEN}
    assert raw_scores(cluster, plugin, web()) is None
    assert refused(cluster, plugin, make_pod("p").labels(app="db")) == Status.skip()


def test_an_empty_list_spreads_no_pod_by_default() -> None:
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
