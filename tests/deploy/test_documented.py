"""Commands and manifests of the documentation, taken from its pages and used."""

import re
import textwrap
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from muster.framework.contract import Plugin
from muster.operator.commands.run import command as run
from muster.operator.process import settings
from muster.operator.process.settings import Assembly, assemble, read_configuration
from muster.plugins.catalog import IN_TREE, extension_points
from tests.deploy.helm import CHART, REPOSITORY, Helm, pick

README = REPOSITORY / "README.md"
GUIDE = REPOSITORY / "docs" / "writing-plugins.md"


def block(page: Path, language: str, containing: str) -> str:
    """The one fenced block of the page in this language that contains a text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)
    [found] = [block for block in blocks if containing in block]
    return str(found)


def indented(page: Path, first_line: str) -> str:
    """The indented block of the page that begins with this line, without its indentation."""
    _, _, rest = page.read_text().partition(f"\n    {first_line}\n")
    lines = rest.splitlines()
    end = next(index for index, line in enumerate(lines) if line and not line.startswith("    "))
    return textwrap.dedent("\n".join([f"    {first_line}", *lines[:end]]))


def runs(assembly: Assembly, point: str) -> list[str]:
    """The plugins that the only profile runs there."""
    [profile] = assembly.profiles
    return [plugin.name for plugin in profile.points[point]]


@pytest.fixture
def with_the_guides_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin that the guide writes is installed."""
    module: dict[str, Any] = {}
    exec(block(GUIDE, "python", "PerNodeFilter, PerNodeScore):"), module)
    plugin: type[Plugin] = module["QuietNodes"]
    installed = {**IN_TREE, plugin.name: plugin}
    monkeypatch.setattr(settings, "discover", lambda _: installed)


@pytest.mark.usefixtures("with_the_guides_plugin")
def test_the_guide_to_plugins_enables_its_plugin_and_keeps_gang_scheduling(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(block(GUIDE, "yaml", "kind: KubeSchedulerConfiguration"))
    assembly = assemble(read_configuration(path))
    assert runs(assembly, "queueSort") == ["Coscheduling"]
    assert "QuietNodes" in runs(assembly, "filter")
    assert not assembly.configuration.leader_election.leader_elect


@pytest.mark.usefixtures("with_the_guides_plugin")
def test_the_value_of_the_chart_that_the_guide_names_does_the_same(helm: Helm, tmp_path: Path) -> None:
    [names] = re.findall(r"`plugins\.enabled=\{(.*?)\}`", GUIDE.read_text())
    path = tmp_path / "config.yaml"
    manifests = helm.template({"plugins": {"enabled": names.split(",")}})
    path.write_text(pick(manifests, "ConfigMap/muster")["data"]["config.yaml"])
    assembly = assemble(read_configuration(path))
    assert runs(assembly, "queueSort") == ["Coscheduling"]
    assert "QuietNodes" in runs(assembly, "filter")


def test_profiles_moved_into_the_chart_as_its_readme_shows_keep_gang_scheduling(helm: Helm, tmp_path: Path) -> None:
    values = yaml.safe_load(indented(CHART / "README.md", "config:"))
    path = tmp_path / "config.yaml"
    path.write_text(pick(helm.template(values), "ConfigMap/muster")["data"]["config.yaml"])
    assembly = assemble(read_configuration(path))
    assert [profile.scheduler_name for profile in assembly.profiles] == ["packing"]
    assert runs(assembly, "queueSort") == ["Coscheduling"]


def test_the_readmes_first_gang_is_one_group_that_neither_demo_nor_example_has() -> None:
    text = block(README, "yaml", "kind: PodGroup")
    group, job = yaml.safe_load_all(text)
    [name] = {group["metadata"]["name"], *re.findall(r"scheduling\.x-k8s\.io/pod-group: (\S+)", text)}
    assert group["spec"]["minMember"] == job["spec"]["parallelism"]
    story = (REPOSITORY / "operator" / "demo" / "story.py").read_text()
    taken = {*re.findall(r'create_group\("(.*?)"', story), "first-gang"}
    assert len(taken) > 2
    assert name not in taken


def test_the_oldest_kubernetes_is_the_same_on_every_page() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    [oldest] = re.findall(r">=(\d+\.\d+)\.", chart["kubeVersion"])
    for page in (README, CHART / "README.md"):
        assert f"Kubernetes {oldest} or newer" in page.read_text()


def test_every_flag_of_run_is_in_the_documentation() -> None:
    _, _, section = (REPOSITORY / "docs" / "configuration.md").read_text().partition("## Flags of `muster run`")
    options = [option for option in run.params if isinstance(option, click.Option)]
    assert set(re.findall(r"`(-.*?)`", section)) == {name for option in options for name in option.opts}


def test_every_plugin_that_turns_nodes_down_is_in_the_list_for_programs() -> None:
    _, _, section = (REPOSITORY / "docs" / "reading-a-reason.md").read_text().partition("## Plugins that reject nodes")
    named = re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE)
    filters = {name for name, plugin in IN_TREE.items() if "filter" in extension_points(plugin)}
    assert set(named) - {"plugin"} == filters


def test_values_that_are_off_by_default_are_not_listed_as_part_of_an_installation() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    off = {name for name, value in values.items() if isinstance(value, dict) and value.get("enabled") is False}
    [names] = re.findall(r"off until you switch them on: (.*?)\.", " ".join(README.read_text().split()))
    assert set(re.findall(r"`(.*?)`", names)) == off
