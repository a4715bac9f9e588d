"""The chart's value for groups of workloads: the plugin with its arguments, and the rights that the plugin needs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.operator.process.settings import assemble, read_configuration
from muster.plugins.autopodgroups.args import AutoPodGroupsArgs
from muster.plugins.autopodgroups.plugin import AutoPodGroups
from tests.deploy.audit import Right, granted
from tests.deploy.helm import Helm, pick

NAME = AutoPodGroups.name
CREATED = {
    Right(group, "podgroups", verb)
    for group in ("scheduling.k8s.io", "scheduling.x-k8s.io")
    for verb in ("create", "patch")
}
WATCHED = {Right(kind.group, kind.plural, verb) for kind in AutoPodGroups.watches for verb in ("list", "watch")}


def rights(helm: Helm, values: dict[str, Any]) -> set[Right]:
    return granted(pick(helm.template(values), "ClusterRole/muster")["rules"])


def configuration(helm: Helm, values: dict[str, Any]) -> str:
    text: str = pick(helm.template(values), "ConfigMap/muster")["data"]["config.yaml"]
    return text


def test_nothing_of_it_is_installed_by_default(helm: Helm) -> None:
    assert NAME not in configuration(helm, {})
    assert rights(helm, {}) & CREATED == set()
    assert Right("batch", "jobs", "list") not in rights(helm, {})


def test_the_value_enables_the_plugin_with_its_arguments_besides_the_other_plugins(helm: Helm, tmp_path: Path) -> None:
    own = {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}
    groups = {"auto": "All", "apiGroup": "scheduling.k8s.io"}
    text = configuration(helm, {"podGroups": groups, "pluginConfig": [own], "schedulerNames": ["one", "two"]})
    path = tmp_path / "config.yaml"
    path.write_text(text)
    assembly = assemble(read_configuration(path))
    assert [each["pluginConfig"][0] for each in yaml.safe_load(text)["profiles"]] == [own, own]
    for profile in assembly.profiles:
        assert NAME in [plugin.name for plugin in profile.points["preEnqueue"]]
        assert profile.args[NAME] == AutoPodGroupsArgs(namespaces="All", api_group="scheduling.k8s.io")


@pytest.mark.parametrize(
    "values",
    [
        {"podGroups": {"auto": "Labelled"}},
        {"plugins": {"enabled": ["Coscheduling", NAME]}},
        {"config": {"profiles": [{"schedulerName": "a", "plugins": {"multiPoint": {"enabled": [{"name": NAME}]}}}]}},
    ],
    ids=["by the value", "by its name", "in a profile"],
)
def test_a_configuration_with_the_plugin_comes_with_its_rights_and_no_others(
    helm: Helm, values: dict[str, Any]
) -> None:
    given = rights(helm, values)
    assert given >= WATCHED | CREATED
    assert given - rights(helm, {}) == (WATCHED | CREATED) - rights(helm, {})
