"""NodeName: pods that name their node."""

from muster.framework.contract import Code, CycleState, PreFilterResult, Status
from muster.plugins.nodes.node_name import NodeName
from tests.builders import make_node, make_pod
from tests.plugins.cluster import Cluster, info


def test_a_pod_that_names_no_node_passes_everywhere_and_leaves_the_filter_out() -> None:
    cluster = Cluster(make_node("n1"), make_node("n2"))
    plugin = cluster.plugin(NodeName)
    skipped = plugin.pre_filter(CycleState(), info(make_pod("web")), cluster.view())
    assert isinstance(skipped, Status)
    assert skipped.code is Code.SKIP
    assert cluster.rejected(plugin, make_pod("web")) == {}


def test_a_pod_that_names_a_node_fits_no_other_node() -> None:
    cluster = Cluster(make_node("n1"), make_node("n2"))
    plugin = cluster.plugin(NodeName)
    pod = make_pod("web").node("n2")
    assert plugin.pre_filter(CycleState(), info(pod), cluster.view()) == PreFilterResult(frozenset({"n2"}))
    assert cluster.rejected(plugin, pod) == {"n1": Status.unresolvable("node(s) didn't match the requested node name")}


def test_a_pod_that_names_an_unknown_node_fits_no_node() -> None:
    cluster = Cluster(make_node("n1"))
    assert cluster.rejected(cluster.plugin(NodeName), make_pod("web").node("gone")).keys() == {"n1"}
