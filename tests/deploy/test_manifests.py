"""The manifests for those without Helm: that they are what the chart renders, and that kustomize finds all of them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy import render
from tests.controlplane.binaries import locate, locate_kubectl
from tests.deploy.helm import NAMESPACE, REPOSITORY, Helm, name_of, pick
from tests.deploy.tables import at

EXAMPLES = sorted((REPOSITORY / "deploy" / "examples").glob("*.yaml"))


def test_the_manifests_are_what_the_chart_renders() -> None:
    """If not: `python -m deploy.render`."""
    assert render.stale(render.rendered(locate("helm"))) == []


def test_kustomize_installs_what_helm_installs(helm: Helm) -> None:
    command = [str(locate_kubectl()), "kustomize", str(REPOSITORY / "deploy")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    manifests = [manifest for manifest in yaml.safe_load_all(text) if manifest]
    names = {name_of(manifest) for manifest in manifests}
    assert names == {name_of(manifest) for manifest in helm.template()} | {"Namespace/muster-system"}
    assert {manifest["metadata"].get("namespace", NAMESPACE) for manifest in manifests} == {NAMESPACE}


def test_kustomize_takes_the_image_from_where_the_kustomization_says(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "deploy", tmp_path / "deploy")
    path = tmp_path / "deploy" / "kustomization.yaml"
    kustomization = yaml.safe_load(path.read_text())
    [image] = kustomization["images"]
    image |= {"newName": "registry.example/ours", "newTag": "7"}
    path.write_text(yaml.safe_dump(kustomization))
    assert _images(path.parent) == ["registry.example/ours:7"]


def test_the_image_of_the_kustomization_is_the_one_that_the_chart_installs(helm: Helm) -> None:
    [container] = at(pick(helm.template(), "Deployment/muster"), "spec.template.spec.containers")
    assert _images(REPOSITORY / "deploy") == [container["image"]]


def _images(folder: Path) -> list[str]:
    command = [str(locate_kubectl()), "kustomize", str(folder)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    deployment = pick([each for each in yaml.safe_load_all(text) if each], "Deployment/muster")
    return [container["image"] for container in at(deployment, "spec.template.spec.containers")]


def test_nothing_says_that_helm_installed_it() -> None:
    for path in (REPOSITORY / "deploy" / "manifests").iterdir():
        assert "helm" not in path.read_text().lower()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.name))
def test_an_example_names_muster_and_its_own_group(path: Path) -> None:
    text = path.read_text()
    assert "muster" in text
    groups = {each["metadata"]["name"] for each in yaml.safe_load_all(text) if each["kind"] == "PodGroup"}
    assert groups == set(re.findall(r"scheduling\.x-k8s\.io/pod-group: (\S+)", text))
