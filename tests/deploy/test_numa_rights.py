"""The rights of NodeResourceTopologyMatch in the chart: there only where a configuration enables it."""

from tests.deploy.audit import Right, granted
from tests.deploy.helm import Helm, pick

NAME = "NodeResourceTopologyMatch"
WATCHED = {Right("topology.node.k8s.io", "noderesourcetopologies", verb) for verb in ("list", "watch")}


def rights(helm: Helm, *plugins: str) -> set[Right]:
    values = {"plugins": {"enabled": ["Coscheduling", *plugins]}}
    return granted(pick(helm.template(values), "ClusterRole/muster")["rules"])


def test_node_resource_topologies_are_not_read_by_default(helm: Helm) -> None:
    assert rights(helm) & WATCHED == set()


def test_a_configuration_that_enables_the_plugin_may_read_node_resource_topologies(helm: Helm) -> None:
    assert rights(helm, NAME) == rights(helm) | WATCHED
