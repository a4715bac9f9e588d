"""The catalogue: what is in the tree, what is on by default, and plugins of other packages."""

from importlib.metadata import EntryPoint

import pytest

from muster.framework.config import ARGS_MODELS, default_configuration, resolve
from muster.framework.contract import Plugin, Status
from muster.plugins.catalog import (
    DEFAULTS,
    GROUP,
    IN_TREE,
    KNOWN_UNIMPLEMENTED,
    PluginConflict,
    discover,
    extension_points,
)
from muster.plugins.nodes.node_name import NodeName

POINTS = {
    "SchedulingGates": {"preEnqueue"},
    "PrioritySort": {"queueSort"},
    "NodeName": {"preFilter", "filter"},
    "NodeUnschedulable": {"preFilter", "filter"},
    "TaintToleration": {"preFilter", "filter", "preScore", "score"},
    "NodeAffinity": {"preFilter", "filter", "preScore", "score"},
    "NodePorts": {"preFilter", "filter"},
    "NodeResourcesFit": {"preFilter", "filter", "preScore", "score"},
    "NodeResourcesBalancedAllocation": {"preScore", "score"},
    "ImageLocality": {"score"},
    "DefaultBinder": {"bind"},
}
"""Default plugins in kube-scheduler's order with the points they extend."""


class Mine(NodeName):
    """A plugin of another package."""

    name = "Mine"


class Shadow(NodeName):
    """A plugin of another package that takes the name of one in the tree."""

    name = "NodeName"


def point(attribute: str) -> EntryPoint:
    """An entry point to something in this module, which stands for a package of its own."""
    return EntryPoint(name=attribute.lower(), value=f"{__name__}:{attribute}", group=GROUP)


def test_default_plugins_stand_in_kube_schedulers_order_and_extend_its_points() -> None:
    assert [name for name, _ in DEFAULTS] == list(POINTS)
    assert {name: extension_points(plugin) for name, plugin in IN_TREE.items() if name in POINTS} == POINTS


def test_default_weights_are_kube_schedulers() -> None:
    assert {name: weight for name, weight in DEFAULTS if weight} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_plugins_are_known_by_their_own_names() -> None:
    assert all(plugin.name == name for name, plugin in IN_TREE.items())
    assert not KNOWN_UNIMPLEMENTED & IN_TREE.keys()


def test_plugins_take_the_arguments_that_the_configuration_knows_for_them() -> None:
    assert {name: plugin.args_model for name, plugin in IN_TREE.items() if name in POINTS} == {
        name: ARGS_MODELS.get(name) for name in POINTS
    }


def test_a_default_configuration_resolves_against_the_catalogue() -> None:
    extends = {name: extension_points(plugin) for name, plugin in IN_TREE.items()}
    (profile,) = resolve(
        default_configuration(), defaults=DEFAULTS, extends=extends, known_unimplemented=KNOWN_UNIMPLEMENTED
    )
    assert [ref.name for ref in profile.points["score"]] == [name for name in POINTS if "score" in POINTS[name]]


def test_plugins_of_other_packages_join_those_in_the_tree() -> None:
    found = discover([point("Mine")])
    assert found["Mine"] is Mine
    assert found.keys() == IN_TREE.keys() | {"Mine"}


def test_no_entry_points_leave_the_tree_as_it_is() -> None:
    assert discover([]) == IN_TREE


def test_a_name_that_is_taken_is_refused_with_both_packages() -> None:
    with pytest.raises(PluginConflict, match=f'named "NodeName": muster-scheduler and {__name__}:Shadow'):
        discover([point("Shadow")])
    with pytest.raises(PluginConflict, match=f'named "Mine": {__name__}:Mine and {__name__}:Mine'):
        discover([point("Mine"), point("Mine")])


@pytest.mark.parametrize("attribute", ["POINTS", "EntryPoint", "Status", "Plugin"])
def test_an_entry_point_has_to_name_a_plugin_class(attribute: str) -> None:
    with pytest.raises(PluginConflict, match="names no plugin class"):
        discover([point(attribute)])


def test_what_is_installed_is_looked_for_by_default() -> None:
    assert discover().keys() >= IN_TREE.keys()
    assert issubclass(discover()["NodeName"], Plugin)
    assert Status.unresolvable().rejected
