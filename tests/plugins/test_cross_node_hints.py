"""Hints of PodTopologySpread and InterPodAffinity: kube-scheduler's table, a row a test."""

from typing import Any

import msgspec
import pytest

from muster.framework.contract import Action, ClusterEvent, EnqueueExtensions, Hint
from muster.framework.contract.events import EventResource
from muster.framework.model.workloads import Namespace
from muster.plugins.interpodaffinity.inter_pod_affinity import InterPodAffinity
from muster.plugins.topologyspread.pod_topology_spread import PodTopologySpread
from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info, typed

ZONE, RACK = "topology.kubernetes.io/zone", "rack"
WEB, DB = {"app": "web"}, {"app": "db"}
ASSIGNED, TARGET, NODE = EventResource.ASSIGNED_POD, EventResource.TARGET_POD, EventResource.NODE
FAULT: dict[str, Any] = {"labelSelector": {"matchExpressions": [require("app", "Above", "1")]}}

Change = tuple[PodDict | NodeDict | None, PodDict | NodeDict | None]


def pod(namespace: str = "default", **labels: str) -> PodDict:
    return make_pod("other", namespace=namespace).labels(labels).node("n")


def node(**labels: str) -> NodeDict:
    made = make_node("n").labels({key: value for key, value in labels.items() if key != "zone"})
    return made.zone(labels["zone"]) if "zone" in labels else made


def wakes(plugin: EnqueueExtensions[Any], waiting: PodDict, resource: str, action: Action, change: Change) -> bool:
    """Whether the event brings the pod back: some registration covers it, and its hint, if it has one, says so."""
    old, new = (None if each is None else typed(each) if isinstance(each, NodeDict) else info(each) for each in change)
    event = ClusterEvent(resource, action)
    concerned = [each for each in plugin.events_to_register() if each.event.matches(event)]
    return any(each.hint is None or each.hint(info(waiting), old, new) is Hint.QUEUE for each in concerned)


def waiting() -> PodDict:
    return make_pod("waiting").labels(WEB)


SPREAD = waiting().spread(ZONE, WEB)
TWICE = waiting().spread(ZONE, WEB).spread(RACK, DB)
HONORS = waiting().spread(ZONE, WEB, nodeTaintsPolicy="Honor")


@pytest.mark.parametrize(
    ("asked", "resource", "action", "change", "helps"),
    [
        pytest.param(*row[1:], id=row[0])
        for row in [
            ("a counted pod came", SPREAD, ASSIGNED, Action.ADD, (None, pod(app="web")), True),
            ("another pod came", SPREAD, ASSIGNED, Action.ADD, (None, pod(app="db")), False),
            ("a pod of the second constraint came", TWICE, ASSIGNED, Action.ADD, (None, pod(app="db")), True),
            ("it came elsewhere", SPREAD, ASSIGNED, Action.ADD, (None, pod("other", app="web")), False),
            ("a counted pod went", SPREAD, ASSIGNED, Action.DELETE, (pod(app="web"), None), True),
            ("another pod went", SPREAD, ASSIGNED, Action.DELETE, (pod(app="db"), None), False),
            ("it went elsewhere", SPREAD, ASSIGNED, Action.DELETE, (pod("other", app="web"), None), False),
            ("now counted", SPREAD, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(), pod(app="web")), True),
            ("counted no more", SPREAD, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(app="web"), pod(app="db")), True),
            (
                "counted still",
                SPREAD,
                ASSIGNED,
                Action.UPDATE_POD_LABEL,
                (pod(app="web"), pod(app="web", x="y")),
                False,
            ),
            ("never counted", SPREAD, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(), pod(app="db")), False),
            ("no label changed", SPREAD, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(app="web"), pod(app="web")), False),
            ("its own label matters", SPREAD, TARGET, Action.UPDATE_POD_LABEL, (pod(), pod(app="web")), True),
            ("its own label does not", SPREAD, TARGET, Action.UPDATE_POD_LABEL, (pod(), pod(x="y")), False),
            ("tolerates more", HONORS, TARGET, Action.UPDATE_POD_TOLERATION, (pod(), pod().tolerate("t")), True),
            ("taints ignored", SPREAD, TARGET, Action.UPDATE_POD_TOLERATION, (pod(), pod().tolerate("t")), False),
            ("a node in a domain came", SPREAD, NODE, Action.ADD, (None, node(zone="a")), True),
            ("a node in no domain came", SPREAD, NODE, Action.ADD, (None, node()), False),
            ("a node in one of two came", TWICE, NODE, Action.ADD, (None, node(zone="a")), False),
            ("a node in both came", TWICE, NODE, Action.ADD, (None, node(zone="a", rack="r")), True),
            ("a node in a domain went", SPREAD, NODE, Action.DELETE, (node(zone="a"), None), True),
            ("a node in no domain went", SPREAD, NODE, Action.DELETE, (node(), None), False),
            ("it joined", SPREAD, NODE, Action.UPDATE_NODE_LABEL, (node(), node(zone="a")), True),
            ("it left", SPREAD, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node()), True),
            ("it moved", SPREAD, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node(zone="b")), True),
            ("it stayed", SPREAD, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node(zone="a", x="y")), False),
            (
                "a taint in a domain",
                SPREAD,
                NODE,
                Action.UPDATE_NODE_TAINT,
                (node(zone="a").taint("t"), node(zone="a")),
                True,
            ),
            ("a taint in none", SPREAD, NODE, Action.UPDATE_NODE_TAINT, (node().taint("t"), node()), False),
            ("room was made", SPREAD, NODE, Action.UPDATE_NODE_ALLOCATABLE, (node(zone="a"), node(zone="b")), False),
        ]
    ],
)
def test_the_hints_of_pod_topology_spread_are_kube_schedulers(
    asked: PodDict, resource: str, action: Action, change: Change, helps: bool
) -> None:
    assert wakes(Cluster().plugin(PodTopologySpread), asked, resource, action, change) is helps


NEAR = make_pod("waiting").near(ZONE, WEB)
NEAR_BOTH = make_pod("waiting").near(ZONE, WEB).near(ZONE, {"tier": "x"})
APART = make_pod("waiting").labels(DB).apart(ZONE, WEB)
AMONG_RED = make_pod("waiting").near(ZONE, WEB, namespaceSelector={"matchLabels": {"team": "red"}})
KEEPS_OFF = pod().apart(ZONE, DB)


@pytest.mark.parametrize(
    ("asked", "resource", "action", "change", "helps"),
    [
        pytest.param(*row[1:], id=row[0])
        for row in [
            ("a wanted pod came", NEAR, ASSIGNED, Action.ADD, (None, pod(app="web")), True),
            ("another pod came", NEAR, ASSIGNED, Action.ADD, (None, pod(app="db")), False),
            ("half a wanted pod came", NEAR_BOTH, ASSIGNED, Action.ADD, (None, pod(app="web")), False),
            ("a wanted pod came elsewhere", NEAR, ASSIGNED, Action.ADD, (None, pod("red", app="web")), False),
            ("elsewhere is meant", AMONG_RED, ASSIGNED, Action.ADD, (None, pod("red", app="web")), True),
            ("an unwanted pod came", APART, ASSIGNED, Action.ADD, (None, pod(app="web")), False),
            ("an unwanted pod went", APART, ASSIGNED, Action.DELETE, (pod(app="web"), None), True),
            ("another pod went", APART, ASSIGNED, Action.DELETE, (pod(app="x"), None), False),
            ("a pod that keeps it off went", APART, ASSIGNED, Action.DELETE, (KEEPS_OFF, None), True),
            ("a wanted pod went", NEAR, ASSIGNED, Action.DELETE, (pod(app="web"), None), False),
            ("became wanted", NEAR, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(), pod(app="web")), True),
            ("wanted still", NEAR, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(app="web"), pod(app="web", x="y")), False),
            ("wanted no more", NEAR, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(app="web"), pod()), False),
            ("unwanted no more", APART, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(app="web"), pod()), True),
            ("became unwanted", APART, ASSIGNED, Action.UPDATE_POD_LABEL, (pod(), pod(app="web")), False),
            ("its own label", NEAR, TARGET, Action.UPDATE_POD_LABEL, (pod(), pod(x="y")), True),
            ("a node in a domain came", NEAR, NODE, Action.ADD, (None, node(zone="a")), True),
            ("a node in no domain came", NEAR, NODE, Action.ADD, (None, node()), False),
            ("any node for anti-affinity", APART, NODE, Action.ADD, (None, node()), True),
            ("it joined", NEAR, NODE, Action.UPDATE_NODE_LABEL, (node(), node(zone="a")), True),
            ("it moved", NEAR, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node(zone="b")), True),
            ("it left", NEAR, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node()), False),
            ("it stayed", NEAR, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node(zone="a", x="y")), False),
            ("left the unwanted", APART, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node()), True),
            ("moved off the unwanted", APART, NODE, Action.UPDATE_NODE_LABEL, (node(zone="a"), node(zone="b")), True),
            ("joined the unwanted", APART, NODE, Action.UPDATE_NODE_LABEL, (node(), node(zone="a")), False),
            ("a node went", NEAR, NODE, Action.DELETE, (node(zone="a"), None), False),
            ("a taint changed", NEAR, NODE, Action.UPDATE_NODE_TAINT, (node(zone="a"), node(zone="b")), False),
        ]
    ],
)
def test_the_hints_of_inter_pod_affinity_are_kube_schedulers(
    asked: PodDict, resource: str, action: Action, change: Change, helps: bool
) -> None:
    red = msgspec.convert({"metadata": {"name": "red", "labels": {"team": "red"}}}, Namespace)
    plugin = Cluster().plugin(InterPodAffinity, objects=[(EventResource.NAMESPACE, red)])
    assert wakes(plugin, asked, resource, action, change) is helps


@pytest.mark.parametrize(
    ("resource", "action", "change"),
    [
        (ASSIGNED, Action.ADD, (None, pod())),
        (NODE, Action.ADD, (None, node())),
    ],
)
def test_a_pod_whose_selector_cannot_be_read_comes_back_with_every_event(
    resource: str, action: Action, change: Change
) -> None:
    spread, near = waiting().spread(ZONE, WEB, **FAULT), waiting().near(ZONE, WEB, **FAULT)
    assert wakes(Cluster().plugin(PodTopologySpread), spread, resource, action, change)
    assert wakes(Cluster().plugin(InterPodAffinity), near, resource, action, change)
