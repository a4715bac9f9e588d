"""The catalog: what is in the tree, what is on by default, and plugins of other packages."""

from importlib.metadata import EntryPoint

import pytest

from muster.framework.config import ARGS_MODELS, ConfigurationError, default_configuration, resolve
from muster.framework.contract import Plugin, Status
from muster.plugins.catalog import (
    DEFAULTS,
    GROUP,
    IN_TREE,
    KNOWN_UNIMPLEMENTED,
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
    "NodeResourcesFit": {"preFilter", "filter", "preScore", "score", "placementScore"},
    "VolumeRestrictions": {"preFilter", "filter"},
    "NodeVolumeLimits": {"preFilter", "filter"},
    "VolumeBinding": {"preFilter", "filter", "preScore", "score", "reserve", "preBind"},
    "VolumeZone": {"preFilter", "filter"},
    "PodTopologySpread": {"preFilter", "filter", "preScore", "score"},
    "InterPodAffinity": {"preFilter", "filter", "preScore", "score"},
    "DynamicResources": {
        "preEnqueue",
        "preFilter",
        "filter",
        "postFilter",
        "score",
        "reserve",
        "preBind",
    },
    "DefaultPreemption": {"podGroupPostFilter", "postFilter", "preEnqueue"},
    "NodeResourcesBalancedAllocation": {"preScore", "score"},
    "ImageLocality": {"score"},
    "DefaultBinder": {"bind"},
    "NodeDeclaredFeatures": {"preFilter", "filter"},
    "GangScheduling": {"preEnqueue", "preFilter", "reserve", "postBind"},
    "TopologyPlacementGenerator": {"placementGenerate"},
    "PodGroupPodsCount": {"placementScore"},
}
"""Default plugins in kube-scheduler's order with the points they extend."""


class Mine(NodeName):
    """A plugin of another package."""

    name = "Mine"


class Shadow(NodeName):
    """A plugin of another package that takes the name of one in the tree."""

    name = "NodeName"


class Nameless(Plugin):
    """A plugin without a name."""


class OddArgs(NodeName):
    """A plugin with unreadable arguments."""

    name = "OddArgs"
    args_model = dict  # type: ignore[assignment]  # the mistake


class OddWatches(NodeName):
    """A plugin that watches what is no kind."""

    name = "OddWatches"
    watches = ("pods",)  # type: ignore[assignment]  # the mistake


def point(name: str, attribute: str = "") -> EntryPoint:
    """An entry point to something in this module, which stands for a package of its own."""
    return EntryPoint(name=name, value=f"{__name__}:{attribute or name}", group=GROUP)


def test_default_plugins_stand_in_kube_schedulers_order_and_extend_its_points() -> None:
    assert [name for name, _ in DEFAULTS] == list(POINTS)
    assert {name: extension_points(plugin) for name, plugin in IN_TREE.items() if name in POINTS} == POINTS


def test_default_weights_are_kube_schedulers() -> None:
    assert {name: weight for name, weight in DEFAULTS if weight} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        "PodGroupPodsCount": 1,
    }


def test_plugins_are_known_by_their_own_names() -> None:
    assert all(plugin.name == name for name, plugin in IN_TREE.items())
    assert not KNOWN_UNIMPLEMENTED & IN_TREE.keys()


def test_plugins_take_the_arguments_that_the_configuration_knows_for_them() -> None:
    assert {name: plugin.args_model for name, plugin in IN_TREE.items() if name in POINTS} == {
        name: ARGS_MODELS.get(name) for name in POINTS
    }


def test_a_default_configuration_resolves_against_the_catalog() -> None:
    extends = {name: extension_points(plugin) for name, plugin in IN_TREE.items()}
    (profile,) = resolve(
        default_configuration(), defaults=DEFAULTS, extends=extends, known_unimplemented=KNOWN_UNIMPLEMENTED
    )
    assert [ref.name for ref in profile.points["score"]] == [name for name in POINTS if "score" in POINTS[name]]


def test_plugins_of_other_packages_are_added_to_the_catalog() -> None:
    found = discover({"Mine"}, [point("Mine")])
    assert found["Mine"] is Mine
    assert found.keys() == IN_TREE.keys() | {"Mine"}


@pytest.mark.parametrize(
    "unused",
    [
        [EntryPoint(name="Gone", value="no_such_module:Gone", group=GROUP)],
        [point("Mine"), point("Mine")],
        [point("NodeName", "Shadow")],
        [point("Other", "Mine")],
        [point("POINTS")],
    ],
)
def test_plugins_that_no_profile_enables_are_not_loaded(unused: list[EntryPoint]) -> None:
    assert discover({"PrioritySort"}, unused) == IN_TREE


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ([point("NodeName", "Shadow")], f"two packages have one: muster-scheduler and {__name__}:Shadow"),
        ([point("Mine"), point("Mine")], f"two packages have one: {__name__}:Mine and {__name__}:Mine"),
        ([point("Other", "Mine")], f"{__name__}:Mine of {__name__}:Mine calls itself 'Mine'"),
        ([point("Nameless")], f"{__name__}:Nameless of {__name__}:Nameless calls itself None"),
        ([point("OddArgs")], f"the args_model of {__name__}:OddArgs of {__name__}:OddArgs is no pydantic model"),
        (
            [point("OddWatches")],
            f"watches of {__name__}:OddWatches of {__name__}:OddWatches is no tuple of WatchedKind",
        ),
        *(
            ([point(name)], f"{__name__}:{name} of {__name__}:{name} is no plugin class")
            for name in ("POINTS", "EntryPoint", "Status")
        ),
        (
            [EntryPoint(name="Gone", value="no_such_module:Gone", group=GROUP)],
            "no_such_module:Gone of no_such_module:Gone cannot be imported:"
            " ModuleNotFoundError: No module named 'no_such_module'",
        ),
    ],
)
def test_an_enabled_plugin_that_cannot_be_used_is_named_with_its_package(found: list[EntryPoint], fault: str) -> None:
    name = found[0].name
    with pytest.raises(ConfigurationError) as caught:
        discover({name}, found)
    assert str(caught.value) == f'plugin "{name}" cannot be used: {fault}'


def test_all_plugins_that_cannot_be_used_are_reported_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        discover({"POINTS", "Status"}, [point("POINTS"), point("Status")])
    assert len(caught.value.errors) == 2


def test_installed_packages_are_searched_by_default() -> None:
    assert discover({"NodeName"}).keys() >= IN_TREE.keys()
    assert Status.unresolvable().rejected
