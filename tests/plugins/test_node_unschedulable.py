"""NodeUnschedulable: cordoned nodes."""

import pytest

from muster.framework.contract import Hint, Status
from muster.framework.model.node import Node
from muster.plugins.nodes.node_unschedulable import NodeUnschedulable
from tests.builders import make_node, make_pod
from tests.plugins.cluster import Cluster, info, typed

CORDON = "node.kubernetes.io/unschedulable"
OPEN, CORDONED = typed(make_node("n1")), typed(make_node("n1").unschedulable())


def test_a_cordoned_node_takes_no_pod() -> None:
    cluster = Cluster(make_node("open"), make_node("cordoned").unschedulable())
    rejected = cluster.rejected(cluster.plugin(NodeUnschedulable), make_pod("web"))
    assert rejected == {"cordoned": Status.unresolvable("node(s) were unschedulable")}


@pytest.mark.parametrize(("key", "effect"), [(CORDON, "NoSchedule"), (CORDON, ""), ("", "")])
def test_a_pod_that_tolerates_the_cordon_is_taken(key: str, effect: str) -> None:
    cluster = Cluster(make_node("cordoned").unschedulable())
    pod = make_pod("web").tolerate(key, effect=effect)
    assert cluster.rejected(cluster.plugin(NodeUnschedulable), pod) == {}


def test_tolerating_only_eviction_is_not_enough() -> None:
    cluster = Cluster(make_node("cordoned").unschedulable())
    pod = make_pod("web").tolerate(CORDON, effect="NoExecute")
    assert cluster.rejected(cluster.plugin(NodeUnschedulable), pod).keys() == {"cordoned"}


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, OPEN, Hint.QUEUE),
        (None, CORDONED, Hint.SKIP),
        (CORDONED, OPEN, Hint.QUEUE),
        (OPEN, OPEN, Hint.SKIP),
        (OPEN, CORDONED, Hint.SKIP),
    ],
)
def test_only_a_node_that_comes_open_or_is_opened_helps(old: Node | None, new: Node, hint: Hint) -> None:
    about_nodes, _ = Cluster().plugin(NodeUnschedulable).events_to_register()
    assert about_nodes.hint is not None
    assert about_nodes.hint(info(make_pod("web")), old, new) is hint


@pytest.mark.parametrize(("key", "hint"), [(CORDON, Hint.QUEUE), ("spot", Hint.SKIP)])
def test_of_new_tolerations_only_that_of_the_cordon_helps(key: str, hint: Hint) -> None:
    _, about_pod = Cluster().plugin(NodeUnschedulable).events_to_register()
    before, after = info(make_pod("web")), info(make_pod("web").tolerate(key))
    assert about_pod.hint is not None
    assert about_pod.hint(before, before, after) is hint
